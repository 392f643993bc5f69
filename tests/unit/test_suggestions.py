"""Suggestions for words that are not valid: by spelling, and by other tools' words."""

from __future__ import annotations

import pytest

from orchestrator.suggestions import (
    CONTROLS,
    KEYS,
    KINDS,
    NEAR,
    closest,
    did_you_mean,
    means,
    suggest,
)

LINK = ("delay", "loss", "policer", "rate", "queue")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("Delay", "delay"),
        ("QUEUE", "queue"),
        ("dealy", "delay"),
        ("latency", "delay"),
        ("one-way delay", "delay"),
        ("prop_delay", "delay"),
        ("bandwidth", "rate"),
        ("BW", "rate"),
        ("buffer", "queue.limit"),
        ("buffer_size", "queue.limit"),
        ("plr", "loss"),  # not policer, which is closer in spelling
        ("colour", None),
        ("", None),
        ("delay", None),  # valid already
    ],
)
def test_a_word_is_meant_by_spelling_or_by_other_tools(word: str, meant: str | None) -> None:
    assert closest(word, LINK, KEYS) == meant


def test_of_words_that_are_all_alike_only_near_ones_are_suggested() -> None:
    counters = ("TCPOFODrop", "TCPTimeouts", "TCPLossProbes")
    assert suggest("TCPFooBar", counters) == " (did you mean `TCPOFODrop`?)"
    assert suggest("TCPFooBar", counters, cutoff=NEAR) == ""
    assert suggest("TCPTimeout", counters, cutoff=NEAR) == " (did you mean `TCPTimeouts`?)"
    assert suggest("LossProbes", counters, cutoff=NEAR) == " (did you mean `TCPLossProbes`?)"


def test_a_synonym_counts_only_where_its_word_is_valid() -> None:
    assert closest("buffer", ("kind", "limit"), KEYS) == "limit"
    assert closest("duration", ("name", "start", "stop", "direction"), KEYS) == "stop"
    assert closest("duration", ("from", "to"), KEYS) == "to"
    assert closest("cca", LINK, KEYS) is None
    assert closest("latency", LINK) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("BBR", "bbr"),
        ("tcp_bbr", "bbr"),
        ("NewReno", "reno"),
        ("TCP-Reno", "reno"),
        ("Westwood+", "westwoodplus"),
        ("cubik", "cubic"),
        ("tcp", None),
    ],
)
def test_congestion_controls_are_known_by_their_papers_names(word: str, meant: str | None) -> None:
    valid = ("bbr", "cubic", "reno", "westwood", "westwoodplus")
    assert closest(word, valid, CONTROLS) == meant


def test_every_word_for_a_kind_or_a_control_leads_to_one_that_exists() -> None:
    from orchestrator.kinds.congestion import known
    from orchestrator.kinds.losses import LOSSES
    from orchestrator.kinds.queues import QUEUES
    from orchestrator.kinds.traffic import TRAFFIC
    from topologies import TOPOLOGIES

    families = {
        family.family: set(family.found) for family in (LOSSES, QUEUES, TRAFFIC, TOPOLOGIES)
    }
    assert set(KINDS) == set(families)
    for name, table in (*KINDS.items(), ("", CONTROLS)):
        valid = families.get(name) or set(known())
        for word, meant in table.items():
            assert set(meant) <= valid, word
            assert not set(meant) & {word}


@pytest.mark.slow
def test_every_word_for_a_key_leads_to_a_key_of_the_language() -> None:
    import json

    from orchestrator.scenario.schema import json_schema

    text = json.dumps(json_schema())
    for word, meant in KEYS.items():
        for path in meant:
            for key in path.split("."):
                assert f'"{key}": {{' in text, (word, key)


def test_suggestions_are_words_of_a_message() -> None:
    assert suggest("dealy", LINK) == " (did you mean `delay`?)"
    assert suggest("zzz", LINK) == ""
    assert did_you_mean([]) == ""
    assert did_you_mean(["a.b", "c"]) == " (did you mean `a.b` or `c`?)"
    assert did_you_mean(list("abcdef")) == " (did you mean `a` or `b` or `c` or `d` ...?)"


def test_a_part_of_a_path_means_a_key() -> None:
    assert means("Rate", "rate")
    assert means("bw", "rate", KEYS)
    assert means("buffer", "limit", KEYS)  # the end of queue.limit
    assert not means("bw", "rate")
    assert not means("", "rate", KEYS)
