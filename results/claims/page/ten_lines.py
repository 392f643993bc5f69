"""What the forty claims say together, in ten lines, each with the statements that are its evidence.

A test holds each line against the verdicts on its statements, so a line that new runs contradict is
found. The lines have no numbers, which the pages of the papers have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from results.claims.page.parts import wrapped

Outcome = Literal["survives", "does not", "rested on the simulator"]

HEADINGS: dict[Outcome, str] = {
    "survives": "What survives twenty years and another stack",
    "does not": "What does not",
    "rested on the simulator": "What rested on the simulator, as ablations show",
}


@dataclass(frozen=True)
class LessonLine:
    """A line, and the ids of its statements.

    All of them hold or mostly hold where it ``survives``, and none where it ``does not``. Where it
    ``rested on the simulator``, each has an ablation.
    """

    outcome: Outcome
    says: str
    statements: tuple[str, ...]


TEN_LINES = (
    LessonLine(
        "survives",
        "An estimate that weighs each sample by its time finds a flow's fair share. Westwood's "
        "filter of ACKs is far above it.",
        ("T5.1", "T6.1", "W1.1", "W1.3"),
    ),
    LessonLine(
        "survives",
        "ACKs that the way back bunches do not mislead TIBET's estimate.",
        ("T3.2", "T3.3"),
    ),
    LessonLine(
        "survives",
        "Where losses are random, TIBET and Westwood+ get more than Reno and NewReno.",
        ("T12.1", "T13.1", "T17.1", "W7.1"),
    ),
    LessonLine(
        "survives",
        "Vegas loses to reverse traffic, and starves beside Westwood+.",
        ("W3.9", "W5.6"),
    ),
    LessonLine(
        "survives",
        "NewReno keeps most beside Westwood+ and least beside BIC. LogWestwood+ and BIC take more "
        "than either over several bottlenecks.",
        ("L8.1", "L6.1", "L6.2"),
    ),
    LessonLine(
        "survives",
        "Libra is fair to flows of short and long RTTs over many hops.",
        ("B4.6", "B4.8"),
    ),
    LessonLine(
        "does not",
        "Over a lossy last hop beside other traffic, Westwood+ has twice as much without delayed "
        "ACKs. Its uploads over long paths gain.",
        ("W6.8", "W8.1"),
    ),
    LessonLine(
        "does not",
        "TIBET's estimate is steady at the fair share, and its least RTT that of the path.",
        ("T6.2", "T9.1"),
    ),
    LessonLine(
        "rested on the simulator",
        "Times of recovery and of short transfers, and NewReno's threshold before a lossy hop, "
        "depend on how ACKs are counted, on the least timeout and on the initial window.",
        ("L1.1", "T16.1", "W6.7"),
    ),
    LessonLine(
        "rested on the simulator",
        "What a short queue and rare losses cost depends on how lost retransmissions are found.",
        ("L2.1", "L2.8", "L3.4"),
    ),
)


def markdown(address: dict[str, str]) -> Iterator[str]:
    """Yield the lines as lists; ``address`` has that of the claim of each statement."""
    for outcome, heading in HEADINGS.items():
        yield f"**{heading}**"
        yield ""
        for lesson in TEN_LINES:
            if lesson.outcome == outcome:
                ids = " ".join(f"[{id_}]({address[id_]})" for id_ in lesson.statements)
                yield from wrapped(f"- {lesson.says} {ids}")
        yield ""
