"""Compares answers of the API with its OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
from flask import Flask
from flask.testing import FlaskClient

from results.store import live
from results.store.live import LiveFlow, LiveQueue, LiveRun
from results.store.store import Store
from tests.support import experiments
from tests.support.trace_rows import taken, told, traced_run
from tests.web import mixed, synthetic

Document = dict[str, Any]

LIMIT = "topology.bottleneck.queue.limit"
SWEEP: list[dict[str, Any]] = [{LIMIT: f"{limit}bdp"} for limit in (1, 2, 4)]
STATE = LiveRun(
    phase="traffic", simulated_s=1.0, duration_s=60.0, wall_s=0.5, speed=None,
    left_s=None, problem="", time_s=[0.2, 0.4],
    flows=[LiveFlow("a", 0.1, cwnd_segments=[10, None], rtt_ms=[None, 100.5],
                    goodput_bps=[None, 1e6])],
    queues=[LiveQueue("bottleneck:forward:queue", backlog_packets=[0, 3])],
)  # fmt: skip
"""What is known of the run in progress."""


def fill(path: Path) -> dict[str, str]:
    """Make a store with runs of each kind and a sweep; return the ids of the former by kind."""
    with Store(path) as store:
        experiments.make(
            store,
            lambda variant, repetition: {
                "bbr": 1e6 * (9 - 2 * float(variant[LIMIT][:-3])) + 1000 * repetition,
                "cubic": 4.5e6 - 2000 * repetition,
            },
            SWEEP, 3, name="sweep",
        )  # fmt: skip
    ids = synthetic.fill(path) | {"mixed": mixed.fill(path)}
    with Store(path) as store:
        ids["traced"] = traced_run(store, told(), experiment="traced", experiment_sha256="e7")
        ids["taken"] = traced_run(store, taken(), experiment="traced", experiment_sha256="e7",
                                  digest="d2", seed=2)  # fmt: skip
    live.write(path, ids["running"], STATE)
    return ids


def document(client: FlaskClient) -> Document:
    """Return the document as a client gets it."""
    answer = client.get("/api/openapi.json")
    assert answer.status_code == 200
    found: Document = json.loads(answer.text)
    return found


def templates(app: Flask) -> dict[str, str]:
    """Return the path in the document of each address below /api/, by its endpoint."""
    found = {}
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api/"):
            parts = [part.rpartition(":")[2] for part in rule.rule.replace(">", "}").split("<")]
            found[rule.endpoint] = "{".join([rule.rule.partition("<")[0], *parts[1:]])
    return found


def endpoint_of(app: Flask, url: str) -> str:
    """Return the endpoint that answers an address."""
    endpoint, _values = app.url_map.bind("localhost").match(url.partition("?")[0])
    return str(endpoint)


class Contract:
    """The document of an application, in which no object has keys that are not named."""

    def __init__(self, client: FlaskClient) -> None:
        self._app = client.application
        self._document = document(client)
        self._validators: dict[tuple[str, int], jsonschema_rs.Draft202012Validator] = {}
        for schema in self._document["components"]["schemas"].values():
            if "properties" in schema:
                schema.setdefault("additionalProperties", False)

    def faults(self, url: str, status: int, body: Any) -> list[str]:
        """Return what of an answer is not as the document says."""
        path = templates(self._app)[endpoint_of(self._app, url)]
        answers = self._document["paths"][path]["get"]["responses"]
        if str(status) not in answers:
            return [f"status {status} is none of {', '.join(answers)}"]
        if (path, status) not in self._validators:
            schema = answers[str(status)]["content"]["application/json"]["schema"]
            whole = {**schema, "components": self._document["components"]}
            self._validators[path, status] = jsonschema_rs.Draft202012Validator(whole)
        errors = self._validators[path, status].iter_errors(body)
        return [f"{list(error.instance_path)}: {error.message}" for error in errors]
