"""NewReno of RFC 6582, like ns-2's: no SACK, three duplicate ACKs, no tail loss probes.

Linux keeps two differences. The window during recovery follows proportional rate reduction (RFC
6937) and is not inflated by duplicate ACKs. With timestamps an unnecessary recovery is undone
(Eifel); `timestamps: false` prevents that. Initial window, delayed ACKs and segment size differ
between the papers and are left to the scenario.
"""

OPTIONS = {
    "sack": False,
    "dsack": False,
    "recovery": "dupack",
    "tail_loss_probe": False,
    "frto": False,
    "reordering": 3,
    "ecn": False,
    "compress_acks": False,
    "restart_after_idle": False,
    "defer_acks": False,
}
