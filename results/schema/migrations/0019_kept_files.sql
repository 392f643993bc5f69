-- Files that runs keep of what their programs leave, and those that they leave out. Contents are in
-- the table files. Runs that were stored before have no rows.

CREATE TABLE kept_files (
    run INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,  -- 0, 1, ...: by flow, role and order of keeping
    flow INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('server', 'client')),
    name TEXT NOT NULL,
    size_bytes INTEGER,  -- NULL: nothing is known of it
    sha256 TEXT REFERENCES files,  -- NULL: it is left out
    left_out TEXT,  -- why; NULL: it is kept
    PRIMARY KEY (run, position)
) WITHOUT ROWID;
