"""The pages of experiments show what the commands print."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from results.experiment.left_out import LeftOut
from results.experiment.model import Summary, SummaryRow
from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.support import experiments
from tests.support.experiments import metric
from tests.support.recordings import head
from tests.support.run import orchestrator
from web import create_app
from web.charts import plot
from web.charts.scales import Unit, over

LIMIT, RATE = "topology.bottleneck.queue.limit", "topology.bottleneck.rate"
QUESTION = "Who wins, <bbr> or cubic?"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep in which bbr wins below 3 BDP and cubic above, and two other experiments."""
    path = tmp_path_factory.mktemp("web") / "runs.db"
    draw = random.Random(3)

    def goodput(variant: Any, _repetition: int) -> dict[str, float]:
        limit, rate = float(variant[LIMIT][:-3]), float(variant[RATE][:-4]) * 1e6
        share = 0.8 - 0.1 * limit + draw.gauss(0, 0.01)
        return {"bbr": rate * share, "cubic": rate * (1 - share)}

    variants = [{LIMIT: f"{limit}bdp", RATE: rate} for rate in ("10mbit", "50mbit")
                for limit in (0.5, 1, 2, 4)]  # fmt: skip
    with Store(path) as store:
        ids = experiments.make(store, goodput, variants, 3, name="sweep", description=QUESTION)
        experiments.make(
            store, goodput, variants[:1], 1, name="sweep", verdict="unfaithful",
            description=QUESTION,
        )  # fmt: skip
        experiments.make(store, lambda _v, _r: {"a": 1e6}, repetitions=1, name="single",
                         verdict="doubtful")  # fmt: skip
        store.fail(store.begin(head(experiment="broken")), "no")
        store.begin(head(experiment="going"))
        housekeeping.add_tag(store, ids[:1], "paper")
    return path


@pytest.fixture
def client(db: Path) -> FlaskClient:
    return create_app(db).test_client()


def label(db: Path, name: str = "sweep") -> str:
    listed = json.loads(orchestrator("experiments", "--json", "--db", str(db)).stdout)
    (found,) = [experiment for experiment in listed["experiments"] if experiment["name"] == name]
    return f"{name}@{found['identity'][:8]}"


def summary(db: Path, *words: str) -> dict[str, Any]:
    done = orchestrator("summary", "sweep", "--json", "--db", str(db), *words)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def numbers(text: str, table: str) -> list[list[float | None]]:
    """Return the values of each row of a table of the page."""
    body = text.partition(f'<table id="{table}">')[2].partition("</table>")[0]
    rows = body.partition("<tbody>")[2].split("<tr>")[1:]
    return [
        [float(value) if value else None for value in re.findall(r'<data value="([^"]*)"', row)]
        for row in rows
    ]


def test_home_lists_experiments_with_the_newest_first(client: FlaskClient, db: Path) -> None:
    text = client.get("/").text
    names = [name.partition("@")[0] for name in re.findall(r'href="/experiments/([^"]+)"', text)]
    assert names == ["going", "broken", "single", "sweep"]
    assert "4 experiments, that with the newest run first" in text
    assert "Who wins, &lt;bbr&gt; or cubic?" in text
    assert "8 variants × 3 repetitions: 24 faithful, 1 unfaithful" in text
    assert "1 variant × 1 repetition: 1 doubtful" in text
    assert "1 variant × 1 repetition: 1 running" in text
    assert "1 variant × 1 repetition: 1 failed" in text
    assert '<span class="mark" title="tag">paper</span>' in text
    assert f'href="/experiments/{label(db)}"' in text


def test_grid_has_a_cell_for_each_repetition(client: FlaskClient) -> None:
    grid = client.get("/").text.rpartition('<svg class="grid" role="img"')[2].partition("</svg>")[0]
    cells = re.findall(r'class="cell (\w+)"', grid)
    assert (len(cells), cells.count("faithful"), cells.count("unfaithful")) == (24, 23, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", ["--metric", "goodput_bps"]),
        ("metric=jain_index", ["--metric", "jain_index"]),
        ("metric=rtt_mean_s&where=limit<2bdp", ["--metric", "rtt_mean_s", "--where", "limit<2bdp"]),
        ("by=limit&where=rate=10mbit", ["--metric", "goodput_bps", "--by", "limit", "--where",
                                        "rate=10mbit"]),
        ("entry=bbr&x=rate", ["--metric", "goodput_bps", "--flow", "bbr"]),
    ],
)  # fmt: skip
def test_every_number_is_that_of_the_summary(
    client: FlaskClient, db: Path, query: str, words: list[str]
) -> None:
    document = summary(db, *words)
    metric = words[1]
    text = client.get(f"/experiments/{label(db)}?{query}").text
    means = [row["metrics"][metric] for row in document["rows"] if metric in row["metrics"]]
    assert numbers(text, "means") == [[mean["mean"], mean["low"], mean["high"]] for mean in means]
    keys = ("mean", "low_family", "high_family", "p_family", "effect")
    expected = [[difference[key] for key in keys] for difference in document["differences"]]
    assert numbers(text, "differences") == expected
    expected = [[one["mean"], one["low"], one["high"]] for one in document["crossings"]]
    assert numbers(text, "crossings") == expected
    assert means


def test_api_has_the_document_of_the_command(client: FlaskClient, db: Path) -> None:
    done = orchestrator("experiments", "--json", "--db", str(db))
    assert client.get("/api/experiments").get_json() == json.loads(done.stdout)


@pytest.mark.slow
def test_table_files_are_those_of_the_command(client: FlaskClient, db: Path) -> None:
    base = f"/experiments/{label(db)}"
    assert client.get(f"{base}/summary.json?by=rate").get_json() == summary(
        db, "--metric", "goodput_bps", "--by", "rate"
    )
    done = orchestrator("summary", "sweep", "--metric", "goodput_bps", "--csv", "--db", str(db))
    answer = client.get(f"{base}/summary.csv")
    assert answer.text == done.stdout
    assert answer.headers["Content-Disposition"] == ("attachment; filename=sweep-goodput_bps.csv")


def figures(client: FlaskClient, page: str, query: str, file: Path) -> tuple[bytes, bytes]:
    """Return the figure of a page, and that of the command that the page shows."""
    (command,) = re.findall(r">(orchestrator plot [^<]*)<", client.get(f"{page}?{query}").text)
    words = shlex.split(html.unescape(command))
    done = orchestrator(*words[1:-1], str(file))
    assert done.exit_code == 0, done.output
    shown = client.get(f"{page}/figure.{file.suffix[1:]}?{query}")
    assert shown.status_code == 200, shown.text
    return shown.data, file.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_figures_are_those_of_the_command_to_the_byte(
    client: FlaskClient, db: Path, tmp_path: Path, form: str
) -> None:
    query = "y_scale=log&where=rate=50mbit&x_scale=linear"
    page = f"/experiments/{label(db)}"
    shown, made = figures(client, page, query, tmp_path / f"figure.{form}")
    assert shown == made


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "colour=rate&each=yes&zero=no&drift=no",
        "x=rate&facet=limit&each=yes",
        "facet=rate&where=limit>0.5bdp&where=limit<4bdp or rate=10mbit&entry=bbr&drift=no",
    ],
)
def test_every_choice_of_the_page_is_in_its_command(
    client: FlaskClient, db: Path, tmp_path: Path, query: str
) -> None:
    page = f"/experiments/{label(db)}"
    shown, made = figures(client, page, query, tmp_path / "figure.svg")
    assert shown == made
    plain, _made = figures(client, page, "", tmp_path / "plain.svg")
    assert shown != plain


@pytest.mark.slow
def test_without_an_axis_the_figure_has_bars(client: FlaskClient, db: Path, tmp_path: Path) -> None:
    page = f"/experiments/{label(db, 'single')}"
    shown, made = figures(client, page, "y_scale=log", tmp_path / "figure.svg")
    assert shown == made


def test_panels_and_figures_have_the_same_lines(client: FlaskClient, db: Path) -> None:
    text = client.get(f"/experiments/{label(db)}?facet=rate&where=limit<4bdp").text
    drawn = text.partition('<div class="panels several">')[2].partition("</section>")[0]
    assert drawn.count('<figure class="chart">') == 2
    assert drawn.count("<polyline") == 4
    assert drawn.count('<g class="point">') == 2 * 2 * 3
    (command,) = re.findall(r">(orchestrator plot [^<]*)<", text)
    assert "--panels-by rate --width ieee-wide" in command


@pytest.mark.slow
def test_doubtful_runs_are_marked_in_plot_and_table(client: FlaskClient, db: Path) -> None:
    text = client.get(f"/experiments/{label(db, 'single')}").text
    assert '<b class="sign">?</b> has doubtful runs' in text
    assert text.count('<text class="sign across"') == 1
    assert "? 1 doubtful</span>" in text
    assert "has doubtful runs" not in client.get(f"/experiments/{label(db)}").text


@pytest.mark.slow
def test_the_shown_command_makes_the_page_again(client: FlaskClient, db: Path) -> None:
    text = client.get(f"/experiments/{label(db)}?metric=rtt_mean_s&by=rate&entry=bbr").text
    (command,) = re.findall(r">(orchestrator summary [^<]*)<", text)
    done = orchestrator(*shlex.split(command)[1:], "--json")
    assert json.loads(done.stdout) == summary(
        db, "--metric", "rtt_mean_s", "--by", "rate", "--flow", "bbr"
    )


@pytest.mark.slow
def test_page_says_who_is_ahead_at_1_bdp(client: FlaskClient, db: Path) -> None:
    text = client.get(f"/experiments/{label(db)}").text
    rows = text.partition('<table id="differences">')[2].partition("</table>")[0].split("<tr>")
    (row,) = [row for row in rows if "limit 1bdp, rate 10mbit" in row]
    assert "bbr above cubic" in row
    (row,) = [row for row in rows if "limit 4bdp, rate 50mbit" in row]
    assert "cubic above bbr" in row
    assert "1 run was unfaithful and is left out." in text
    assert "Who wins, &lt;bbr&gt; or cubic?" in text


def test_a_single_doubtful_run_is_said(client: FlaskClient) -> None:
    text = client.get("/experiments/single", follow_redirects=True).text
    assert "1 run is doubtful. It counts." in text
    assert "of a single run: no interval." in text
    assert "differences-title" not in text


def test_running_and_failed_experiments_have_pages(client: FlaskClient) -> None:
    assert "data-poll" in client.get("/experiments/going", follow_redirects=True).text
    text = client.get("/experiments/broken", follow_redirects=True).text
    assert "1 run failed or was interrupted and is left out." in text
    assert "No values of this metric." in text


def test_a_name_leads_to_the_newest_with_the_choices(client: FlaskClient, db: Path) -> None:
    answer = client.get("/experiments/sweep?metric=jain_index&by=limit&by=rate")
    assert answer.status_code == 302
    expected = f"/experiments/{label(db)}?metric=jain_index&by=limit&by=rate"
    assert answer.headers["Location"].replace("%40", "@") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "metric=nothing", "x=nothing", "facet=nothing", "colour=nothing", "by=nothing", "nothing=1",
        "x_scale=odd", "y_scale=odd", "zero=maybe", "each=maybe", "drift=maybe", "window=nothing",
        "where=(", "where=nothing=1", "where=limit=7bdp", "entry=nothing", "x=limit&facet=limit",
        "where=" + "x" * 1001, "metric=" + "x" * 5000, "by=limit&" * 21,
    ],
)  # fmt: skip
@pytest.mark.parametrize("file", ["", "/summary.json", "/summary.csv", "/figure.svg"])
def test_wrong_choices_are_refused(client: FlaskClient, db: Path, query: str, file: str) -> None:
    answer = client.get(f"/experiments/{label(db)}{file}?{query}")
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize(
    "url",
    ["/experiments/nothing", "/experiments/sweep@ffffffffff", "/experiments/", "/experiments/a/b",
     "/experiments/nothing/spark.svg", "/experiments/sweep/figure.gif", "/compare?run=nothing",
     "/export.csv?run=nothing", "/export.xml?run=last"],
)  # fmt: skip
def test_unknown_is_not_found(client: FlaskClient, url: str) -> None:
    assert client.get(url).status_code == 404


@pytest.mark.parametrize(
    "url",
    ["/?page=0", "/?a=1", "/compare", "/compare?run=last", "/compare?a=1", "/export.csv",
     "/compare?" + "&".join(f"run={number}" for number in range(13)),
     "/export.json?" + "&".join(f"run={number}" for number in range(201))],
)  # fmt: skip
def test_absurd_requests_are_refused(client: FlaskClient, url: str) -> None:
    assert client.get(url).status_code == 400


def test_a_page_follows_the_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        experiments.make(store, lambda _v, r: {"a": 1e6 + r}, repetitions=2)
        client = create_app(path).test_client()
        for repetitions in (2, 3):
            text = client.get("/experiments/trial", follow_redirects=True).text
            assert f"1 variant × {repetitions} repetitions: " in text
            assert numbers(text, "means")[0][0] == pytest.approx(1e6, abs=100)
            experiments.make(store, lambda _v, r: {"a": 1e6 + r}, repetitions=repetitions + 1)


@pytest.mark.slow
def test_numbers_are_those_of_the_summary_while_a_sweep_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    client = create_app(path).test_client()  # it keeps what it read
    draw = random.Random(4)
    sizes = []
    with Store(path) as store:
        for number in range(3):
            for limit in ("1bdp", "2bdp"):
                experiments.make(
                    store, lambda _v, _r: {"a": draw.gauss(5e6, 1e5), "b": draw.gauss(4e6, 1e5)},
                    [{LIMIT: limit}], 1, "sweep", repetition=number, seed=number + 1,
                )  # fmt: skip
                for metric in ("goodput_bps", "jain_index"):
                    query = f"metric={metric}&by=limit&drift=no"
                    text = client.get(f"/experiments/{label(path)}?{query}").text
                    document = summary(path, "--metric", metric, "--by", "limit")
                    means = [row["metrics"][metric] for row in document["rows"]
                             if metric in row["metrics"]]  # fmt: skip
                    expected = [[mean["mean"], mean["low"], mean["high"]] for mean in means]
                    assert numbers(text, "means") == expected
                    keys = ("mean", "low_family", "high_family", "p_family", "effect")
                    found = [
                        [difference[key] for key in keys] for difference in document["differences"]
                    ]
                    assert numbers(text, "differences") == found
                    sizes.append((metric, [mean["n"] for mean in means]))
    assert sizes[-2:] == [("goodput_bps", [3] * 6), ("jain_index", [3] * 2)]


def test_spark_line_is_a_picture_without_scripts(client: FlaskClient) -> None:
    answer = client.get("/experiments/sweep/spark.svg")
    assert answer.mimetype == "image/svg+xml"
    assert answer.text.count("<polyline") == 4
    assert "<polyline" not in client.get("/experiments/single/spark.svg").text


def test_runs_are_compared_and_exported(client: FlaskClient) -> None:
    ids = re.findall(r'name="run" value="([^"]+)"', client.get("/runs?where=limit=1bdp").text)
    chosen = "&".join(f"run={run_id}" for run_id in ids[:2])
    text = client.get(f"/compare?{chosen}").text
    assert "2 runs compared" in text
    assert all(f'href="/runs/{run_id}"' in text for run_id in ids[:2])
    assert f"orchestrator compare {' '.join(ids[:2])}" in text
    document = client.get(f"/export.json?{chosen}").get_json()
    assert [run["id"] for run in document["runs"]] == ids[:2]
    lines = client.get(f"/export.csv?{chosen}").text.splitlines()
    assert lines[0].startswith("run,limit,limit [BDP],rate,")
    assert len(lines) == 1 + 2 * 3  # the run and two flows of each


def row(flow: str, limit: str, mean: float, low: float, high: float) -> SummaryRow:
    made = metric(mean, low, high, [low, high])
    return SummaryRow({"limit": limit}, flow, None, 2, LeftOut(), {"m": made})


@pytest.mark.parametrize("log", [False, True])
def test_places_of_a_plot_are_those_of_the_values(log: bool) -> None:
    from results.matrix.axes import axes

    rows = [row("a", "1bdp", 5, 4, 6), row("a", "8bdp", 20, 10, 30), row("b", "1bdp", 7, 7, 7)]
    (axis,) = axes([one.variant for one in rows])
    asked = plot.PlotRequest("m", "M", Unit(1, ""), axis, log_x=log, log_y=log, from_zero=False)
    drawn = plot.plot(Summary("x", "", None, [axis], rows), [axis], asked)
    (panel,) = drawn.panels
    assert [line.name for line in panel.lines] == ["a", "b"]
    scale = over([4, 6, 10, 30, 7, 7], log=log)
    height = plot.HEIGHT - plot.TOP - plot.BOTTOM
    for one, (mean, low, high) in zip(
        panel.lines[0].points, [(5, 4, 6), (20, 10, 30)], strict=True
    ):
        for value, pixel in ((mean, one.mean), (low, one.low), (high, one.high)):
            assert plot.HEIGHT - plot.BOTTOM - pixel == pytest.approx(scale.place(value) * height)
    ticks = {text: at for at, text in drawn.y_ticks}
    assert ticks["20"] == pytest.approx(panel.lines[0].points[1].mean)
