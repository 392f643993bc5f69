"""SACK with the classic threshold of three duplicate ACKs (RFC 6675), without RACK.

As with `newreno`, the window during recovery follows proportional rate reduction (RFC 6937). With
timestamps or D-SACK an unnecessary recovery is undone. Some papers call this NewReno with SACK.
"""

OPTIONS = {
    "sack": True,
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
