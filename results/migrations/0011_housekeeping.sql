-- What people say about runs, and which runs they removed. None of it is covered by a run's own
-- checksums, because it comes after the run has ended. So each row has a SHA-256 of its own. See
-- results/notes.py and results/housekeeping.py.

CREATE TABLE notes (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL CHECK (number >= 1),
    noted_utc TEXT NOT NULL,
    text TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TRIGGER notes_are_final BEFORE UPDATE ON notes
BEGIN
    SELECT RAISE (ABORT, 'a stored note is never overwritten');
END;

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs,
    tag TEXT NOT NULL,
    tagged_utc TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) WITHOUT ROWID;

CREATE TRIGGER tags_are_final BEFORE UPDATE ON tags
BEGIN
    SELECT RAISE (ABORT, 'a stored tag is never overwritten');
END;

-- A run that was removed with all its rows. No other run gets its key or its id.
CREATE TABLE removed (
    run INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    removed_utc TEXT NOT NULL,
    sha256 TEXT NOT NULL
);

CREATE TRIGGER removals_are_final BEFORE UPDATE ON removed
BEGIN
    SELECT RAISE (ABORT, 'a stored removal is never overwritten');
END;

-- Judgements are deleted with their run only.
DROP TRIGGER judgements_are_kept;

CREATE TRIGGER judgements_are_kept BEFORE DELETE ON judgements
WHEN EXISTS (SELECT 1 FROM runs WHERE run = old.run)
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never deleted without its run');
END;
