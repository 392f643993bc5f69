-- A checksum for each table of a run, written in the transaction that ends the run. It tells damage
-- to the file, not a person who changes rows and checksums together. See results/checksum.py.

CREATE TABLE checksums (
    run INTEGER NOT NULL REFERENCES runs,
    "table" TEXT NOT NULL,
    schema INTEGER NOT NULL,  -- the version whose columns of the table are covered
    rows INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, "table")
) WITHOUT ROWID;

-- 1: the run's end writes checksums. 0: an earlier version began the run, and nothing can tell
-- whether its rows are what was stored.
ALTER TABLE runs ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
