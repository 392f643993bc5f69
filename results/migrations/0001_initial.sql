-- A run and everything stored of it. Times are seconds since the start of traffic unless named _utc.

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
    git_commit TEXT,
    unconfined INTEGER NOT NULL CHECK (unconfined IN (0, 1)),
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
    verdict TEXT CHECK (verdict IN ('faithful', 'doubtful', 'unfaithful')),
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
    congestion_asked TEXT NOT NULL,
    congestion_control TEXT,
    start_s REAL NOT NULL,
    stop_s REAL,
    base_rtt_s REAL NOT NULL,
    base_rtt_measured_s REAL,
    path TEXT NOT NULL,  -- JSON: names of channels
    congestion_fields TEXT NOT NULL,  -- JSON: [name, unit] of each congestion_N
    PRIMARY KEY (run, flow)
) WITHOUT ROWID;

CREATE TABLE queues (
    run INTEGER NOT NULL REFERENCES runs,
    queue INTEGER NOT NULL,
    name TEXT NOT NULL,
    link TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('forward', 'reverse')),
    role TEXT NOT NULL CHECK (role IN ('queue', 'delay')),
    kind TEXT NOT NULL,
    bottleneck INTEGER NOT NULL CHECK (bottleneck IN (0, 1)),
    rate_bps INTEGER,
    limit_packets INTEGER,
    limit_bytes INTEGER,
    delay_s REAL,
    loss REAL,
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

-- Samples are clustered by what they are read by. Their run and flow or queue are checked before
-- they are written, whole arrays at a time, which a foreign key would do row by row.
CREATE TABLE tcp_samples (
    run INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,  -- 0 sender, 1 receiver
    time_ns INTEGER NOT NULL,
    rqueue_bytes INTEGER NOT NULL,
    wqueue_bytes INTEGER NOT NULL,
    state INTEGER NOT NULL,
    ca_state INTEGER NOT NULL,
    retransmits INTEGER NOT NULL,
    probes INTEGER NOT NULL,
    backoff INTEGER NOT NULL,
    options INTEGER NOT NULL,
    wscale INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    rto_us INTEGER NOT NULL,
    ato_us INTEGER NOT NULL,
    snd_mss_bytes INTEGER NOT NULL,
    rcv_mss_bytes INTEGER NOT NULL,
    unacked_segments INTEGER NOT NULL,
    sacked_segments INTEGER NOT NULL,
    lost_segments INTEGER NOT NULL,
    retrans_segments INTEGER NOT NULL,
    fackets_segments INTEGER NOT NULL,
    last_data_sent_ms INTEGER NOT NULL,
    last_ack_sent_ms INTEGER NOT NULL,
    last_data_recv_ms INTEGER NOT NULL,
    last_ack_recv_ms INTEGER NOT NULL,
    pmtu_bytes INTEGER NOT NULL,
    rcv_ssthresh_bytes INTEGER NOT NULL,
    rtt_us INTEGER NOT NULL,
    rttvar_us INTEGER NOT NULL,
    snd_ssthresh_segments INTEGER,  -- NULL: infinite, no loss yet
    snd_cwnd_segments INTEGER NOT NULL,
    advmss_bytes INTEGER NOT NULL,
    reordering_segments INTEGER NOT NULL,
    rcv_rtt_us INTEGER NOT NULL,
    rcv_space_bytes INTEGER NOT NULL,
    total_retrans_segments INTEGER NOT NULL,
    pacing_rate_bytes_per_s INTEGER,  -- NULL: not limited
    max_pacing_rate_bytes_per_s INTEGER,  -- NULL: not limited
    bytes_acked INTEGER NOT NULL,
    bytes_received INTEGER NOT NULL,
    segs_out INTEGER NOT NULL,
    segs_in INTEGER NOT NULL,
    notsent_bytes INTEGER NOT NULL,
    min_rtt_us INTEGER NOT NULL,
    data_segs_in INTEGER NOT NULL,
    data_segs_out INTEGER NOT NULL,
    delivery_rate_bytes_per_s INTEGER NOT NULL,
    busy_time_us INTEGER NOT NULL,
    rwnd_limited_us INTEGER NOT NULL,
    sndbuf_limited_us INTEGER NOT NULL,
    delivered_segments INTEGER NOT NULL,
    delivered_ce_segments INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,
    bytes_retrans INTEGER NOT NULL,
    dsack_dups INTEGER NOT NULL,
    reord_seen INTEGER NOT NULL,
    rcv_ooopack INTEGER NOT NULL,
    snd_wnd_bytes INTEGER NOT NULL,
    rcv_wnd_bytes INTEGER NOT NULL,
    rehash INTEGER NOT NULL,
    total_rto INTEGER NOT NULL,
    total_rto_recoveries INTEGER NOT NULL,
    total_rto_time_ms INTEGER NOT NULL,
    skmem_rmem_alloc_bytes INTEGER NOT NULL,
    skmem_rcvbuf_bytes INTEGER NOT NULL,
    skmem_wmem_alloc_bytes INTEGER NOT NULL,
    skmem_sndbuf_bytes INTEGER NOT NULL,
    skmem_fwd_alloc_bytes INTEGER NOT NULL,
    skmem_wmem_queued_bytes INTEGER NOT NULL,
    skmem_optmem_bytes INTEGER NOT NULL,
    skmem_backlog_bytes INTEGER NOT NULL,
    skmem_drops INTEGER NOT NULL,
    congestion_0 INTEGER NOT NULL,
    congestion_1 INTEGER NOT NULL,
    congestion_2 INTEGER NOT NULL,
    congestion_3 INTEGER NOT NULL,
    congestion_4 INTEGER NOT NULL,
    congestion_5 INTEGER NOT NULL,
    congestion_6 INTEGER NOT NULL,
    congestion_7 INTEGER NOT NULL,
    PRIMARY KEY (run, flow, endpoint, time_ns)
) WITHOUT ROWID;

CREATE TABLE queue_samples (
    run INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    packets INTEGER NOT NULL,
    drops INTEGER NOT NULL,
    overlimits INTEGER NOT NULL,
    requeues INTEGER NOT NULL,
    backlog_bytes INTEGER NOT NULL,
    backlog_packets INTEGER NOT NULL,
    PRIMARY KEY (run, queue, time_ns)
) WITHOUT ROWID;
