-- Versions that say which runs can be compared to the bit. See orchestrator/protocol/version.py.

-- How links are emulated.
ALTER TABLE runs ADD COLUMN link_model INTEGER NOT NULL DEFAULT 1;

-- What the run's digest covers.
ALTER TABLE runs ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
