-- SNMP counters of hosts; COUNTER_DTYPE of orchestrator/recording/model.py. The run's provenance has
-- the names of hosts and counters. Runs that were stored before have no rows.

CREATE TABLE counter_samples (
    run INTEGER NOT NULL,
    host INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, host, part)
);

INSERT INTO sample_columns ("table", position, name) VALUES
    ('counter_samples', 0, 'time_ns'),
    ('counter_samples', 1, 'counter'),
    ('counter_samples', 2, 'value');
