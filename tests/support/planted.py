"""Modules with one planted fault each, made of the example of a module of one's own."""

from __future__ import annotations

from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "scenarios/own-module/mycc/tcp_mycc.c"

OPS = "static struct tcp_congestion_ops"

NEVER_BACKS_OFF = """\
static u32 mycc_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}
"""

HALVES_TWICE = """\
static u32 mycc_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 2, 2U);
}
"""

IGNORES_IDLE = """\
static void mycc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	u32 *before = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_CWND_RESTART)
		*before = tcp_snd_cwnd(tp);
	else if (event == CA_EVENT_TX_START && *before > tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, *before);
}
"""


def write(folder: Path, fault: str) -> Path:
    """Write the module of a fault into ``folder/fault`` and return that folder.

    Faults are ``stubborn``, ``fourth``, ``burst``, ``divides`` and ``zero``, which divides by its
    parameter; the module has that name.
    """
    source = EXAMPLE.read_text()
    if fault in ("stubborn", "fourth"):
        code = NEVER_BACKS_OFF if fault == "stubborn" else HALVES_TWICE
        source = source.replace(OPS, f"{code}\n{OPS}", 1)
        source = source.replace("= tcp_reno_ssthresh", "= mycc_ssthresh")
    elif fault == "burst":
        source = source.replace(OPS, f"{IGNORES_IDLE}\n{OPS}", 1)
        source = source.replace("\t.owner", "\t.cwnd_event\t= mycc_cwnd_event,\n\t.owner", 1)
    elif fault == "divides":
        source = source.replace(
            "tcp_snd_cwnd(tp), acked",
            "tcp_snd_cwnd(tp), acked / (tcp_snd_cwnd(tp) - 2) + acked",
        )
    elif fault == "zero":
        source = source.replace("acked * READ_ONCE(increase)", "acked / READ_ONCE(increase)")
        source = source.replace("\tstruct tcp_sock *tp", "\tint unused;\n\tstruct tcp_sock *tp", 1)
    else:
        raise ValueError(f"there is no fault {fault}")
    # The example's own increase is not Reno's, which no fault shall hide behind.
    source = source.replace("increase __read_mostly = 2", "increase __read_mostly = 1")
    target = folder / fault
    target.mkdir()
    (target / f"tcp_{fault}.c").write_text(source.replace("mycc", fault))
    return target
