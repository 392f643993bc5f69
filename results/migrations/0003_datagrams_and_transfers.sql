-- UDP flows, which have no congestion control, and transfers of flows that make many.

CREATE TABLE flows_of_all_kinds (
    run INTEGER NOT NULL REFERENCES runs,
    flow INTEGER NOT NULL,
    name TEXT NOT NULL,
    "group" TEXT NOT NULL,
    source TEXT NOT NULL,
    sink TEXT NOT NULL,
    engine TEXT NOT NULL,
    congestion_asked TEXT,  -- NULL: UDP
    congestion_control TEXT,
    start_s REAL NOT NULL,
    stop_s REAL,
    base_rtt_s REAL NOT NULL,
    base_rtt_measured_s REAL,
    path TEXT NOT NULL,  -- JSON: names of channels
    congestion_fields TEXT NOT NULL,  -- JSON: [name, unit] of each congestion_N
    transport TEXT NOT NULL CHECK (transport IN ('tcp', 'udp')),
    traffic TEXT NOT NULL,
    PRIMARY KEY (run, flow)
) WITHOUT ROWID;

INSERT INTO flows_of_all_kinds SELECT *, 'tcp', 'bulk' FROM flows;

DROP TABLE flows;

ALTER TABLE flows_of_all_kinds RENAME TO flows;

CREATE TABLE datagram_samples (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    sent_packets INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    received_packets INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    expected_packets INTEGER NOT NULL,
    reordered_packets INTEGER NOT NULL,
    duplicate_packets INTEGER NOT NULL,
    delay_sum_ns INTEGER NOT NULL,
    delay_squares_us2 INTEGER NOT NULL,
    delay_changes_ns INTEGER NOT NULL,
    delay_min_ns INTEGER,  -- NULL: nothing came since the sample before
    delay_max_ns INTEGER,
    PRIMARY KEY (run, flow, time_ns)
) WITHOUT ROWID;

CREATE TABLE transfers (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER,  -- NULL: not complete when the run ended
    bytes INTEGER NOT NULL
);

CREATE INDEX transfers_of_flows ON transfers (run, flow, start_ns);
