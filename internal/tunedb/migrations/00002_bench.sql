-- +goose Up
-- A comparison of methods on a suite; a database holds one at most.
CREATE TABLE bench (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    manifest TEXT NOT NULL, -- JSON: bench.Manifest
    started  TEXT NOT NULL, -- RFC 3339
    ended    TEXT           -- null until nothing is left to do
) STRICT;

-- What a method made of a part of an application.
CREATE TABLE bench_entries (
    app     TEXT NOT NULL,
    part    TEXT NOT NULL,    -- empty where the application is one
    method  TEXT NOT NULL,
    repeat  INTEGER NOT NULL, -- from 1
    entry   TEXT NOT NULL,    -- JSON: tunedb.BenchEntry
    PRIMARY KEY (app, part, method, repeat)
) STRICT, WITHOUT ROWID;

-- The race of everything that was made of a part, with every lap.
CREATE TABLE bench_races (
    app  TEXT NOT NULL,
    part TEXT NOT NULL,
    race TEXT NOT NULL, -- JSON: tunedb.BenchRace
    PRIMARY KEY (app, part)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE bench_races;
DROP TABLE bench_entries;
DROP TABLE bench;
