-- What a run was looked at by later: traces of windows of it, each made by making the run again. A
-- trace is no part of the run and not covered by its checksums, so each row has a SHA-256 of its own.
-- See results/store/parts/traces.py.

CREATE TABLE traces (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL CHECK (number >= 1),
    traced_utc TEXT NOT NULL,
    version INTEGER NOT NULL,  -- of the tables' columns
    from_ns INTEGER NOT NULL,  -- since the start of traffic
    to_ns INTEGER NOT NULL,
    kinds TEXT NOT NULL,  -- JSON: what was traced, sorted
    limit_bytes INTEGER NOT NULL,
    snap_bytes INTEGER NOT NULL,  -- of each frame, at most
    flows TEXT NOT NULL,  -- JSON: names of those that are kept; [] means all
    links TEXT NOT NULL,
    full_ns INTEGER,  -- when the limit was reached; NULL: it was not
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TRIGGER traces_are_final BEFORE UPDATE ON traces
BEGIN
    SELECT RAISE (ABORT, 'a stored trace is never overwritten');
END;

-- The tables of a trace; "frame_bytes" has the bytes of all frames.
CREATE TABLE trace_tables (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,  -- of the columns, before they are compressed
    content BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, number, name)
);

CREATE TRIGGER trace_tables_are_final BEFORE UPDATE ON trace_tables
BEGIN
    SELECT RAISE (ABORT, 'a stored trace is never overwritten');
END;
