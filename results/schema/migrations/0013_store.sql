-- The whole schema: runs and everything stored of them. Times are seconds since the start of
-- traffic unless named _utc. Versions that were never released had the schemas 1 to 12, which this
-- program refuses. See results/schema/database.py.

PRAGMA application_id = 0x54435072;

CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_utc TEXT NOT NULL
);

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    scenario TEXT NOT NULL,
    description TEXT NOT NULL,
    variant TEXT NOT NULL,  -- JSON
    variant_sets TEXT NOT NULL DEFAULT '{}',  -- JSON: {axis of named values: {path: value}}
    repetition INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    backend TEXT NOT NULL,
    duration_s REAL NOT NULL,
    warmup_s REAL NOT NULL,
    windows TEXT NOT NULL,  -- JSON: [name, from_s, to_s] ...
    scenario_text TEXT NOT NULL,
    scenario_sha256 TEXT NOT NULL,
    resolved TEXT NOT NULL,  -- JSON
    links TEXT NOT NULL,  -- JSON
    link_model INTEGER NOT NULL,  -- orchestrator/protocol/version.py has both versions
    digest_version INTEGER NOT NULL,
    digest_depends_on_sampling INTEGER,  -- NULL: not known, or digests never repeat
    experiment_sha256 TEXT,  -- orchestrator/planning/identity.py; NULL: not known
    repetition_rule TEXT,  -- JSON; NULL: a fixed number of repetitions
    git_commit TEXT,
    unconfined INTEGER NOT NULL CHECK (unconfined IN (0, 1)),
    metrics_grid_s REAL,  -- NULL: no TCP sender with one connection at a time
    started_utc TEXT NOT NULL,
    owner_pid INTEGER NOT NULL,
    owner_start_ticks INTEGER NOT NULL,
    owner_boot_id TEXT NOT NULL,
    owner_pid_namespace TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'ok', 'failed', 'interrupted')),
    error TEXT,
    finished_utc TEXT,
    wall_s REAL,
    kernel TEXT,
    simulated_s REAL,
    digest TEXT,
    kernel_warnings INTEGER,  -- of a guest's kernel while traffic ran; NULL: a real machine
    verdict TEXT CHECK (verdict IN ('faithful', 'doubtful', 'unfaithful')),
    checks_version TEXT,  -- version of the checks by which the run itself was judged
    CHECK ((status IN ('failed', 'interrupted')) = (error IS NOT NULL)),
    CHECK ((status = 'ok') = (verdict IS NOT NULL))
);

CREATE INDEX runs_running ON runs (run) WHERE status = 'running';

CREATE TRIGGER runs_are_final BEFORE UPDATE ON runs WHEN old.status <> 'running'
BEGIN
    SELECT RAISE (ABORT, 'a stored run is never overwritten');
END;

CREATE TABLE flows (
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
    outcome TEXT NOT NULL DEFAULT 'ended' CHECK (
        outcome IN ('ended', 'timed_out', 'reset', 'unreachable', 'never_connected')
    ),
    ended_s REAL,  -- NULL: it went on until the end of the run
    errno INTEGER,
    failed_s TEXT NOT NULL DEFAULT '[]',  -- JSON: when each of its connections failed
    PRIMARY KEY (run, flow)
) WITHOUT ROWID;

CREATE TABLE queues (
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
    rate_steps TEXT NOT NULL,  -- JSON: [seconds, bit/s] ... while traffic runs
    PRIMARY KEY (run, queue)
) WITHOUT ROWID;

CREATE TABLE checks (
    run INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    expected,  -- a number, a text or NULL, kept as it is
    measured,
    tolerance REAL,
    ok INTEGER CHECK (ok IN (0, 1)),
    detail TEXT NOT NULL,
    PRIMARY KEY (run, position)
) WITHOUT ROWID;

CREATE TABLE provenance (
    run INTEGER NOT NULL REFERENCES runs,
    key TEXT NOT NULL,
    value TEXT NOT NULL,  -- JSON
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

CREATE TABLE artefacts (
    run INTEGER NOT NULL REFERENCES runs,
    name TEXT NOT NULL,
    text BLOB NOT NULL,  -- UTF-8, compressed with zlib
    PRIMARY KEY (run, name)
);

CREATE TABLE metrics (
    run INTEGER NOT NULL REFERENCES runs,
    window TEXT NOT NULL,  -- '' is the whole run after warm-up
    flow INTEGER,
    link TEXT,  -- a channel, such as bottleneck:forward; flow and link both NULL: of the run
    name TEXT NOT NULL,
    value,  -- INTEGER or REAL, NULL where it cannot be computed
    CHECK (flow IS NULL OR link IS NULL)
);

CREATE INDEX metrics_by_run ON metrics (run);
CREATE INDEX metrics_of_runs ON metrics (run) WHERE flow IS NULL AND link IS NULL;

-- What judging the run again needs; see results/store/parts/judgements.py.
CREATE TABLE evidence (
    run INTEGER NOT NULL REFERENCES runs,
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL,  -- of the JSON
    json BLOB NOT NULL,  -- UTF-8, compressed with zlib
    PRIMARY KEY (run, name)
);

-- Files that scenarios name, such as modules' sources and traces, once by their content. A file that
-- no run needs any more is removed with the last run that does. See results/store/parts/files.py.
CREATE TABLE files (
    sha256 TEXT PRIMARY KEY,  -- of the content
    bytes INTEGER NOT NULL,  -- of the content
    content BLOB NOT NULL  -- compressed with zlib
);

CREATE TABLE run_files (
    run INTEGER NOT NULL REFERENCES runs,
    place TEXT NOT NULL,  -- below the scenario's folder; see orchestrator/files/scenario_files.py
    sha256 TEXT NOT NULL REFERENCES files,
    PRIMARY KEY (run, place)
) WITHOUT ROWID;

CREATE INDEX runs_of_files ON run_files (sha256);

-- Samples in compressed blocks of up to 16384 rows of one series. A block is the work of
-- results/samples/blocks.py; its label has the table, the key of the series, and the other columns.
-- Run and flow or queue are checked before blocks are written.

CREATE TABLE tcp_samples (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,  -- 0 sender, 1 receiver
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, flow, endpoint, part)
);

CREATE TABLE queue_samples (
    run INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, queue, part)
);

-- How long packets waited in queues; SOJOURN_DTYPE of orchestrator/recording/model.py.
CREATE TABLE sojourn_times (
    run INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, queue, part)
);

CREATE TABLE datagram_samples (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, flow, part)
);

-- What metrics use of TCP senders: a row where it differs from the row before.
CREATE TABLE sender_states (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- times of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, flow, part)
);

CREATE TABLE transfers (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- 0, 1, ...: the order of the series' blocks
    rows INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,  -- starts of the first and of the last row
    last_ns INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (run, flow, part)
);

-- The columns of a block, in order. A later version that adds a column adds a row with the table's
-- next position. A block that lacks the column has the value "missing" there.
CREATE TABLE sample_columns (
    "table" TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    missing INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY ("table", position)
) WITHOUT ROWID;

INSERT INTO sample_columns ("table", position, name) VALUES
    ('tcp_samples', 0, 'time_ns'),
    ('tcp_samples', 1, 'rqueue_bytes'),
    ('tcp_samples', 2, 'wqueue_bytes'),
    ('tcp_samples', 3, 'state'),
    ('tcp_samples', 4, 'ca_state'),
    ('tcp_samples', 5, 'retransmits'),
    ('tcp_samples', 6, 'probes'),
    ('tcp_samples', 7, 'backoff'),
    ('tcp_samples', 8, 'options'),
    ('tcp_samples', 9, 'wscale'),
    ('tcp_samples', 10, 'flags'),
    ('tcp_samples', 11, 'rto_us'),
    ('tcp_samples', 12, 'ato_us'),
    ('tcp_samples', 13, 'snd_mss_bytes'),
    ('tcp_samples', 14, 'rcv_mss_bytes'),
    ('tcp_samples', 15, 'unacked_segments'),
    ('tcp_samples', 16, 'sacked_segments'),
    ('tcp_samples', 17, 'lost_segments'),
    ('tcp_samples', 18, 'retrans_segments'),
    ('tcp_samples', 19, 'fackets_segments'),
    ('tcp_samples', 20, 'last_data_sent_ms'),
    ('tcp_samples', 21, 'last_ack_sent_ms'),
    ('tcp_samples', 22, 'last_data_recv_ms'),
    ('tcp_samples', 23, 'last_ack_recv_ms'),
    ('tcp_samples', 24, 'pmtu_bytes'),
    ('tcp_samples', 25, 'rcv_ssthresh_bytes'),
    ('tcp_samples', 26, 'rtt_us'),
    ('tcp_samples', 27, 'rttvar_us'),
    ('tcp_samples', 28, 'snd_ssthresh_segments'),
    ('tcp_samples', 29, 'snd_cwnd_segments'),
    ('tcp_samples', 30, 'advmss_bytes'),
    ('tcp_samples', 31, 'reordering_segments'),
    ('tcp_samples', 32, 'rcv_rtt_us'),
    ('tcp_samples', 33, 'rcv_space_bytes'),
    ('tcp_samples', 34, 'total_retrans_segments'),
    ('tcp_samples', 35, 'pacing_rate_bytes_per_s'),
    ('tcp_samples', 36, 'max_pacing_rate_bytes_per_s'),
    ('tcp_samples', 37, 'bytes_acked'),
    ('tcp_samples', 38, 'bytes_received'),
    ('tcp_samples', 39, 'segs_out'),
    ('tcp_samples', 40, 'segs_in'),
    ('tcp_samples', 41, 'notsent_bytes'),
    ('tcp_samples', 42, 'min_rtt_us'),
    ('tcp_samples', 43, 'data_segs_in'),
    ('tcp_samples', 44, 'data_segs_out'),
    ('tcp_samples', 45, 'delivery_rate_bytes_per_s'),
    ('tcp_samples', 46, 'busy_time_us'),
    ('tcp_samples', 47, 'rwnd_limited_us'),
    ('tcp_samples', 48, 'sndbuf_limited_us'),
    ('tcp_samples', 49, 'delivered_segments'),
    ('tcp_samples', 50, 'delivered_ce_segments'),
    ('tcp_samples', 51, 'bytes_sent'),
    ('tcp_samples', 52, 'bytes_retrans'),
    ('tcp_samples', 53, 'dsack_dups'),
    ('tcp_samples', 54, 'reord_seen'),
    ('tcp_samples', 55, 'rcv_ooopack'),
    ('tcp_samples', 56, 'snd_wnd_bytes'),
    ('tcp_samples', 57, 'rcv_wnd_bytes'),
    ('tcp_samples', 58, 'rehash'),
    ('tcp_samples', 59, 'total_rto'),
    ('tcp_samples', 60, 'total_rto_recoveries'),
    ('tcp_samples', 61, 'total_rto_time_ms'),
    ('tcp_samples', 62, 'skmem_rmem_alloc_bytes'),
    ('tcp_samples', 63, 'skmem_rcvbuf_bytes'),
    ('tcp_samples', 64, 'skmem_wmem_alloc_bytes'),
    ('tcp_samples', 65, 'skmem_sndbuf_bytes'),
    ('tcp_samples', 66, 'skmem_fwd_alloc_bytes'),
    ('tcp_samples', 67, 'skmem_wmem_queued_bytes'),
    ('tcp_samples', 68, 'skmem_optmem_bytes'),
    ('tcp_samples', 69, 'skmem_backlog_bytes'),
    ('tcp_samples', 70, 'skmem_drops'),
    ('tcp_samples', 71, 'congestion_0'),
    ('tcp_samples', 72, 'congestion_1'),
    ('tcp_samples', 73, 'congestion_2'),
    ('tcp_samples', 74, 'congestion_3'),
    ('tcp_samples', 75, 'congestion_4'),
    ('tcp_samples', 76, 'congestion_5'),
    ('tcp_samples', 77, 'congestion_6'),
    ('tcp_samples', 78, 'congestion_7');

INSERT INTO sample_columns ("table", position, name) VALUES
    ('queue_samples', 0, 'time_ns'),
    ('queue_samples', 1, 'bytes'),
    ('queue_samples', 2, 'packets'),
    ('queue_samples', 3, 'drops'),
    ('queue_samples', 4, 'overlimits'),
    ('queue_samples', 5, 'requeues'),
    ('queue_samples', 6, 'backlog_bytes'),
    ('queue_samples', 7, 'backlog_packets'),
    ('queue_samples', 8, 'statistic_0'),
    ('queue_samples', 9, 'statistic_1'),
    ('queue_samples', 10, 'statistic_2'),
    ('queue_samples', 11, 'statistic_3');

INSERT INTO sample_columns ("table", position, name) VALUES
    ('sojourn_times', 0, 'time_ns'),
    ('sojourn_times', 1, 'bucket'),
    ('sojourn_times', 2, 'packets'),
    ('sojourn_times', 3, 'sum_ns'),
    ('sojourn_times', 4, 'largest_ns'),
    ('sojourn_times', 5, 'aggregates'),
    ('sojourn_times', 6, 'lost_packets');

INSERT INTO sample_columns ("table", position, name) VALUES
    ('datagram_samples', 0, 'time_ns'),
    ('datagram_samples', 1, 'sent_packets'),
    ('datagram_samples', 2, 'sent_bytes'),
    ('datagram_samples', 3, 'received_packets'),
    ('datagram_samples', 4, 'received_bytes'),
    ('datagram_samples', 5, 'expected_packets'),
    ('datagram_samples', 6, 'reordered_packets'),
    ('datagram_samples', 7, 'duplicate_packets'),
    ('datagram_samples', 8, 'delay_sum_ns'),
    ('datagram_samples', 9, 'delay_squares_us2'),
    ('datagram_samples', 10, 'delay_changes_ns'),
    ('datagram_samples', 11, 'delay_min_ns'),
    ('datagram_samples', 12, 'delay_max_ns');

INSERT INTO sample_columns ("table", position, name) VALUES
    ('transfers', 0, 'start_ns'),
    ('transfers', 1, 'end_ns'),
    ('transfers', 2, 'bytes');

INSERT INTO sample_columns ("table", position, name) VALUES
    ('sender_states', 0, 'time_ns'),
    ('sender_states', 1, 'connection'),
    ('sender_states', 2, 'state'),
    ('sender_states', 3, 'ca_state'),
    ('sender_states', 4, 'rtt_us'),
    ('sender_states', 5, 'snd_cwnd_segments'),
    ('sender_states', 6, 'total_retrans_segments'),
    ('sender_states', 7, 'estimate_bytes_per_s');

-- A checksum for each table of a run, written in the transaction that ends the run. It tells damage
-- to the file, not a person who changes rows and checksums together. See results/store/parts/checksum.py.
CREATE TABLE checksums (
    run INTEGER NOT NULL REFERENCES runs,
    "table" TEXT NOT NULL,
    schema INTEGER NOT NULL,  -- the version whose columns of the table are covered
    rows INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, "table")
) WITHOUT ROWID;

-- Judgements after the run's own. They are added at any time after its end, so each row has a
-- checksum of its own, which covers that of the row before. The row 'judgements' of checksums has
-- the number and the sha256 of a run's last judgement, which shows that one was deleted. See
-- results/store/parts/judgements.py.
CREATE TABLE judgements (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL CHECK (number >= 1),  -- 0 is the run's own, in runs and checks
    judged_utc TEXT NOT NULL,
    checks_version TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('faithful', 'doubtful', 'unfaithful')),
    checks TEXT NOT NULL,  -- JSON
    previous TEXT NOT NULL,  -- sha256 of the judgement before it, '' for the first one
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

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

CREATE TRIGGER judgements_are_final BEFORE UPDATE ON judgements
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never overwritten');
END;

-- INSERT OR REPLACE would overwrite a row without any other trigger.
CREATE TRIGGER judgements_are_added BEFORE INSERT ON judgements
WHEN new.number <= (SELECT max(number) FROM judgements WHERE run = new.run)
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never overwritten');
END;

CREATE TRIGGER judgements_are_kept BEFORE DELETE ON judgements
WHEN EXISTS (SELECT 1 FROM runs WHERE run = old.run)
BEGIN
    SELECT RAISE (ABORT, 'a stored judgement is never deleted without its run');
END;

-- What people say about runs, and which runs they removed. None of it is covered by a run's own
-- checksums, because it comes after the run has ended. So each row has a SHA-256 of its own. See
-- results/store/parts/notes.py and results/store/upkeep/housekeeping.py.

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
