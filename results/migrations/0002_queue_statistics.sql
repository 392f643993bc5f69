-- What a queue's kind counts by itself, beside the counters of every qdisc, and policers.

ALTER TABLE queue_samples ADD COLUMN statistic_0 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_samples ADD COLUMN statistic_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_samples ADD COLUMN statistic_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_samples ADD COLUMN statistic_3 INTEGER NOT NULL DEFAULT 0;

CREATE TABLE queues_with_statistics (
    run INTEGER NOT NULL REFERENCES runs,
    queue INTEGER NOT NULL,
    name TEXT NOT NULL,
    link TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('forward', 'reverse')),
    role TEXT NOT NULL CHECK (role IN ('queue', 'delay', 'policer')),
    kind TEXT NOT NULL,
    bottleneck INTEGER NOT NULL CHECK (bottleneck IN (0, 1)),
    rate_bps INTEGER,
    limit_packets INTEGER,
    limit_bytes INTEGER,
    delay_s REAL,
    loss REAL,
    statistics TEXT NOT NULL,  -- JSON: [name, unit] of each statistic_N
    PRIMARY KEY (run, queue)
) WITHOUT ROWID;

INSERT INTO queues_with_statistics SELECT *, '[]' FROM queues;

DROP TABLE queues;

ALTER TABLE queues_with_statistics RENAME TO queues;
