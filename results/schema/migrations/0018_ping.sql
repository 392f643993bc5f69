-- Flows of ICMP echoes (ping).

CREATE TABLE flows_18 (
    run INTEGER NOT NULL REFERENCES runs,
    flow INTEGER NOT NULL,
    name TEXT NOT NULL,
    "group" TEXT NOT NULL,
    source TEXT NOT NULL,
    sink TEXT NOT NULL,
    engine TEXT NOT NULL,
    congestion_asked TEXT,  -- NULL: UDP, ICMP
    congestion_control TEXT,
    start_s REAL NOT NULL,
    stop_s REAL,
    base_rtt_s REAL NOT NULL,
    base_rtt_measured_s REAL,
    path TEXT NOT NULL,  -- JSON: names of channels
    congestion_fields TEXT NOT NULL,  -- JSON: [name, unit] of each congestion_N
    transport TEXT NOT NULL CHECK (transport IN ('tcp', 'udp', 'icmp')),
    traffic TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT 'ended' CHECK (
        outcome IN (
            'ended', 'timed_out', 'reset', 'unreachable', 'never_connected',
            'exit_status', 'signal', 'not_ready', 'out_of_time', 'output', 'stopped'
        )
    ),
    ended_s REAL,  -- NULL: it went on until the end of the run
    errno INTEGER,
    failed_s TEXT NOT NULL DEFAULT '[]',  -- JSON: when each of its connections failed
    begun_s REAL,  -- of a client program
    exit_status INTEGER,  -- of a client program that ended by itself
    connections INTEGER,  -- of a flow that may have several
    PRIMARY KEY (run, flow)
) WITHOUT ROWID;

INSERT INTO flows_18
SELECT * FROM flows;

DROP TABLE flows;
ALTER TABLE flows_18 RENAME TO flows;
