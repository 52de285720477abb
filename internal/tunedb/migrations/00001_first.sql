-- +goose Up
-- Everything that changes the answer, spelled out; key is its hash.
CREATE TABLE workloads (
    id        INTEGER PRIMARY KEY,
    key       TEXT NOT NULL UNIQUE,
    generator TEXT NOT NULL,
    manifest  TEXT NOT NULL -- JSON: tunedb.Workload
) STRICT;

CREATE TABLE schedules (
    id        INTEGER PRIMARY KEY,
    algorithm TEXT NOT NULL,
    hash      TEXT NOT NULL,
    text      TEXT NOT NULL, -- schedule's text form
    UNIQUE (algorithm, hash)
) STRICT;

CREATE TABLE runs (
    id       INTEGER PRIMARY KEY,
    workload INTEGER NOT NULL REFERENCES workloads (id),
    manifest TEXT NOT NULL, -- JSON: options, seed, versions, CPU
    started  TEXT NOT NULL, -- RFC 3339
    ended    TEXT,
    report   TEXT           -- JSON, once the run ended well
) STRICT;

CREATE TABLE measurements (
    workload INTEGER NOT NULL REFERENCES workloads (id),
    schedule INTEGER NOT NULL REFERENCES schedules (id),
    run      INTEGER NOT NULL REFERENCES runs (id),
    origin   TEXT NOT NULL,    -- how the search came upon it
    trace    TEXT NOT NULL,    -- the space's decisions, empty where they are not known
    status   TEXT NOT NULL,
    message  TEXT NOT NULL,
    best_ns  INTEGER,          -- null unless status is ok
    samples  TEXT NOT NULL,    -- JSON array of nanoseconds
    lower_ns INTEGER NOT NULL,
    link_ns  INTEGER NOT NULL,
    check_ns INTEGER NOT NULL,
    time_ns  INTEGER NOT NULL,
    taken    TEXT NOT NULL,    -- RFC 3339
    PRIMARY KEY (workload, schedule)
) STRICT, WITHOUT ROWID;

CREATE INDEX fastest ON measurements (workload, best_ns) WHERE best_ns IS NOT NULL;

-- +goose Down
DROP TABLE measurements;
DROP TABLE runs;
DROP TABLE schedules;
DROP TABLE workloads;
