"""Traffic by users' programs: what a scenario may name, and what their hosts need."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.backends import program_files
from orchestrator.compile import bounds
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.planning.flows.programs import (
    hint_without_progress,
    port_that_tells,
    program_names,
)
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

HEAD = """\
version: 1
name: programs
duration: 10s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 100p}}
  groups:
    - {name: a, hosts: 1, rtt: 40ms}
    - {name: b, hosts: 1, rtt: 40ms}
flows:
"""
SERVER = "server: [sh, -c, 'sleep 5'], ready: {port: 8000}"


def program(rest: str, entry: str = "group: a") -> str:
    """Return a flow entry with a client that exists."""
    return f"  - {{{entry}, traffic: {{kind: program, client: [sh, -c, 'true'], {rest}}}}}\n"


def loaded(folder: Path, *entries: str) -> RunSpec:
    """Return the planned run of a scenario with these flow entries."""
    file = folder / "programs.yaml"
    file.write_text(HEAD + "".join(entries))
    (run,) = plan(load(file)).runs
    return run


def faults(folder: Path, *entries: str) -> str:
    """Return what is wrong with a scenario with these flow entries."""
    with pytest.raises(ScenarioError) as error:
        loaded(folder, *entries)
    return str(error.value)


def test_a_program_that_does_not_exist_is_an_error_with_its_place(tmp_path: Path) -> None:
    wrong = program("server: [no-such-program]", "name: p, group: a")
    text = faults(tmp_path, wrong)
    assert "programs.yaml:11:" in text
    assert "no program `no-such-program` in /usr/local/sbin:" in text


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("server: [/home/me/serve]", "programs of the machine are below /usr/"),
        ("server: [/usr/bin/no-such-program]", "no program at `/usr/bin/no-such-program`"),
        ("server: [./serve.py]", "no file `./serve.py` in `files`, which is not given"),
        ("server: []", "at least 1 item"),
        ("server: ['']", "the program has no name"),
        ("env: {1X: a}", "`1X` is no name of a variable"),
        ("ready: {port: 0}", ":11:"),
        ("ready: {port: 50000}", "the ports 45001 to 65000 are those of clients"),
        ("files: nowhere", "nowhere"),
        ("files_sha256: abc", "needs `files`, which is not given"),
        ("timeout: 0s", "must be above zero"),
        ("sender: nobody", "valid: server, client"),
    ],
)
def test_what_a_program_cannot_have_is_refused(tmp_path: Path, rest: str, words: str) -> None:
    assert words in faults(tmp_path, program(rest, "name: p, group: a"))


def test_a_program_of_the_files_is_found_there_and_its_files_are_the_runs(tmp_path: Path) -> None:
    (tmp_path / "www" / "below").mkdir(parents=True)
    (tmp_path / "www" / "serve.py").write_text("pass\n")
    (tmp_path / "www" / "below" / "page").write_text("hello\n")
    run = loaded(tmp_path, program("server: [./serve.py], files: www", "name: p, group: a"))
    assert sorted(run.files) == ["www/below/page", "www/serve.py"]
    assert len(run.resolved["flows"][0]["traffic"]["files_sha256"]) == 64

    document = bed_spec(run, 2**30)
    (tmp_path / "in").mkdir()
    program_files.provide(run, document, tmp_path / "in")
    folder = tmp_path / "in" / document["flows"][0]["parameters"]["files"]
    assert (folder / "below" / "page").read_text() == "hello\n"
    assert (folder / "serve.py").stat().st_mode & 0o111


EXTRACT = "name: p, group: a"


@pytest.mark.parametrize(
    ("extract", "words"),
    [
        ("A: '(?P<s>1)'", "`A` is no name of a number: use lower-case letters"),
        ("time_s: '(?P<s>1)'", "`time_s` ends in `s`, which says a unit: leave it out"),
        ("x: '(1'", "`(1` is no regular expression: missing ), unterminated subpattern"),
        ("x: '1'", "`1` has no group: put parentheses around the number"),
        ("x: '(?P<s>1)(2)'", "has 2 groups"),
        ("x: '(1)'", "the number has no unit: give `unit`, or name the group by it"),
        ("x: '(?P<sec>1)'", "the group's name is no unit: unknown unit `sec`"),
        ("x: {pattern: '(1)', unit: mbps}", "unknown unit `mbps`"),
        ("x: {pattern: '(?P<s>1)', unit: ms}", "the group's name is the unit `s` already"),
        ("x: {pattern: '(1)', unit: s, take: count}", "a count of matches has no unit"),
        ("x: {pattern: '(1)', unit: s, take: median}", "valid: first, last, mean"),
        ("x: {pattern: '(1)', unit: s, stream: log}", "valid: stdout, stderr"),
        ("x: {unit: s}", "pattern"),
        ("x: ''", "at least 1 character"),
        (f"x: '(?P<s>{'1' * 300})'", "at most 300 characters"),
        ("x: '(?P<s>[[0-9])'", "in a set need a backslash"),
        ("x: '(?P<s>a{99999999999})'", "is no regular expression that can be tried"),
        (", ".join(f"x{n}: '(?P<s>1)'" for n in range(33)), "33 numbers; a flow has 32 at most"),
    ],
)
def test_what_cannot_be_extracted_is_refused_with_its_place(
    tmp_path: Path, extract: str, words: str
) -> None:
    text = faults(tmp_path, program(f"extract: {{{extract}}}", EXTRACT))
    assert words in text
    assert "programs.yaml:11:" in text


def test_an_expectation_is_of_a_number_that_some_flow_has(tmp_path: Path) -> None:
    flow = program("extract: {x: '(?P<s>1)'}", EXTRACT)
    expect = "expect:\n  - {{metric: program_{}, flow: p, below: 2s}}\n"
    loaded(tmp_path, flow, expect.format("x_s"))
    text = faults(tmp_path, flow, expect.format("xx_s"))
    assert "no flow's `extract` gives the metric `program_xx_s` (did you mean" in text
    assert "programs.yaml:13:14" in text


def test_both_forms_of_a_number_are_the_same_and_no_number_changes_nothing(tmp_path: Path) -> None:
    forms = ("x: 'took (?P<ms>[0-9]+)'", "x: {pattern: 'took (?P<ms>[0-9]+)', stream: stdout}")
    short, long = (
        loaded(tmp_path, program(f"extract: {{{form}}}", EXTRACT)).flows[0] for form in forms
    )
    assert (
        short.traffic_parameters["extract"]
        == long.traffic_parameters["extract"]
        == {
            "x": {
                "pattern": "took (?P<ms>[0-9]+)",
                "unit": "ms",
                "stream": "stdout",
                "take": "last",
            }
        }
    )
    without = loaded(tmp_path, program("env: {}", EXTRACT))
    assert "extract" not in without.flows[0].traffic_parameters
    assert "extract" not in without.resolved["flows"][0]["traffic"]


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ("[/etc/passwd]", "no path from the root is valid"),
        ("[a, ../b]", "`..` is not valid"),
        ("[a/../b]", "`..` is not valid"),
        ("['**/a']", "`**` is not valid"),
        ("[a//b]", "no empty part"),
        ("['']", "no empty part"),
        ('["a\\x1b"]', "no control or invisible characters"),
        (f"[{'a' * 201}]", "200 bytes at most"),
        (f"[{', '.join(f'a{n}' for n in range(21))}]", "21 patterns; a program has 20 at most"),
        ("page", "must be a list"),
        ("{server: [a]}", "the flow has no `server`, whose files these would be"),
        ("{both: [a]}", "valid keys: client, server"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(
    tmp_path: Path, keep: str, words: str
) -> None:
    text = faults(tmp_path, program(f"keep: {keep}", EXTRACT))
    assert words in text
    assert "programs.yaml:11:" in text


def test_both_forms_of_keep_are_the_same_and_an_empty_one_changes_nothing(tmp_path: Path) -> None:
    for form in ("[a, 'b/*']", "{client: [a, 'b/*']}", "{client: [a, 'b/*'], server: []}"):
        run = loaded(tmp_path, program(f"keep: {form}", EXTRACT))
        assert run.flows[0].traffic_parameters["keep"] == {"client": ["a", "b/*"]}
        assert bounds.of(run).file_bytes["kept.bin"] == 64 << 20
    both = loaded(tmp_path, program(f"keep: {{server: [a]}}, {SERVER}", EXTRACT))
    assert both.flows[0].traffic_parameters["keep"] == {"server": ["a"]}
    plain = loaded(tmp_path, program("env: {}", EXTRACT))
    for form in ("[]", "{client: [], server: []}"):
        run = loaded(tmp_path, program(f"keep: {form}", EXTRACT))
        assert run.flows[0].traffic_parameters == plain.flows[0].traffic_parameters
        assert run.resolved == plain.resolved
        assert "kept.bin" not in bounds.of(run).file_bytes


def test_hosts_of_programs_have_their_control_and_ports_that_no_flow_listens_at(
    tmp_path: Path,
) -> None:
    run = loaded(
        tmp_path,
        program(SERVER, "name: p, group: a, congestion: reno"),
        "  - {name: other, group: b, congestion: cubic}\n",
    )
    namespaces = bed_spec(run, 2**30)["namespaces"]
    flow = run.flows[0]
    for host in (flow.source, flow.sink):
        assert namespaces[host]["net.ipv4.tcp_congestion_control"] == "reno"
        assert namespaces[host]["net.ipv4.ip_local_port_range"] == "45001 65000"
    assert run.flows[1].source not in namespaces
    assert bed_spec(run, 2**30)["global_sysctls"]["user.max_user_namespaces"] == 0
    assert list(program_names(run.flows)) == ["sh", "sh"]
    assert "Let the programs of p sleep" in hint_without_progress(run.flows)


def test_a_run_without_programs_is_as_it_was(tmp_path: Path) -> None:
    run = loaded(tmp_path, "  - {name: other, group: b, congestion: cubic}\n")
    assert "user.max_user_namespaces" not in bed_spec(run, 2**30)["global_sysctls"]
    assert hint_without_progress(run.flows) == ""


def test_programs_between_the_same_hosts_are_told_apart_by_their_ports(tmp_path: Path) -> None:
    first = program("server: [sh], ready: {port: 8000}", "name: p, group: a")
    second = program("server: [sh], ready: {port: 8001}", "name: q, group: a")
    run = loaded(tmp_path, first, second)
    assert [port_that_tells(flow, run.flows) for flow in run.flows] == [8000, 8001]
    alone = loaded(tmp_path, first)
    assert port_that_tells(alone.flows[0], alone.flows) is None


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("server: [sh]", "give each of them a `ready: {port: ...}` of its own"),
        ("server: [sh], ready: {port: 8000}", "give each of them a `ready: {port: ...}`"),
    ],
)
def test_programs_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, second: str, words: str
) -> None:
    text = faults(
        tmp_path, program(SERVER, "name: p, group: a"), program(second, "name: q, group: a")
    )
    assert words in text
    assert "programs.yaml:12:" in text


def test_a_host_has_one_control_for_its_programs(tmp_path: Path) -> None:
    text = faults(
        tmp_path,
        program(SERVER, "name: p, group: a, congestion: reno"),
        program("ready: {port: 8001}", "name: q, group: a, congestion: cubic"),
    )
    assert "has reno, not cubic" in text


def test_a_programs_port_is_that_of_no_other_flow(tmp_path: Path) -> None:
    text = faults(
        tmp_path,
        "  - {name: bulk, group: b}\n",
        program("server: [sh], ready: {port: 5001}", "name: p, group: a"),
    )
    assert "flow `bulk` of this run listens at the port 5001" in text
