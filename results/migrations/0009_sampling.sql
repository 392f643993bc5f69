-- Whether another sampling period may give another digest; NULL: not known, or digests never repeat.
ALTER TABLE runs ADD COLUMN digest_depends_on_sampling INTEGER DEFAULT NULL;
