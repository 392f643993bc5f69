"""Transfers that a file lists, each between hosts of the topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.bounds import of
from orchestrator.errors import ScenarioError
from orchestrator.planning.flows.expansion import FIRST_PORT
from orchestrator.planning.plan import Plan, plan
from orchestrator.scenario import load
from orchestrator.scenario.loader import load_stored, load_values

SCENARIO = """\
version: 1
name: listed
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 100mbit, delay: 1ms, queue: {limit: 100p}}
  access: {rate: 1gbit, delay: 1ms}
  groups:
    - {name: a, hosts: 8}
    - {name: b, hosts: 8}
flows:
  - {name: jobs, congestion: vegas, MOREtraffic: {kind: schedule, file: flows.csv}}
"""
HEAD = "start,source,destination,bytes,congestion\n"
LIST = """\
# a comment
start_ms,source,destination,bytes,congestion

10, a_src0, b_dst1, 20kB,
0,a_src0,a_dst0,2000,bbr
5.5,b_dst1,a_src0,3000,
1,a_src0,b_dst1,1,
"""


def planned(folder: Path, text: str, more: str = "", scenario: str = SCENARIO) -> Plan:
    (folder / "flows.csv").write_text(text)
    file = folder / "listed.yaml"
    file.write_text(scenario.replace("MORE", more))
    return plan(load(file))


def fault(folder: Path, text: str, more: str = "", scenario: str = SCENARIO) -> str:
    with pytest.raises(ScenarioError) as error:
        planned(folder, text, more, scenario)
    return str(error.value)


def test_rows_with_equal_hosts_and_control_are_a_flow_in_the_order_of_time(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, LIST).runs
    assert [
        (flow.name, flow.source, flow.sink, flow.congestion, flow.group) for flow in run.flows
    ] == [
        ("jobs[0]", "a_src0", "b_dst1", "vegas", "a"),
        ("jobs[1]", "a_src0", "a_dst0", "bbr", "a"),
        ("jobs[2]", "b_dst1", "a_src0", "vegas", "b"),
    ]
    first, second, third = (flow.traffic_parameters for flow in run.flows)
    assert first["times_ns"] == [1_000_000, 10_000_000]
    assert [size["mean"] for size in first["sizes"]] == [1, 20_000]
    assert (second["times_ns"], third["times_ns"]) == ([0], [5_500_000])
    assert [flow.port for flow in run.flows] == [FIRST_PORT, FIRST_PORT + 1, FIRST_PORT + 2]
    assert run.flows[2].path == ("b_dst1:reverse", "bottleneck:reverse", "a_src0:reverse")
    assert list(run.files) == ["flows.csv"]


def test_a_stored_scenario_has_the_file_by_its_content(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, LIST).runs
    text = (tmp_path / "listed.yaml").read_text()
    (again,) = plan(load_stored(text, {"flows.csv": LIST.encode()})).runs
    assert again.flows == run.flows
    files = {place: file.content for place, file in run.files.items()}
    (resolved,) = plan(load_values(run.resolved, files)).runs
    assert resolved.flows == run.flows
    assert again.experiment_sha256 == run.experiment_sha256


def test_an_axis_can_name_files(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(HEAD + "0s,a_src0,a_dst0,1,\n")
    scenario = SCENARIO + "matrix: {flows.jobs.traffic.file: [flows.csv, other.csv]}\n"
    runs = planned(tmp_path, LIST, scenario=scenario).runs
    assert [len(run.flows) for run in runs] == [3, 1]
    assert runs[1].flows[0].name == "jobs"


def test_a_thousand_rows_are_planned(tmp_path: Path) -> None:
    rows = (f"{n}ms,a_src{n % 8},b_dst{n // 8 % 8},{n + 1},\n" for n in range(1000))
    (run,) = planned(tmp_path, HEAD + "".join(rows)).runs
    assert len(run.flows) == 64
    assert sum(len(flow.traffic_parameters["times_ns"]) for flow in run.flows) == 1000
    assert of(run).file_bytes["transfers.bin"] > 16 * 2**20 + 32 * 1000


def test_transfers_after_the_end_are_warned_of(tmp_path: Path) -> None:
    text = HEAD + "2s,a_src0,a_dst0,1,\n1.9s,a_src0,a_dst0,1,\n"
    warnings = [warning.message for warning in planned(tmp_path, text).warnings]
    assert any("1 of the 2 transfers would begin after the flow's end" in one for one in warnings)
    assert not any("no flow crosses link a_src1" in one for one in warnings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "flows.csv:1: the first line names the columns, one of them `start`: there is none"),
        ("start,source,bytes\n", "one of them `destination`: there is none; columns: start"),
        ("start,start_s,source,destination,bytes\n", "one of them `start`: there are several"),
        (HEAD.replace("congestion", "bytes"), "one of them `bytes`: there are several"),
        (HEAD.replace("congestion", "port"), "the name of column 5 is not known; columns: start"),
        (HEAD, "`flows.csv` has no rows below its first line"),
        (HEAD + "0s,a_src0,a_dst0,1\n", "flows.csv:2: has 4 values, and the file has 5 columns"),
        (HEAD + "0s,a_src0,a_dst9,1,\n", "flows.csv:2:11: there is no host `a_dst9` (did you mean"),
        (HEAD + "0s, a,a_dst0,1,\n", "flows.csv:2:5: there is no host `a`"),
        (HEAD + "0s,a,a_dst0,1,\n", "hosts: a_src0, a_src1, a_src2"),
        (HEAD + "0s,a,a_dst0,1,\n", "a_dst3 and 20 more"),
        (HEAD + "0s,a_src0,a_src0,1,\n", "flows.csv:2:11: host `a_src0` would send to itself"),
        (HEAD + "-1ms,a_src0,a_dst0,1,\n", "flows.csv:2:1: `-1ms`: a time must not be negative"),
        (HEAD + "1,a_src0,a_dst0,1,\n", "or call the column start_s, _ms, _us or _ns"),
        (HEAD.replace("start", "start_s") + "-1,a_src0,a_dst0,1,\n", "must not be negative"),
        (HEAD.replace("start", "start_s") + "1s,a_src0,a_dst0,1,\n", "must be a number, as the"),
        (HEAD.replace("start", "start_s") + "1e9,a_src0,a_dst0,1,\n", "may be 30 days at most"),
        (HEAD.replace("start", "start_s") + "1e999,a_src0,a_dst0,1,\n", "may be 30 days at most"),
        (HEAD + "0s,a_src0,a_dst0,0,\n", "flows.csv:2:18: `0B`: a size must be above zero"),
        (HEAD + "0s,a_src0,a_dst0,1.5,\n", "or a whole number of bytes"),
        (HEAD + "0s,a_src0,a_dst0,2000000MB,\n", "must be 1 to 1099511627776 bytes"),
        (HEAD + "0s,a_src0,a_dst0,1,bbrr\n", "flows.csv:2:20: unknown congestion control `bbrr`"),
        (HEAD + "0s,a_src0,a_dst0,1,bbrr\n", "valid: bbr, bic"),
        (HEAD + "0s,a_src0,a_dst0,1,\n" * 100_001, "has more than 100000 rows"),
        (HEAD + "\xff\x00,\x1b,a_dst0,1,\n", "flows.csv:2:"),
    ],
)
def test_a_wrong_row_is_an_error_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    found = fault(tmp_path, text)
    assert words in found
    assert "listed.yaml:12:" in found
    assert found.isprintable()


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "listed.yaml"
    file.write_text(SCENARIO.replace("MORE", ""))
    with pytest.raises(ScenarioError, match=r"listed.yaml:12:.*flows.csv.*No such file"):
        load(file)


@pytest.mark.parametrize("key", ["group: a", "count: 2", "direction: reverse", "stagger: 1ms"])
def test_what_is_about_pairs_of_a_group_is_refused(tmp_path: Path, key: str) -> None:
    name = key.partition(":")[0]
    text = fault(tmp_path, LIST, f"{key}, ")
    assert f"traffic of kind schedule names its own hosts: leave `{name}` out" in text


def test_a_control_with_other_parameters_elsewhere_is_refused(tmp_path: Path) -> None:
    scenario = SCENARIO.replace(
        "vegas", "{name: logwestwood, parameters: {alpha_max: 64}}"
    )  # fmt: skip
    text = fault(tmp_path, HEAD + "0s,a_src0,a_dst0,1,logwestwood\n0s,a_src0,b_dst0,1,\n",
                 scenario=scenario)  # fmt: skip
    assert "uses logwestwood as the kernel has it" in text
    assert "Leave `congestion` empty" in text
    (run,) = planned(tmp_path, HEAD + "0s,a_src0,a_dst0,1,\n", scenario=scenario).runs
    assert run.flows[0].parameters == {"alpha_max": 64}


def test_other_traffic_needs_a_group(tmp_path: Path) -> None:
    scenario = SCENARIO + "  - {name: bulk}\n"
    assert "listed.yaml:13:5: `group` is missing" in fault(tmp_path, LIST, scenario=scenario)
