"""The settings of sch_link as its source has them, and the sizes and times of frames."""

from __future__ import annotations

import re

import pytest

from orchestrator.protocol.links import link
from orchestrator.protocol.links.frames import (
    ACK_FRAME_BYTES,
    ECHO_FRAME_BYTES,
    FRAME_BYTES,
    PROBE_FRAME_BYTES,
    transmission_ns,
)
from orchestrator.protocol.links.link import ReceiveRing, Transmitter
from orchestrator.protocol.version import LINK_MODEL
from orchestrator.testbed.lab import icmp_probe
from orchestrator.testbed.sampling import probes
from orchestrator.units import RATE_MAX_BPS
from tests.support.link import KMODS, attributes, defined, fields


def test_the_settings_are_the_attributes_of_the_module() -> None:
    numbers = attributes()
    assert numbers["UNSPEC"] == 0
    assert [
        (setting.name, setting.attribute, setting.value, setting.format)
        for setting in Transmitter(10_000_000, 0.01).qdisc().settings
    ] == [
        ("model", (numbers["MODEL"],), LINK_MODEL, "I"),
        ("rate_bps", (numbers["RATE_BPS"],), 10_000_000, "Q"),
        ("delay_ns", (numbers["DELAY_NS"],), 10_000_000, "Q"),
        ("granted", (numbers["GRANTED"],), 0, "B"),
        ("bypass", (numbers["BYPASS"],), 0, "B"),
    ]
    assert numbers["GRANT_BYTES"] == link.GRANT_BYTES_ATTRIBUTE
    assert numbers["INTERVAL"] == link.INTERVAL_ATTRIBUTE
    assert link.held_setting(True).attribute == (numbers["HELD"],)
    assert [
        (setting.attribute, setting.value, setting.format)
        for setting in Transmitter(None, 0, ring=ReceiveRing(50_000, 64, 512)).qdisc().settings[5:]
    ] == [
        ((numbers["COALESCE_NS"],), 50_000, "Q"),
        ((numbers["COALESCE_FRAMES"],), 64, "I"),
        ((numbers["RING"],), 512, "I"),
    ]
    code = (KMODS / "link_qdisc.c").read_text(encoding="utf-8")
    assert Transmitter(1, 0).qdisc().kind == re.findall(r'\.id = "(\w+)"', code)[0]


def test_the_statistics_are_those_of_the_module() -> None:
    assert fields("tc_link_xstats") == link.XSTATS_FIELDS
    assert link.XSTATS.size == sum({"I": 4, "Q": 8}[form] for form in link.XSTATS_FIELDS.values())


def test_model_and_limits_are_those_of_the_module() -> None:
    assert defined("TC_LINK_MODEL") == LINK_MODEL
    assert defined("TC_LINK_RATE_MAX_BPS") == link.RATE_MAX_BPS
    assert defined("TC_LINK_DELAY_MAX_NS") == link.DELAY_MAX_NS
    assert defined("TC_LINK_COALESCE_MAX_NS") == link.COALESCE_MAX_NS
    assert RATE_MAX_BPS <= link.RATE_MAX_BPS


def test_each_setting_is_read_back() -> None:
    for setting in Transmitter(10_000_000, 0.01).qdisc().document()["settings"]:
        assert (setting["expected"], setting["once"]) == (setting["value"], False)


def test_a_link_without_a_rate_transmits_in_no_time() -> None:
    values = {setting.name: setting.value for setting in Transmitter(None, 1e-9).qdisc().settings}
    assert (values["rate_bps"], values["delay_ns"]) == (0, 1)


def test_changes_have_the_same_names_as_what_they_change() -> None:
    names = {setting.name for setting in Transmitter(None, 0.0).qdisc().settings}
    changes = (
        link.rate_setting(7), link.delay_setting(0.5), link.granted_setting(),
        link.bypass_setting(True),
    )  # fmt: skip
    assert [(change.name in names, change.value) for change in changes] == [
        (True, 7), (True, 500_000_000), (True, 1), (True, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("frame_bytes", "rate_bps", "expected_ns"),
    [
        (1514, 10_000_000, 1_211_200),
        (50, 64_000, 6_250_000),
        (50, 3_000_000, 133_333),  # 133333.3: the kernel rounds down, too
        (1, 100_000_000_000, 0),
        (1514, None, 0),
    ],
)
def test_a_transmission_takes_the_bits_at_the_rate(
    frame_bytes: int, rate_bps: int | None, expected_ns: int
) -> None:
    assert transmission_ns(frame_bytes, rate_bps) == expected_ns


def test_frames_have_the_sizes_that_a_link_counts() -> None:
    ethernet, ipv4 = 14, 20
    assert ECHO_FRAME_BYTES == PROBE_FRAME_BYTES == 50
    for length in (ECHO_FRAME_BYTES, FRAME_BYTES):
        assert len(probes._echo_request(1, 1, length)) + ethernet + ipv4 == length
    assert len(icmp_probe._request(1, 1)) + ethernet + ipv4 == ECHO_FRAME_BYTES
    assert ethernet + ipv4 + 20 + 12 == ACK_FRAME_BYTES == 66
    assert ethernet + 1500 == FRAME_BYTES
