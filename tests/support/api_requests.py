"""Asks the API at random, as its OpenAPI document allows it and as it does not, by Schemathesis."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from flask import Flask
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished

from tests.support import api_contract as contract

EXCLUDED = ["positive_data_acceptance"]
"""Checks that are wrong here: whether there is a flow, a metric or a field depends on the run."""

Known = Mapping[str, Sequence[Any]]
"""Values that are there by the name of a parameter; those of a repeatable one are lists."""


@dataclass
class Asked:
    """What was found wrong, and the numbers of answers by status of each address."""

    faults: list[str] = field(default_factory=list)
    answers: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


def known_of(ids: Mapping[str, str]) -> Known:
    """Return values that are there in the store of ``contract.fill``, by the ids of its runs."""
    variants = [json.dumps(one) for one in contract.SWEEP]
    return {
        "run_id": [*ids.values(), "last"],
        "number": [1, 2],
        "table": ["acks", "links", "x"],
        "link": ["bottleneck", "bottleneck:forward", "x"],
        "kind": [["full queue"], []],
        "trace": [1],
        "label": ["sweep", "quickstart", "broken"],
        "paper": ["tibet", "libra"],
        "claim": ["T2", "B1"],
        "where": [["seed<3"], ["limit=1bdp"], ["status=ok", "repetition>=0"], []],
        "sort": ["-goodput_bps", "id", ""],
        "q": ["reno", "sweep", ""],
        "flow": [["westwood"], ["0", "1"], ["call"], []],
        "queue": [["0"], []],
        "fields": ["rtt_us", "drops", "time_ns", "queue_delay_s", "congestion_0,rtt_us"],
        "metric": [["goodput_bps"], ["rtt_mean_s", "jain_index"], []],
        "by": [["limit"], ["rate"], []],
        "entry": [["bbr"], ["reno"], []],
        "quantile": [["50%"], []],
        "window": ["", "quiet"],
        "run": [[ids["ok"], ids["off"]], [ids["mixed"], ids["failed"], "last"], []],
        "experiment": ["sweep"],
        "variant": [variants[:2], variants],
        "repetition": [0, 1],
    }


def ask(app: Flask, seed: int, examples: int, known: Known, coverage: bool = True) -> Asked:
    """Ask each address for so many random examples; some of their values are known ones.

    Args:
        app: the dashboard, without a token.
        seed: equal seeds ask for the same.
        examples: random requests of each address.
        known: values that are there.
        coverage: also ask for the limits of each parameter, and for values just beyond.
    """
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "generation": {"deterministic": True, "max-examples": examples},
            "checks": {name: {"enabled": False} for name in EXCLUDED},
            "phases": {"coverage": {"enabled": coverage}},
        }
    )
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app, config=config)

    @schema.hook
    def before_generate_path_parameters(
        context: Any, strategy: st.SearchStrategy[Any]
    ) -> st.SearchStrategy[Any]:
        names = [parameter.name for parameter in context.operation.path_parameters]
        return (
            st.fixed_dictionaries({name: st.sampled_from(known[name]) for name in names}) | strategy
        )

    @schema.hook
    def map_case(context: Any, case: Any) -> Any:
        if case.meta.generation.mode.is_positive:
            _use(known, case)
        return case

    found = Asked()
    for event in from_schema(schema).execute():
        if isinstance(event, ScenarioFinished):
            _take(event.recorder, found)
        elif isinstance(event, FatalError | NonFatalError):
            found.faults.append(str(event))
    return found


def _use(known: Known, case: Any) -> None:
    """Put known values in place of some of a query's; equal queries stay equal."""
    draw = random.Random(str(case.query))
    for name in sorted(set(case.query or ()) & set(known)):
        if draw.random() < 0.5:
            case.query[name] = draw.choice(known[name])


def _take(recorder: Any, found: Asked) -> None:
    for name, one in recorder.interactions.items():
        if one.response is not None:
            label = recorder.cases[name].value.operation.label
            found.answers[label][one.response.status_code] += 1
    for name, checks in recorder.checks.items():
        case = recorder.cases[name].value
        for check in checks:
            if check.failure_info is not None:
                told = " ".join(str(check.failure_info.failure).split())
                found.faults.append(f"{check.name}: {case.as_curl_command()}: {told}")
