-- +goose Up
-- Of a schedule that timed out while it was built how long its run had for a build at most; 0
-- of all others, and where that is not known.
ALTER TABLE measurements ADD COLUMN build_limit_ns INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE measurements DROP COLUMN build_limit_ns;
