-- +goose Up
-- Of a schedule that ran out of memory how many bytes it might have; 0 of all others, and where
-- that is not known.
ALTER TABLE measurements ADD COLUMN memory_limit INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE measurements DROP COLUMN memory_limit;
