"""The settings of lists of packets as the module's source has them, and what a list contains."""

from __future__ import annotations

import pytest

from orchestrator.protocol.links import chosen
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.testbed.network.queues import qdisc
from tests.support.link import attributes, defined, fields

RANGES = ((10, 10), (20, 25), (100, 2**32 - 1))
PACKED = "0a0000000a000000140000001900000064000000ffffffff"


def test_the_settings_are_the_attributes_of_the_module() -> None:
    numbers = attributes()
    found = chosen.settings(ChosenPackets(RANGES, "one", True), 5001)
    assert [(each.name, each.attribute, each.value, each.format) for each in found] == [
        ("lost_packets", (numbers["LOSSES"],), PACKED, "s"),
        ("lost_packets_port", (numbers["LOSSES_PORT"],), 5001, "H"),
        ("lost_packets_data_only", (numbers["LOSSES_DATA"],), 1, "B"),
    ]
    assert all(each.name.startswith(chosen.PREFIX) for each in found)


def test_the_limit_is_that_of_the_module() -> None:
    assert defined("TC_LINK_LOSSES_MAX") == chosen.MOST_RANGES
    assert list(fields("tc_link_range").values()) == ["I", "I"]


def test_a_list_is_packed_and_read_back() -> None:
    settings = [setting.document() for setting in chosen.settings(ChosenPackets(RANGES), 0)]
    assert [setting["expected"] for setting in settings] == [PACKED, 0, 0]
    options = qdisc.pack(settings)
    assert qdisc.unpack(settings, options) == {
        "lost_packets": PACKED, "lost_packets_port": 0, "lost_packets_data_only": 0,
    }  # fmt: skip
    assert chosen.ranges_of(PACKED) == RANGES


def test_a_longer_list_in_the_kernel_is_another_one() -> None:
    settings = [setting.document() for setting in chosen.settings(ChosenPackets(RANGES[:2]), 0)]
    longer = qdisc.pack(setting.document() for setting in chosen.settings(ChosenPackets(RANGES), 0))
    assert qdisc.unpack(settings, longer)["lost_packets"] == PACKED != settings[0]["value"]


def test_an_empty_list_ends_the_losses_and_is_read_back() -> None:
    settings = [setting.document() for setting in chosen.settings(chosen.NOTHING, 0)]
    assert settings[0]["value"] == ""
    assert qdisc.unpack(settings, qdisc.pack(settings))["lost_packets"] == ""
    assert qdisc.unpack(settings, b"")["lost_packets"] is None  # a module without lists


def test_a_torn_list_is_no_list() -> None:
    with pytest.raises(ValueError, match="4 bytes are not whole ranges"):
        chosen.ranges_of("0a000000")


@pytest.mark.parametrize(
    ("number", "expected"), [(0, 0), (9, 0), (10, 1), (19, 1), (22, 4), (25, 7), (99, 7), (102, 10)]
)
def test_the_packets_up_to_a_number_were_reached(number: int, expected: int) -> None:
    assert chosen.reached(RANGES, number) == expected


def test_a_list_is_written_as_in_a_scenario() -> None:
    assert chosen.text(RANGES) == "10, 20-25, 100-4294967295"
