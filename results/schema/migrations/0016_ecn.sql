-- What kernels from 6.18 on report of a connection's ECN, -1 where they do not, and room for twelve
-- statistics of a kind of queue. Queues of runs that were stored before have four at most.

INSERT INTO sample_columns ("table", position, name, missing) VALUES
    ('tcp_samples', 79, 'received_ce_segments', -1),
    ('tcp_samples', 80, 'delivered_e1_bytes', -1),
    ('tcp_samples', 81, 'delivered_e0_bytes', -1),
    ('tcp_samples', 82, 'delivered_ce_bytes', -1),
    ('tcp_samples', 83, 'received_e1_bytes', -1),
    ('tcp_samples', 84, 'received_e0_bytes', -1),
    ('tcp_samples', 85, 'received_ce_bytes', -1),
    ('tcp_samples', 86, 'ecn_mode', -1),
    ('tcp_samples', 87, 'accecn_opt_seen', -1),
    ('tcp_samples', 88, 'accecn_fail_mode', -1);

INSERT INTO sample_columns ("table", position, name) VALUES
    ('queue_samples', 12, 'statistic_4'),
    ('queue_samples', 13, 'statistic_5'),
    ('queue_samples', 14, 'statistic_6'),
    ('queue_samples', 15, 'statistic_7'),
    ('queue_samples', 16, 'statistic_8'),
    ('queue_samples', 17, 'statistic_9'),
    ('queue_samples', 18, 'statistic_10'),
    ('queue_samples', 19, 'statistic_11');
