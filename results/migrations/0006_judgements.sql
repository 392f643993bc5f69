-- What a stored run needs to be judged again, and the judgements after the run's own. See
-- results/judgements.py.

-- Version of the checks by which the run itself was judged; NULL: an earlier version did not say.
ALTER TABLE runs ADD COLUMN checks_version TEXT;

CREATE TABLE evidence (
    run INTEGER NOT NULL REFERENCES runs,
    name TEXT NOT NULL,  -- facts, network, windows
    bytes INTEGER NOT NULL,  -- of the JSON
    json BLOB NOT NULL,  -- UTF-8, compressed with zlib
    PRIMARY KEY (run, name)
);

-- Added at any time after the run has ended, so each row has a checksum of its own.
CREATE TABLE judgements (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL CHECK (number >= 1),  -- 0 is the run's own, in runs and checks
    judged_utc TEXT NOT NULL,
    checks_version TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('faithful', 'doubtful', 'unfaithful')),
    checks TEXT NOT NULL,  -- JSON
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TRIGGER judgements_are_final BEFORE UPDATE ON judgements
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never overwritten');
END;
