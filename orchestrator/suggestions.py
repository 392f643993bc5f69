"""Suggests the valid word that somebody meant: by spelling, or by what other tools call it.

Spelling ignores case and punctuation. The tables have the words of papers, of tc, iperf and ns, by
their form (see ``_form``), with the project's words for them, the likeliest first. A word with dots
is a path; it counts where its first part is valid.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType

from orchestrator.units import shown

Synonyms = Mapping[str, tuple[str, ...]]
NONE: Synonyms = MappingProxyType({})
MOST_NAMED = 4
"""The most alternatives that a message names."""
NEAR = 0.8
"""How like a word a suggestion must be at least where all valid words are alike, as ``cutoff``."""
_LIKE = 0.6
_MOST_COMPARED = 1000
"""The most valid words that a word is compared with."""


def _table(*rows: tuple[str, str]) -> Synonyms:
    """Return the table of rows (words that are not valid, valid words); words have spaces between.

    What several rows say of a word is joined in their order.
    """
    found: dict[str, tuple[str, ...]] = {}
    for others, valid in rows:
        for other in others.split():
            found[other] = (*found.get(other, ()), *valid.split())
    return found


KEYS = _table(
    ("latency delays owd onewaydelay propdelay propagationdelay propagation netdelay", "delay"),
    ("basertt minrtt roundtrip roundtriptime", "rtt"),
    ("bandwidth bw speed datarate linkrate bitrate bottleneckrate throughput", "rate access.rate"),
    ("rate", "traffic.rate probability access.rate"),
    ("delay latency", "access.delay"),
    ("loss", "access.loss"),
    ("start", "from at"),
    (
        "buffer buffers buf bufsize buffersize bufferbdp queuesize queuelength queuelimit qlen "
        "qlimit qsize maxqueue limit",
        "queue.limit limit",
    ),
    ("size length packets maxlen capacity", "limit"),
    ("size bytes filesize volume", "bytes size traffic.bytes"),
    ("aqm qdisc discipline scheduler", "queue kind"),
    ("type model", "kind"),
    (
        "plr lossrate packetloss packetlossrate losses drop dropprobability p per",
        "loss probability",
    ),
    ("cc cca ccs ccalg ccalgorithm congestioncontrol congestioncontroller tcpcc", "congestion"),
    ("algorithm algo alg tcpvariant variant control protocol flavour flavor", "congestion name"),
    ("time runtime simtime simulationtime testlength length end finish until", "duration stop to"),
    ("duration runtime end finish till", "stop to"),
    ("delay offset begin starttime startat at from when", "start at from"),
    ("time t", "at"),
    ("interval period repeat", "every"),
    ("repeat repeats runs reps trials iterations replications repetition seeds", "repetitions"),
    ("randomseed rng rngseed", "seed"),
    ("n num number nhosts numhosts pairs senders sources nodes flows count", "hosts count"),
    ("hosts n num number flows connections parallel streams instances", "count"),
    ("sampling sampleinterval samplinginterval interval samplingperiod period", "sample"),
    ("trace traces tracing zoom pcap pcapng tcpdump packets dump", "capture"),
    ("network net topo links", "topology"),
    ("senders sources streams connections clients traffic workload", "flows"),
    ("windows metrics measurements intervals phases", "measure"),
    ("sweep sweeps parameters params vary axes grid variants", "matrix"),
    ("warm rampup ramp slowstart transient discard skip", "warmup"),
    ("jitter randomstart", "start_jitter"),
    ("title id label scenario", "name"),
    ("comment desc text about notes", "description"),
    ("application app workload load generator", "traffic"),
    ("host hostgroup src source sender pair", "group"),
    ("link edge accesslink hostlink", "access"),
    ("router bottlenecklink core dumbbell", "bottleneck"),
    ("changes schedule timeline", "events"),
    ("iw initcwnd initialcwnd icwnd", "initial_window"),
    ("rwnd receivewindow maxwindow maxcwnd", "window"),
    ("selectiveacks selectiveack", "sack"),
)
"""Words for keys of a scenario."""

KINDS: Mapping[str, Synonyms] = {
    "topology": _table(
        ("single simple bottleneck basic default line p2p pointtopoint star", "dumbbell"),
        ("chain multihop multibottleneck row", "parking-lot"),
        ("own free", "custom"),
        ("graphml gml zoo topologyzoo backbone isp file", "graph"),
        ("wifi wireless 80211", "wlan"),
        ("leo geo sat", "satellite"),
    ),
    "queue": _table(
        ("fifo pfifo bfifo taildrop tail drop none default queue dt", "droptail"),
        ("adaptivered", "ared"),
    ),
    "traffic": _table(
        (
            "iperf iperf3 ftp tcp greedy elephant long longlived infinite unlimited saturating "
            "backlogged stream netperf",
            "bulk",
        ),
        ("rate udp constant constantrate constantbitrate datagrams voip", "cbr"),
        ("http https browsing page", "web"),
        ("mice short shortflows file files download downloads", "transfers"),
        ("upload", "uploads"),
        ("rr tcprr pingpong", "request-response"),
        ("fanout query queries partitionaggregate scattergather", "rpc"),
        ("icmp echo rtt latency probe", "ping"),
        ("list flowlist csv jobs trace", "schedule"),
        ("pcap capture udpreplay udptrace packets", "replay"),
        ("exponential burst bursty pareto", "onoff"),
    ),
    "loss": _table(
        ("rate random bernoulli uniform iid", "independent"),
        ("burst bursty ge gemodel", "gilbert-elliott"),
    ),
}
"""Words for kinds, by family."""

CONTROLS = _table(
    ("newreno sack tahoe", "reno"),
    ("bbr1 bbrv1", "bbr"),
    ("hstcp highspeedtcp", "highspeed"),
    ("hamilton", "htcp"),
    ("stcp", "scalable"),
    ("fasttcp", "fast"),
    ("yeahtcp", "yeah"),
)
"""Words for congestion controls."""


_left: ContextVar[int | None] = ContextVar("left", default=None)


@contextlib.contextmanager
def at_most(words: int) -> Iterator[None]:
    """Let ``closest`` look for so many words only within the block; for others it finds none.

    A look-up takes up to milliseconds, and a text may have a hundred thousand wrong words.
    """
    token = _left.set(words)
    try:
        yield
    finally:
        _left.reset(token)


def suggest(
    word: str, valid: Iterable[str], synonyms: Synonyms = NONE, cutoff: float = _LIKE
) -> str:
    """Return `` (did you mean `x`?)`` when one of the valid words may be meant, else nothing.

    ``cutoff`` is how like the word a valid one must be, by the ratio of ``difflib``.
    """
    meant = closest(word, valid, synonyms, cutoff)
    return "" if meant is None else did_you_mean([meant])


HINT = re.compile(r" \(did you mean `([^`]+)`\?\)")
"""What ``suggest`` returns, with the word."""


def did_you_mean(words: Sequence[str]) -> str:
    """Return `` (did you mean `x`?)`` for one word, or several; nothing when there are none."""
    if not words:
        return ""
    quoted = [shown(word) for word in words[:MOST_NAMED]]
    rest = " ..." if len(words) > MOST_NAMED else ""
    return f" (did you mean {' or '.join(quoted)}{rest}?)"


def closest(
    word: str, valid: Iterable[str], synonyms: Synonyms = NONE, cutoff: float = _LIKE
) -> str | None:
    """Return the valid word, or the path that begins with one, that may be meant, else None.

    ``cutoff`` is that of ``suggest``.
    """
    left = _left.get()
    if left is not None:
        _left.set(left - 1)
        if left <= 0:
            return None
    names = [name for name in itertools.islice(valid, _MOST_COMPARED) if name != word]
    for form in _forms(word):
        for name in names:
            if _form(name) == form:
                return name
        for synonym in synonyms.get(form, ()):
            if synonym.partition(".")[0] in names:
                return synonym
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(word[:100].casefold(), list(folded), n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def means(word: str, name: str, synonyms: Synonyms = NONE) -> bool:
    """Return whether a word is a valid one, but for spelling, or another tool's word for it."""
    form = _form(word)
    meant = [synonym.rpartition(".")[2] for synonym in synonyms.get(form, ())]
    return word == name or form == _form(name) or name in meant


def _forms(word: str) -> list[str]:
    """Return the forms of a word, first that of the word itself, then that without ``tcp``."""
    form = _form(word[:100])
    shorter = [form.removeprefix("tcp"), form.removesuffix("tcp")]
    return [form, *(each for each in shorter if each and each != form)]


def _form(word: str) -> str:
    """Return the word in lower case without punctuation; a plus sign is a word."""
    return "".join(filter(str.isalnum, word.replace("+", "plus").casefold()))
