-- What shows that a judgement was deleted. The row 'judgements' of checksums has the number and the
-- sha256 of a run's last judgement, and each judgement's sha256 covers that of the one before it.
-- See results/judgements.py.

-- sha256 of the judgement before it, '' for the first one. NULL: an earlier version of the program
-- stored the row, and its sha256 does not cover another row's.
ALTER TABLE judgements ADD COLUMN previous TEXT;

INSERT INTO checksums (run, "table", schema, rows, sha256)
SELECT run, 'judgements', max(schema),
    (SELECT count(*) FROM judgements WHERE judgements.run = checksums.run),
    coalesce((SELECT sha256 FROM judgements WHERE judgements.run = checksums.run
              ORDER BY number DESC LIMIT 1), '')
FROM checksums GROUP BY run;

-- Triggers, because a process of an earlier version may still have the file open.
CREATE TRIGGER judgements_begin AFTER INSERT ON checksums WHEN new."table" = 'runs'
BEGIN
    INSERT INTO checksums (run, "table", schema, rows, sha256)
    VALUES (new.run, 'judgements', new.schema, 0, '');
END;

CREATE TRIGGER judgements_are_counted AFTER INSERT ON judgements
BEGIN
    UPDATE checksums SET rows = new.number, sha256 = new.sha256
    WHERE run = new.run AND "table" = 'judgements';
END;

-- INSERT OR REPLACE would overwrite a row without any other trigger.
CREATE TRIGGER judgements_are_added BEFORE INSERT ON judgements
WHEN new.number <= (SELECT max(number) FROM judgements WHERE run = new.run)
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never overwritten');
END;

CREATE TRIGGER judgements_are_kept BEFORE DELETE ON judgements
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never deleted');
END;
