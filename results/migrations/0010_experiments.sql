-- Which runs belong to one experiment: see orchestrator/planning/identity.py. NULL: not known.
ALTER TABLE runs ADD COLUMN experiment_sha256 TEXT DEFAULT NULL;

-- The rule that decides the number of repetitions, as JSON. NULL: a fixed number, or not known.
ALTER TABLE runs ADD COLUMN repetition_rule TEXT DEFAULT NULL;
