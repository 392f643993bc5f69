"""Parameters of Linux's own congestion-control modules, with their ranges and defaults.

Source: the module_param lines of net/ipv4/tcp_*.c in Linux 6.12. The kernel itself checks the range
of ``dctcp_shift_g`` only. A range here is that in which the source's arithmetic is defined: no
division by zero, no overflow, no sign that is lost.

Parameters that not every back end can set and read back are left out; see NOT_SETTABLE.
"""

from __future__ import annotations

from pathlib import Path

from kmods.catalogue import Module, Parameter

_INT_MAX = 2**31 - 1


def _module(name: str, *parameters: tuple[str, str, int, int, int]) -> Module:
    """Return a module; a parameter is (name, text, default, low, high)."""
    source = Path("net/ipv4") / f"tcp_{name}.c"
    return Module(
        name, source, {parameter[0]: Parameter(*parameter) for parameter in parameters}, ()
    )


LINUX_MODULES = {
    module.name: module
    for module in (
        _module(
            "bic",
            ("fast_convergence", "1: give bandwidth to new flows sooner", 1, 0, 1),
            ("max_increment", "largest increase per RTT in segments", 16, 1, 65535),
            ("low_window", "window in segments up to which it acts as Reno", 14, 0, _INT_MAX),
            ("beta", "window after a loss in 1/1024", 819, 0, 1024),
            ("initial_ssthresh", "first ssthresh in segments; 0: unlimited", 0, 0, _INT_MAX),
            ("smooth_part", "smoothness of the increase near the last maximum", 20, 1, 1000),
        ),
        _module(
            "cdg",
            ("backoff_beta", "window after a backoff in 1/1024", 724, 0, 1024),
            ("backoff_factor", "scale of the backoff's probability", 42, 0, 1000),
            ("hystart_detect", "0: no HyStart; 1: ACK trains; 2: delay; 3: both", 3, 0, 3),
            ("use_ineff", "backoffs without effect before it ignores delay", 5, 0, 255),
            ("use_shadow", "1: keep a shadow window", 1, 0, 1),
            ("use_tolerance", "1: tolerate losses without congestion", 0, 0, 1),
        ),
        _module(
            "cubic",
            ("fast_convergence", "1: give bandwidth to new flows sooner", 1, 0, 1),
            ("initial_ssthresh", "first ssthresh without HyStart; 0: unlimited", 0, 0, _INT_MAX),
            ("tcp_friendliness", "1: be at least as fast as Reno", 1, 0, 1),
            ("hystart", "1: leave slow start early (HyStart)", 1, 0, 1),
            ("hystart_detect", "HyStart looks at 1: ACK trains; 2: delay; 3: both", 3, 0, 3),
            ("hystart_low_window", "segments from which HyStart acts", 16, 0, _INT_MAX),
            ("hystart_ack_delta_us", "longest gap in a train of ACKs", 2000, 0, _INT_MAX),
        ),
        _module(
            "dctcp",
            ("dctcp_shift_g", "gain g of the estimate is 1/2^this", 4, 0, 10),
            ("dctcp_alpha_on_init", "first estimate alpha in 1/1024", 1024, 0, 1024),
        ),
        _module(
            "htcp",
            ("use_rtt_scaling", "1: scale the increase with the RTT", 1, 0, 1),
            ("use_bandwidth_switch", "1: back off by half if the throughput changed", 1, 0, 1),
        ),
        _module(
            "hybla",
            ("rtt0", "RTT in ms of the reference connection", 25, 1, 60000),
        ),
        _module(
            "nv",
            ("nv_pad", "most segments to queue in the network", 10, 2, 65535),
            ("nv_reset_period", "seconds between resets of the least RTT", 5, 1, 3000),
            ("nv_min_cwnd", "least window in segments without losses", 2, 2, 65535),
        ),
        _module(
            "vegas",
            ("alpha", "least number of segments to queue", 2, 0, _INT_MAX),
            ("beta", "largest number of segments to queue", 4, 0, _INT_MAX),
            ("gamma", "segments in the queue at which slow start ends", 1, 0, _INT_MAX),
        ),
    )
}
"""Modules that take parameters, by the names of their congestion controls."""

_AT_START = "is built into the kernel and derives values from it when the kernel starts"

NOT_SETTABLE = {
    ("cdg", "window"): "cannot be set once the module is loaded (mode 0444)",
    ("cubic", "beta"): f"cannot be set: CUBIC {_AT_START}",
    ("cubic", "bic_scale"): f"cannot be set: CUBIC {_AT_START}",
    ("illinois", "theta"): "cannot be read back (mode 0)",
    ("illinois", "win_thresh"): "cannot be read back (mode 0)",
}
"""Parameters of Linux's modules that a scenario cannot give: why, by (congestion control, name)."""

WITHOUT_PARAMETERS = ("bbr", "highspeed", "lp", "reno", "scalable", "veno", "westwood", "yeah")
"""Congestion controls of Linux whose source has no module_param line.

Their numbers are constants. BBR's are bbr_high_gain, bbr_cwnd_gain, bbr_min_rtt_win_sec and others,
``static const`` in net/ipv4/tcp_bbr.c.
"""
