"""The OpenAPI document has every address of the API, and the answers are as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from results.comparison import comparison_document
from results.comparison.runs import compare
from results.comparison.variants import compare_variants
from results.contract.base import ResponseModel
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.statistics.drift import PARTS
from results.store.store import Store
from tests.support import api_contract as contract
from tests.support.stores import restore
from web import create_app

TOKEN = "a-token_of.16~or-more"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("openapi") / "runs.db"
    return path, contract.fill(path)


@pytest.fixture
def client(store: tuple[Path, dict[str, str]]) -> FlaskClient:
    return create_app(store[0]).test_client()


def addresses(ids: dict[str, str]) -> Iterator[str]:
    """Yield addresses of every kind of answer."""
    yield from ("/api/openapi.json", "/api/metrics", "/api/runs", "/api/runs?most=2&first=1")
    yield from ("/api/runs?counts=yes&where=seed%3C3&sort=-goodput_bps", "/api/runs?q=nothing")
    yield from ("/api/experiments", "/api/experiments?most=1", "/api/experiments?first=99")
    for label in ("quickstart", "broken", "sweep"):
        yield f"/api/experiments/{label}"
        yield f"/api/experiments/{label}/summary"
    summary = "/api/experiments/quickstart/summary?"
    yield f"{summary}metric=goodput_bps&metric=rtt_mean_s&quantile=0.9&quantile=50%25&drift=no"
    yield f"{summary}entry=reno&by=rate"
    yield "/api/experiments/sweep/summary?metric=goodput_bps&by=limit&where=limit%3C4bdp"
    yield f"/api/compare?run={ids['ok']}&run={ids['off']}&run={ids['failed']}"
    variants = [("variant", json.dumps(one)) for one in contract.SWEEP]
    yield f"/api/compare?{urlencode([('experiment', 'sweep'), ('repetition', 1), *variants])}"
    for run_id in ids.values():
        yield from (f"/api/runs/{run_id}{part}" for part in (
            "", "/tcp", "/queues", "/goodput", "/datagrams", "/transfers", "/provenance", "/logs",
            "/network", "/progress", "/traces", "/stories",
            "/moments", "/moments?kind=full+queue&first=0&most=1",
        ))  # fmt: skip
    run = f"/api/runs/{ids['mixed']}"
    yield f"{run}/tcp?bins=20&fields=rtt_us,congestion_0&flow=fast&endpoint=receiver&from=1&to=9.5"
    yield f"{run}/queues?bins=20&queue=0&queue=access:forward:delay&fields=queue_delay_s"
    yield from (
        f"{run}/goodput?points=10",
        f"{run}/datagrams?from=30",
        f"{run}/transfers?flow=fast",
    )
    trace = f"/api/runs/{ids['traced']}/traces/1"
    yield from (f"{trace}/{picture}" for picture in ("sequence", "queue?points=10", "acks?to=1"))
    yield from (f"{trace}/tables/{table}?most=2" for table in ("ends", "acks", "links", "x"))
    yield from (f"{trace}/queue?link=x", f"/api/runs/{ids['traced']}/traces/2/acks")
    yield f"/api/diff?run={ids['traced']}&run={ids['taken']}"
    yield f"/api/diff?run={ids['ok']}&run={ids['failed']}"
    yield "/api/papers"
    yield from (f"/api/papers/{name}" for name in ("libra", "logwestwood", "tibet", "westwoodplus"))
    yield from ("/api/papers/tibet/T2", "/api/papers/tibet/T2.1", "/api/papers/libra/B1")
    yield from ("/api/papers/none", "/api/papers/tibet/T99", "/api/experiments/none", "/api/runs/-")
    yield from ("/api/compare", "/api/compare?run=-&run=last", "/api/runs?x=1", f"{run}/tcp?to=nan")


def test_every_address_of_the_api_is_in_the_document(client: FlaskClient) -> None:
    found = contract.document(client)
    assert found["openapi"] == "3.1.0"
    assert set(found["paths"]) == set(contract.templates(client.application).values())
    for path, item in found["paths"].items():
        assert list(item) == ["get"], path
        named = {one["name"] for one in item["get"].get("parameters", ()) if one["in"] == "path"}
        assert named == {part.partition("}")[0] for part in path.split("{")[1:]}
        assert {"200", "400", "401", "404", "503"} == set(item["get"]["responses"])


def test_parameters_have_limits_defaults_and_words(client: FlaskClient) -> None:
    paths = contract.document(client)["paths"]
    for path, item in paths.items():
        assert item["get"]["summary"].endswith("."), path
        for one in item["get"].get("parameters", ()):
            assert one["description"], (path, one["name"])
    tcp = {
        parameter["name"]: parameter
        for parameter in paths["/api/runs/{run_id}/tcp"]["get"]["parameters"]
    }
    assert list(tcp) == [
        "run_id", "flow", "endpoint", "fields", "from", "to", "points", "bins"
    ]  # fmt: skip
    points = tcp["points"]["schema"]
    assert (points["minimum"], points["default"], points["maximum"]) == (10, 1000, 20_000)
    assert tcp["fields"]["schema"]["default"] == "snd_cwnd_segments,snd_ssthresh_segments,rtt_us"
    assert tcp["endpoint"]["schema"]["enum"] == ["sender", "receiver"]
    assert "seconds" in tcp["from"]["description"]


@pytest.mark.slow
def test_answers_are_as_the_document_says_and_have_no_more(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    found = contract.Contract(client)
    answered: set[str] = set()
    for url in addresses(store[1]):
        answer = client.get(url)
        assert not found.faults(url, answer.status_code, json.loads(answer.text)), url
        if answer.status_code == 200:
            answered.add(contract.endpoint_of(client.application, url))
    assert answered == set(contract.templates(client.application))


@pytest.mark.slow
def test_answers_of_runs_of_a_real_guest_are_as_the_document_says(tmp_path: Path) -> None:
    db = restore(tmp_path / "runs.db")
    client = create_app(db).test_client()
    found = contract.Contract(client)
    with Store.open_read_only(db) as store:
        ids = [row.id for row in store.list_runs()]
        names = sorted({row.experiment for row in store.list_runs()})
    parts = ("", "/tcp", "/queues?bins=10", "/goodput", "/datagrams", "/transfers", "/provenance",
             "/logs", "/network", "/progress")  # fmt: skip
    urls = [f"/api/runs/{run_id}{part}" for run_id in ids for part in parts]
    urls += [f"/api/experiments/{name}{part}" for name in names for part in ("", "/summary")]
    for url in ["/api/runs", "/api/runs?counts=yes", "/api/experiments?most=9", *urls]:
        answer = client.get(url)
        assert answer.status_code == 200, (url, answer.text)
        assert not found.faults(url, 200, json.loads(answer.text)), url


def test_a_wrong_answer_is_noticed(client: FlaskClient) -> None:
    found, url = contract.Contract(client), "/api/experiments"
    right: dict[str, Any] = json.loads(client.get(url).text)
    assert not found.faults(url, 200, right)
    changes: list[dict[str, Any]] = [
        {"more": 1}, {"schema": 2}, {"experiments": [{}]}, {"experiments": None}
    ]  # fmt: skip
    for wrong in changes:
        assert found.faults(url, 200, {**right, **wrong})
    assert found.faults(url, 418, right)


@pytest.mark.slow
def test_the_document_is_that_of_the_commands(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    path, ids = store
    with Store.open_read_only(path) as opened:
        study, _others = find(opened, "sweep")
        summary = document(summarise(opened, study, ValueSelection(parts=PARTS)))
        assert summary["differences"]
        assert summary["crossings"]
        runs = [opened.load(ids["ok"]), opened.load(ids["off"])]
        variants = compare_variants(opened, [run.row for run in runs])
        assert variants is None  # each has a single run
        compared = comparison_document.document(compare(runs), variants)
    url = f"/api/experiments/{study.label}/summary"
    assert json.loads(client.get(url).text) == json.loads(json.dumps(summary))
    url = f"/api/compare?run={ids['ok']}&run={ids['off']}"
    assert json.loads(client.get(url).text) == json.loads(json.dumps(compared))


def test_experiments_come_in_pages(client: FlaskClient) -> None:
    whole = client.get("/api/experiments").get_json()
    assert set(whole) == {"schema", "experiments"}
    collected = []
    for first in range(len(whole["experiments"]) + 1):
        page = client.get(f"/api/experiments?first={first}&most=1").get_json()
        assert (page["first"], page["total"]) == (first, len(whole["experiments"]))
        collected += page["experiments"]
    assert sorted(one["identity"] for one in collected) == sorted(
        experiment["identity"] for experiment in whole["experiments"]
    )
    newest = [one["newest_utc"] for one in collected]
    assert newest == sorted(newest, reverse=True)
    for one in collected:
        found = client.get(f"/api/experiments/{one['label']}").get_json()
        assert {key: found[key] for key in one} == one
        assert sum(cell is not None for line in found["grid"]["lines"] for cell in line)


def test_a_run_in_progress_has_its_state(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    running = client.get(f"/api/runs/{store[1]['running']}/progress").get_json()
    assert (running["status"], running["state"]) == ("running", contract.STATE.document())
    assert client.get(f"/api/runs/{store[1]['ok']}/progress").get_json()["state"] is None


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("runs?first=" + "9" * 400, "first"),
        ("runs?first=-1", "from 0 to 999999999"),
        ("runs?most=1e3", "from 1 to 1000"),
        ("runs?most=NaN", "from 1 to 1000"),
        ("runs?most=1&most=2", "most is given 2 times; give it once"),
        ("runs?counts=maybe", "yes, no"),
        ("runs?" + "&".join(["where=seed%3D1"] * 21), "at most 20 conditions"),
        ("runs?where=" + "(" * 5000, "where"),
        ("runs?" + "x" * 3000 + "=1", "there are where, q, status, sort, first, most"),
        ("runs/last/tcp?" + "&".join(["flow=0"] * 1001), "at most 1000 flows"),
        ("runs/last/tcp?from=inf", "from=12.5"),
        ("runs/last/tcp?from=1_0", "from=12.5"),
        ("runs/last/tcp?to=-1e999", "to=12.5"),
        ("runs/last/tcp?from=1&from=2", "from is given 2 times"),
        ("runs/last/queues?points=\u0663\u0660", "from 10 to 20000"),
        ("runs/last/network?x=1", "no parameter x"),
        ("experiments?most=201", "from 1 to 200"),
        ("experiments/quickstart/summary?quantile=1", "less than 100%"),
        ("experiments/quickstart/summary?quantile=nan", "probability"),
        ("experiments/quickstart/summary?metric=nothing", "goodput_bps"),
        ("experiments/quickstart/summary?" + "metric=jain_index&" * 21, "at most 20 metrics"),
        ("experiments/quickstart/summary?by=nothing", "axis"),
        ("compare?run=last", "two runs"),
        ("compare?" + "&".join(["run=last"] * 13), "at most 12 runs"),
        ("diff?run=last", "name two runs that are not the same, not 1"),
        ("diff?" + "&".join(["run=last"] * 3), "at most 2 runs"),
        ("papers?first=1", "no parameter first"),
    ],
)  # fmt: skip
def test_absurd_parameters_are_clear_errors(client: FlaskClient, wrong: str, hint: str) -> None:
    answer = client.get(f"/api/{wrong}")
    assert answer.status_code == 400, answer.text
    assert hint in answer.get_json()["error"]["message"]


def test_a_forged_host_gets_no_document(client: FlaskClient) -> None:
    for url in ("/api/openapi.json", "/api/runs"):
        answer = client.get(url, headers={"Host": "evil.example"})
        assert answer.status_code == 400
        assert "not a name of this dashboard" in answer.get_json()["error"]["message"]


@pytest.mark.slow
def test_the_document_says_whether_it_needs_the_token(store: tuple[Path, dict[str, str]]) -> None:
    client = create_app(store[0], TOKEN).test_client()
    refused = client.get("/api/openapi.json")
    assert refused.status_code == 401
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    found, contracted = contract.document(client), contract.Contract(client)
    assert found["security"] == [{"token": []}]
    assert found["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert not contracted.faults("/api/openapi.json", 401, json.loads(refused.text))
    assert "security" not in contract.document(create_app(store[0]).test_client())


def test_each_address_needs_the_token(store: tuple[Path, dict[str, str]]) -> None:
    client = create_app(store[0], TOKEN).test_client()
    for url in addresses(store[1]):
        assert client.get(url).status_code == 401, url
        assert client.get(url, headers={"Authorization": "Bearer x"}).status_code == 401, url


def test_there_is_no_page_that_draws_the_document(client: FlaskClient) -> None:
    for url in ("/openapi", "/openapi/", "/openapi/swagger", "/openapi/openapi.json", "/api/"):
        assert client.get(url).status_code == 404


def test_no_two_answers_share_a_name(client: FlaskClient) -> None:
    # The document keeps schemas by the names of their models.
    names = contract.document(client)["components"]["schemas"]
    every: list[type[ResponseModel]] = [ResponseModel]
    for model in every:
        every += model.__subclasses__()
    own = ("web.", "results.")
    found = [one.__name__ for one in dict.fromkeys(every) if one.__module__.startswith(own)]
    assert len(found) == len(set(found))
    assert set(names) <= set(found)


@pytest.mark.slow
def test_neither_commands_nor_the_start_of_the_dashboard_make_the_document() -> None:
    code = (
        "import sys; from pathlib import Path; import orchestrator.cli; "
        "assert 'web' not in sys.modules; "
        "import web; web.create_app(Path('none.db')); "
        "assert 'web.api.openapi' in sys.modules; "
        "assert 'web.api.document' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
