"""Parameters read from the modules' sources, and their use in scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from kmods import catalogue
from orchestrator.backends.modules import ModuleBuilds, boot_parameters, needed
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.congestion import MAINLINE
from orchestrator.kinds.linux_parameters import LINUX_MODULES
from orchestrator.planning.plan import PlannedFlow, plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).resolve().parents[3] / "scenarios" / "quickstart.yaml"
NAMES = sorted(catalogue.modules())

SOURCE = """\
// SPDX-License-Identifier: GPL-2.0-only
/* A module. CC_SHOWS(example, "no [us]", "no", "no", "no"); is not its line.
CC_SHOWS(example, "no [us]", "no", "no", "no");
 */
CC_PARAM(first, 3, 1, 9, "what; it does");
CC_PARAM_CHECKED(second, 4, 2, 64, true,
                 "a power of two");
CC_PARAM(third, 0, 0, 1, CC_LATER_TEXT);
CC_SETTING(example, rate_bps, 0, 8000,
           "what a host is told");
CC_SHOWS(example, "the rate [bytes/s]", "RTTmin [us]",
         "a window, [whole] [2^-8 segments]", "unused");
static struct tcp_congestion_ops ops = { .name = "example", };
"""


SINCE = 'CC_SINCE(7, 0, "a feature");\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tcp_example.c").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "cc.h").write_text('#define CC_LATER_TEXT \\\n\t"one " \\\n\t"two"\n', "utf-8")
    return tmp_path


def test_a_module_says_on_which_kernels_it_works(tmp_path: Path) -> None:
    (tmp_path / "tcp_example.c").write_text(SOURCE + SINCE, encoding="utf-8")
    (since,) = (module.since for module in catalogue.modules(tmp_path).values())
    assert since == catalogue.Since((7, 0), "a feature")
    for release, works in (("6.19.9", False), ("7.0.0", True), ("7.3.4-x", True), ("odd", True)):
        assert (set(catalogue.modules_of(release, tmp_path)) == {"example"}) is works
    assert [name for name, one in catalogue.modules().items() if one.since] == ["prague"]
    assert "prague-classic" not in catalogue.modules()


def test_a_module_is_read_from_its_source(folder: Path) -> None:
    (module,) = catalogue.modules(folder).values()
    assert module.name == "example"
    texts = {name: parameter.text for name, parameter in module.parameters.items()}
    assert texts == {
        "first": "what; it does",
        "second": "a power of two",
        "third": "one two",
        "example_rate_bps": "what a host is told",
    }
    assert [(p.default, p.low, p.high, p.scope, p.unit) for p in module.parameters.values()] == [
        (3, 1, 9, "kernel", ""),
        (4, 2, 64, "kernel", ""),
        (0, 0, 1, "kernel", ""),
        (0, 0, 8000, "namespace", "bit/s"),
    ]
    assert module.shown == (
        ("the rate", "bytes/s"),
        ("RTTmin", "us"),
        ("a window, [whole]", "2^-8 segments"),
        ("unused", ""),
    )


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("first", 1, None),
        ("first", 9, None),
        ("first", 10, "first must be from 1 to 9, not 10"),
        ("first", 0, "first must be from 1 to 9, not 0"),
        ("second", 32, None),
        ("second", 33, "second must be a power of two from 2 to 64, not 33"),
        ("example_rate_bps", 8001, "example_rate_bps must be from 0 to 8000 bit/s, not 8001"),
    ],
)
def test_a_value_must_be_in_its_range(
    folder: Path, name: str, value: int, fault: str | None
) -> None:
    assert catalogue.modules(folder)["example"].parameters[name].fault(value) == fault


@pytest.mark.parametrize("name", NAMES)
def test_every_module_declares_parameters_and_shown_values(name: str) -> None:
    module = catalogue.modules()[name]
    assert module.source.name == f"tcp_{name}.c"
    assert len(module.shown) == 4, "the CC_SHOWS line is missing"
    assert module.shown[0] == ("unused", "") or module.shown[0][1] == "bytes/s"
    assert module.shown[1][1] == "us"
    for parameter in module.parameters.values():
        assert parameter.default is not None
        assert parameter.fault(parameter.default) is None
        assert parameter.text


@pytest.mark.parametrize(
    ("module", "settings"),
    [
        ("idealtcp", {"idealtcp_rate_bps": "bit/s", "idealtcp_rtt_us": "us"}),
        ("libra", {"libra_capacity_kbps": "kbit/s"}),
        ("tibet", {}),
    ],
)
def test_settings_of_a_namespace_are_known_with_their_units(
    module: str, settings: dict[str, str]
) -> None:
    parameters = catalogue.modules()[module].parameters.values()
    assert {p.name: p.unit for p in parameters if p.scope == "namespace"} == settings


def flows(*congestion: str, more: tuple[str, ...] = ()) -> tuple[PlannedFlow, ...]:
    overrides = [
        f"flows.{flow}.congestion={value}"
        for flow, value in zip(("westwood", "reno"), congestion, strict=False)
    ]
    (run,) = plan(load(QUICKSTART, [*overrides, *more])).runs
    return run.flows


def test_parameters_and_settings_reach_the_plan() -> None:
    ideal = "{name: idealtcp, parameters: {clamp_cwnd: 0, idealtcp_rate_bps: 5mbit}}"
    one, other = flows("{name: logwestwood, parameters: {alpha_max: 64}}", ideal)
    assert (one.parameters, one.settings) == ({"alpha_max": 64}, {})
    assert (other.parameters, other.settings) == ({"clamp_cwnd": 0}, {"idealtcp_rate_bps": 5000000})


@pytest.mark.parametrize(
    ("parameter", "given", "number"),
    [
        ("idealtcp_rate_bps", "5mbit", 5_000_000),
        ("idealtcp_rate_bps", "5000000", 5_000_000),
        ("idealtcp_rate_bps", "0", 0),
        ("idealtcp_rtt_us", "100ms", 100_000),
        ("idealtcp_rtt_us", "1.5ms", 1500),
        ("libra_capacity_kbps", "1gbit", 1_000_000),
        ("t0_us", "0.5s", 500_000),
    ],
)
def test_a_quantity_becomes_an_integer_in_the_parameters_unit(
    parameter: str, given: str, number: int
) -> None:
    name = next(n for n, m in catalogue.modules().items() if parameter in m.parameters)
    path = f"flows.westwood.congestion.parameters.{parameter}={given}"
    (run,) = plan(load(QUICKSTART, [f"flows.westwood.congestion={name}", path])).runs
    assert {**run.flows[0].parameters, **run.flows[0].settings} == {parameter: number}
    assert run.resolved["flows"][0]["congestion"]["parameters"] == {parameter: number}


def test_parameters_of_linux_reach_the_plan() -> None:
    one, other = flows("{name: vegas, parameters: {alpha: 3, beta: 6}}", "dctcp")
    assert (one.parameters, one.settings, one.module) == ({"alpha": 3, "beta": 6}, {}, None)
    assert (other.parameters, other.settings) == ({}, {})


def test_the_guest_kernel_gets_parameters_of_built_in_modules_when_it_boots() -> None:
    cubic = "{name: cubic, parameters: {hystart: 0, hystart_ack_delta_us: 3ms}}"
    overrides = [f"flows.{flow}.congestion={cubic}" for flow in ("westwood", "reno")]
    (run,) = plan(load(QUICKSTART, overrides)).runs
    words = ["tcp_cubic.hystart=0", "tcp_cubic.hystart_ack_delta_us=3000"]
    assert boot_parameters(run) == words
    assert list(needed(run, ModuleBuilds())) == ["sch_link", "tcp_cubic"]
    (loaded,) = plan(load(QUICKSTART, ["flows.reno.congestion=cubic"])).runs
    assert boot_parameters(loaded) == []
    assert list(needed(loaded, ModuleBuilds())) == ["sch_link", "tcp_westwood"]


@pytest.mark.parametrize("name", LINUX_MODULES)
def test_parameters_of_linux_have_texts_and_valid_defaults(name: str) -> None:
    module = LINUX_MODULES[name]
    assert name in MAINLINE
    assert module.parameters
    for parameter in module.parameters.values():
        assert parameter.default is not None
        assert parameter.fault(parameter.default) is None
        assert parameter.text
        assert parameter.scope == "kernel"


def test_the_documents_list_parameters_of_linux() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "modules.md").read_text("utf-8")
    for name, module in LINUX_MODULES.items():
        for parameter in module.parameters.values():
            row = f"| `{name}` | `{parameter.name}` | {parameter.low} to {parameter.high} | "
            assert f"{row}{parameter.default} | {parameter.text} |\n" in page


def test_a_matrix_varies_a_setting() -> None:
    axis = "matrix={flows.westwood.congestion.parameters.idealtcp_rate_bps: [1mbit, 2000000]}"
    runs = plan(load(QUICKSTART, ["flows.westwood.congestion=idealtcp", axis])).runs
    told = [run.flows[0].settings["idealtcp_rate_bps"] for run in runs]
    assert told == [1_000_000, 2_000_000]


def test_settings_are_applied_in_the_senders_namespace() -> None:
    ideal = "{{name: idealtcp, parameters: {{idealtcp_rate_bps: {}}}}}"
    overrides = [
        f"flows.westwood.congestion={ideal.format(1)}",
        f"flows.reno.congestion={ideal.format(2)}",
        "flows.reno.group=a",
        "flows.reno.direction=reverse",
        "topology.groups.a.hosts=2",
    ]
    (run,) = plan(load(QUICKSTART, overrides)).runs
    assert bed_spec(run, 2**30)["namespaces"] == {
        "a_src0": {"net.ipv4.idealtcp_rate_bps": 1},
        "a_src1": {"net.ipv4.idealtcp_rate_bps": 1},
        "a_dst0": {"net.ipv4.idealtcp_rate_bps": 2},
        "a_dst1": {"net.ipv4.idealtcp_rate_bps": 2},
    }


@pytest.mark.parametrize(
    ("one", "other", "more", "said"),
    [
        (
            "{name: idealtcp, parameters: {idealtcp_rate_bps: 1}}",
            "{name: idealtcp, parameters: {idealtcp_rate_bps: 2}}",
            ["flows.reno.group=a"],
            "parameters: {idealtcp_rate_bps: 2}}:1:72: idealtcp_rate_bps is a setting of the "
            "sending host, and flow `westwood` also sends from a_src0, where it sets 1, not 2",
        ),
        (
            "{name: idealtcp, parameters: {idealtcp_rate_bps: 1}}",
            "idealtcp",
            ["flows.reno.group=a"],
            "congestion=idealtcp:1:23: idealtcp_rate_bps is a setting of the sending host, and flow"
            " `westwood` also sends from a_src0, where it sets 1: set the same value for this flow",
        ),
        (
            "idealtcp",
            "{name: idealtcp, parameters: {idealtcp_rate_bps: 2}}",
            ["flows.reno.group=a"],
            "with idealtcp and without idealtcp_rate_bps: set the same value for that flow",
        ),
    ],
)
def test_flows_of_a_host_share_its_settings(
    one: str, other: str, more: list[str], said: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        flows(one, other, more=tuple(more))
    assert said in str(caught.value)
    apart = (*more, "flows.reno.direction=reverse")
    assert len(flows(one, other, more=apart)) == 2  # from another host it is no matter
    elsewhere = (*more, "flows.reno.congestion=tibet")
    assert len(flows(one, other, more=elsewhere)) == 2


@pytest.mark.parametrize(
    ("congestion", "said"),
    [
        (["{name: logwestwood, parameters: {alpha: 64}}"], "has no parameter `alpha`"),
        (["{name: logwestwood, parameters: {alpha: 64}}"], "valid: mode, alpha_min, alpha_max"),
        (["{name: logwestwood, parameters: {alpha_max: 65}}"], "must be a power of two from 2"),
        (["{name: logwestwood, parameters: {alpha_max: much}}"], "whole number"),
        (["{name: westwood, parameters: {alpha: 1}}"], "`westwood` takes no parameters"),
        (["{name: westwood, parameters: {alpha: 1}}"], "take some: bic, cdg, cubic, dctcp, htcp"),
        (
            ["{name: bbr, parameters: {bbr_cwnd_gain: 2}}"],
            "`bbr` takes no parameters: remove `bbr_cwnd_gain`; its numbers are constants in "
            "Linux's source, which a module of your own can change; of Linux's, these take some",
        ),
        (
            ["{name: cubic, parameters: {beta: 512}}"],
            "`beta` of `cubic` cannot be set: CUBIC is built",
        ),
        (["{name: cubic, parameters: {beta: 512}}"], "valid: fast_convergence, initial_ssthresh"),
        (["{name: cubic, parameters: {gamma: 1}}"], "`cubic` has no parameter `gamma`"),
        (["{name: cdg, parameters: {window: 16}}"], "`window` of `cdg` cannot be set once"),
        (["{name: illinois, parameters: {theta: 3}}"], "cannot be read back (mode 0); of Linux's"),
        (
            ["{name: cubic, parameters: {hystart: 0}}", "cubic"],
            "parameters of cubic hold for the whole kernel, and flow `westwood` sets hystart=0",
        ),
        (["{name: vegas, parameters: {delta: 1}}"], "`vegas` has no parameter `delta`"),
        (["{name: vegas, parameters: {delta: 1}}"], "valid: alpha, beta, gamma"),
        (["{name: vegas, parameters: {alpha: -1}}"], "alpha must be from 0 to 2147483647, not -1"),
        (["{name: bic, parameters: {max_increment: 0}}"], "must be from 1 to 65535, not 0"),
        (["{name: dctcp, parameters: {dctcp_shift_g: 11}}"], "must be from 0 to 10, not 11"),
        (["{name: cdg, parameters: {use_shadow: true}}"], "must be a whole number, not `true`"),
        (
            ["{name: vegas, parameters: {alpha: 3}}", "vegas"],
            "parameters of vegas hold for the whole kernel, and flow `westwood` sets alpha=3, "
            "not none",
        ),
        (["{name: idealtcp, parameters: {rate_bps: 1}}"], "(did you mean `idealtcp_rate_bps`?)"),
        (["{name: idealtcp, parameters: {idealtcp_rate_bps: 1ms}}"], "`ms` is a unit of time"),
        (["{name: idealtcp, parameters: {idealtcp_rate_bps: 1.5}}"], "a whole number of bit/s"),
        (["{name: idealtcp, parameters: {idealtcp_rate_bps: -1}}"], "from 0 to 100000000000"),
        (["{name: idealtcp, parameters: {idealtcp_rtt_us: 1ns}}"], "is not a whole number of us"),
        (["{name: libra, parameters: {libra_capacity_kbps: 96bit}}"], "whole number of kbit/s"),
        (["{name: libra, parameters: {k1_percent: 5mbit}}"], "must be a whole number"),
        (["logwestwod"], "did you mean `logwestwood`?"),
        (
            ["{name: tibet, parameters: {t0_us: 500000}}", "tibet"],
            "parameters of tibet hold for the whole kernel, and flow `westwood` sets "
            "t0_us=500000, not none",
        ),
    ],
)
def test_an_invalid_parameter_is_refused(congestion: list[str], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        flows(*congestion)
    assert said in str(caught.value)


def test_every_wrong_parameter_is_reported_at_its_place() -> None:
    wrong = "{name: idealtcp, parameters: {clamp_cwnd: 2, idealtcp_rtt_us: x}}"
    with pytest.raises(ScenarioError) as caught:
        flows(wrong)
    assert [fault.column for fault in caught.value.faults] == [69, 89]


ODD_NAMES = ["my cc.c", "a:b.c", "$(shell id).c", "a#b.c", "-x.c", "a.b.c", "ü.c", f"{'x' * 56}.c"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_source_that_is_no_module_s_name_is_refused(tmp_path: Path, name: str) -> None:
    code = 'MODULE_LICENSE("GPL");\nstatic struct tcp_congestion_ops x = { .name = "x" };\n'
    (tmp_path / name).write_text(code, encoding="utf-8")
    with pytest.raises(catalogue.FolderError, match="a module is named after its file") as refused:
        catalogue.read(tmp_path)
    assert name[:40] in str(refused.value)
    (tmp_path / name).rename(tmp_path / f"{'x' * 55}.c")
    assert set(catalogue.read(tmp_path).modules) == {"x"}
