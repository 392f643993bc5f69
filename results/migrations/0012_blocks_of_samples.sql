-- Samples in compressed blocks of up to 16384 rows of one series, instead of a row each. Python packs
-- the rows (results/packing.py) after these statements and drops the older tables. A block is the
-- work of results/blocks.py; its label has the table, the key of the series, and the other columns.
-- A later version that adds a column of samples adds a row to sample_columns with a new position.

ALTER TABLE tcp_samples RENAME TO tcp_samples_by_row;
ALTER TABLE queue_samples RENAME TO queue_samples_by_row;
ALTER TABLE datagram_samples RENAME TO datagram_samples_by_row;
ALTER TABLE transfers RENAME TO transfers_by_row;

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

-- The columns of a block, in order. A block that lacks a column has the value "missing" there.
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
