"""The comparison of runs and of variants is that of ``orchestrator compare``."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from results.store.store import Store
from tests.support import experiments
from tests.support.run import orchestrator
from web import create_app

LIMIT = "topology.bottleneck.queue.limit"
VARIANTS: list[dict[str, Any]] = [{LIMIT: f"{limit}bdp"} for limit in (1, 4, 8)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A sweep of three variants with five repetitions each; the last variant is unfaithful."""
    path = tmp_path_factory.mktemp("web") / "runs.db"
    draw = random.Random(5)

    def goodput(variant: Mapping[str, Any], _repetition: int) -> dict[str, float]:
        share = 0.8 - 0.1 * float(variant[LIMIT][:-3]) + draw.gauss(0, 0.01)
        return {"bbr": 1e7 * share, "cubic": 1e7 * (1 - share)}

    with Store(path) as store:
        ids = experiments.make(store, goodput, VARIANTS[:2], 5, name="sweep")
        ids += experiments.make(store, goodput, VARIANTS[2:], 1, name="sweep", verdict="unfaithful")
    return path, ids


@pytest.fixture
def client(stored: tuple[Path, list[str]]) -> FlaskClient:
    return create_app(stored[0]).test_client()


def of_variants(*variants: Mapping[str, Any], **more: object) -> str:
    chosen = [("variant", json.dumps(variant)) for variant in variants]
    return "/compare?" + urlencode([("experiment", "sweep"), *chosen, *more.items()])


def command(text: str) -> list[str]:
    (found,) = re.findall(r">(orchestrator compare [^<]*)<", text)
    return shlex.split(html.unescape(found))[1:]


def means(text: str) -> list[list[float | None]]:
    body = text.partition('<table id="means">')[2].partition("</table>")[0]
    rows = body.partition("<tbody>")[2].split("<tr>")[1:]
    found = [
        [float(one) if one else None for one in re.findall(r'<data value="([^"]*)">', row)]
        for row in rows
    ]
    return [row for row in found if row]


@pytest.mark.slow
def test_variants_have_the_numbers_of_the_command(
    client: FlaskClient, stored: tuple[Path, list[str]]
) -> None:
    text = client.get(of_variants(*VARIANTS[:2])).text
    assert "<h1>2 variants compared</h1>" in text
    words = command(text)
    assert sorted(words[1:-2]) == sorted(stored[1][:10])
    document = json.loads(orchestrator(*words, "--json").stdout)["variants"]
    expected = [
        [
            each[end]
            for each, family in (
                (*((mean, "") for mean in line["means"]), (line["differences"][1], "_family"))
            )
            if each
            for end in ("mean", f"low{family}", f"high{family}")
        ]
        for line in document["values"]
        if any(line["differences"])
    ]
    assert means(text) == expected
    assert len(expected) > 6
    printed = orchestrator(*words).stdout
    assert "limit=4bdp - limit=1bdp [interval]" in printed
    assert re.search(r"\nbbr +goodput_bps +Mbit/s +[67]\.\d+ ± 0\.\d+ +[34]\.\d+ ± ", printed), (
        printed
    )


def test_runs_of_two_variants_have_means_too(
    client: FlaskClient, stored: tuple[Path, list[str]]
) -> None:
    ids = stored[1]
    chosen = [*ids[:2], *ids[5:7]]
    text = client.get("/compare?" + "&".join(f"run={one}" for one in chosen)).text
    assert "<h1>4 runs compared</h1>" in text
    assert '<table id="means">' in text
    assert "limit=1bdp, repetition 0" in text.replace("<wbr>", "")
    text = client.get(f"/compare?run={ids[0]}&run={ids[5]}").text
    assert '<table id="means">' not in text


def test_charts_get_the_runs_with_their_labels(
    client: FlaskClient, stored: tuple[Path, list[str]]
) -> None:
    text = client.get(of_variants(*VARIANTS[:2], repetition=3)).text
    (found,) = re.findall(r'data-runs="([^"]*)"', text)
    runs = json.loads(html.unescape(found))
    assert [run["label"] for run in runs] == ["limit=1bdp", "limit=4bdp"]
    assert [run["api"] for run in runs] == [f"/api/runs/{stored[1][at]}" for at in (3, 8)]
    assert [[flow["name"] for flow in run["flows"]] for run in runs] == [["bbr", "cubic"]] * 2
    assert "<option selected>3</option>" in text


def test_counters_are_no_provenance(client: FlaskClient, tmp_path: Path) -> None:
    from dataclasses import replace

    from tests.support.recordings import head, whole

    path = tmp_path / "runs.db"
    ids = []
    with Store(path) as store:
        for number in (1, 2):
            made = replace(whole(), provenance={
                "counters": {"hosts": [["s"], ["d"]], "names": ["Ip:InReceives", f"Ip:N{number}"]},
                "sysctls": {"net.ipv4.tcp_sack": number},
                "interfaces": {"end": {"w0": {"rx_packets": number, "offloads": {"tso": False}}}},
                "cost": {"waited_s": number}, "origin_ns": number,
                "events": [{"time_s": 1.0, "applied_s": 1.0 + number}],
            })  # fmt: skip
            ids.append(store.begin(head(seed=number)))
            store.finish(ids[-1], made, 1.0)
    text = create_app(path).test_client().get(f"/compare?run={ids[0]}&run={ids[1]}").text
    assert "net.<wbr>ipv4.<wbr>tcp_sack" in text
    assert not [word for word in ("rx_packets", "waited_s", "origin_ns", "applied_s")
                if word in text]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        (of_variants(VARIANTS[0]), 400, "choose 2 to 8 variants, not 1"),
        (of_variants(VARIANTS[0], {LIMIT: "7bdp"}), 404, "has no variant"),
        (of_variants(VARIANTS[0], VARIANTS[2]), 400, "has no faithful run"),
        (of_variants(*VARIANTS[:2], repetition=9), 400, "repetition=9"),
        (of_variants(*VARIANTS[:2], run="last"), 400, "not both"),
        ("/compare?variant=%7B%7D", 400, "give the experiment, too"),
        ("/compare?experiment=sweep&variant=%7B&variant=1", 400, "is no JSON object"),
        ("/compare?experiment=nothing&variant=1&variant=2", 404, "there is no experiment"),
        ("/compare?experiment=sweep&variant=" + "%5B" * 90_000, 400, "variant"),
    ],
    ids=str,
)
def test_wrong_addresses_are_refused(
    client: FlaskClient, address: str, status: int, message: str
) -> None:
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    assert message in answer.text


def test_the_page_of_an_experiment_offers_its_variants(client: FlaskClient) -> None:
    text = client.get("/experiments/sweep", follow_redirects=True).text
    boxes = re.findall(r'name="variant" value="([^"]*)"', text)
    assert [json.loads(html.unescape(one)) for one in boxes] == VARIANTS
    assert '<form method="get" action="/compare">' in text
