"""Which tests a tree has, what each needs, and what of it is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from guest.selftests import FOLDERS, PRELOADED, SELFTESTS, FolderLists, Selftests
from orchestrator.errors import UsageError
from orchestrator.execution.kernel_tests import needs
from orchestrator.execution.kernel_tests.catalogue import Packetdrill, catalogue, scripts
from orchestrator.execution.kernel_tests.model import KernelTest
from orchestrator.execution.kernel_tests.needs import Machine

DRILL = Packetdrill(Path("/usr/local/bin/packetdrill"))
LISTS = FolderLists(
    "net",
    ("plain.sh", "vrf.sh", "pings.sh", "helped.sh", "xdp.sh", "polls", "numa", "read.py"),
    ("polls", "numa", "helper", "xdp.bpf.o"),
    {"numa": "numa.h", "helper": "", "xdp.bpf.o": "clang"},
)
TEXTS = {
    "plain.sh": "#!/bin/bash\n# ping needs nft\necho pinging -nft nc_port=${nc}\nip link\n",
    "vrf.sh": "ip link add red type vrf table 1\n",
    "pings.sh": 'ns() { ip netns exec a "$@"; }\nns ping -c 1 ::1 | nft list\n',
    "helped.sh": "./helper -a\n",
    "xdp.sh": "ip link set lo xdp obj xdp.bpf.o\n",
    "polls": "\x7fELF",
    "polls.c": "setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, 1);\n",
    "read.py": "#!/usr/bin/env python3\n",
}


@pytest.fixture
def selftests(tmp_path: Path) -> Selftests:
    net = tmp_path / SELFTESTS / "net"
    net.mkdir(parents=True)
    for name, text in TEXTS.items():
        (net / name).write_text(text)
        if name not in ("read.py", "polls.c"):
            (net / name).chmod(0o755)
    (net / "settings").write_text("timeout=3600\n")
    (net / "packetdrill").mkdir()
    drill = FolderLists("net/packetdrill", ("one.pkt",))
    return Selftests(tmp_path, (LISTS, drill))


def named(
    selftests: Selftests, options: set[str], programs: set[str], drill: Packetdrill = DRILL
) -> dict[str, KernelTest]:
    machine = Machine(frozenset(options), lambda name: name if name in programs else None)
    found = catalogue(selftests, FOLDERS, machine, drill)
    assert found.not_there == ("net/tcp_ao",)
    return {one.name.removeprefix("net/"): one for one in found.tests}


def test_what_a_test_lacks_is_found_in_its_text(selftests: Selftests) -> None:
    found = named(selftests, set(), set())
    assert {name: one.lacks for name, one in found.items()} == {
        "plain.sh": (),
        "vrf.sh": ("CONFIG_NET_VRF",),
        "pings.sh": ("CONFIG_NF_TABLES", "ping", "nft"),
        "helped.sh": ("helper (which does not compile)",),
        "xdp.sh": ("clang", "CONFIG_BPF_SYSCALL"),
        "polls": ("CONFIG_TCP_MD5SIG",),
        "numa": ("numa.h",),
        "read.py": (),
        "packetdrill/one.pkt": (),
    }


def test_what_is_there_is_not_missing(selftests: Selftests) -> None:
    options = {"NET_VRF", "TCP_MD5SIG", "NF_TABLES", "BPF_SYSCALL"}
    found = named(selftests, options, {"ping", "nft"})
    lacking = {name for name, one in found.items() if one.lacks}
    assert lacking == {"helped.sh", "xdp.sh", "numa"}


def test_a_test_runs_in_its_folder_with_its_limit(selftests: Selftests) -> None:
    found = named(selftests, set(), set())
    plain, read = found["plain.sh"].guest, found["read.py"].guest
    assert plain.command == ("./plain.sh",)
    assert (plain.folder, plain.limit_s) == (f"kernel/{SELFTESTS}/net", 3600.0)
    assert read.command == ("/usr/bin/env", "python3", "./read.py")  # nobody may run it
    drill = found["packetdrill/one.pkt"].guest
    preload = f"LD_PRELOAD=/run/tests/kernel/{PRELOADED}"
    assert drill.command == ("env", preload, "./ksft_runner.sh", "./one.pkt")
    assert drill.limit_s == 45.0


def test_scripts_lack_packetdrill_where_there_is_none(selftests: Selftests) -> None:
    found = named(selftests, set(), set(), Packetdrill.found(None))
    assert found["packetdrill/one.pkt"].lacks == ("packetdrill",)


@pytest.mark.slow
def test_a_static_packetdrill_is_of_no_use(tmp_path: Path) -> None:
    source = tmp_path / "drill.c"
    source.write_text("int main(void) { return 0; }\n")
    for flags, lack in (
        ([], ""),
        (["-static"], "packetdrill that is linked dynamically"),
    ):
        program = tmp_path / "packetdrill"
        subprocess.run(["gcc", *flags, "-o", str(program), str(source)], check=True)
        assert Packetdrill.found(str(program)).lack == lack


def test_scripts_of_a_folder_are_tests_with_the_addresses_of_ipv4(tmp_path: Path) -> None:
    (tmp_path / "tcp/close").mkdir(parents=True)
    (tmp_path / "tcp/close/a.pkt").touch()
    (tmp_path / "b.pkt").touch()
    found = scripts(tmp_path, DRILL)
    assert [one.name for one in found] == ["scripts/b.pkt", "scripts/tcp/close/a.pkt"]
    guest = found[1].guest
    assert guest.folder == "scripts/tcp/close"
    assert guest.command[2:4] == ("packetdrill", "--ip_version=ipv4")
    assert guest.command[-1] == "a.pkt"
    with pytest.raises(UsageError, match=r"no file \*\.pkt"):
        scripts(tmp_path / "tcp/close/..", DRILL) and scripts(tmp_path / "nothing", DRILL)


def test_patterns_choose_tests_by_name_or_by_its_last_part(selftests: Selftests) -> None:
    machine = Machine(frozenset(), lambda _name: None)
    found = catalogue(selftests, FOLDERS, machine, DRILL)
    chosen = found.only(("net/v*", "*.pkt", "polls"))
    assert [one.name for one in chosen.tests] == [
        "net/vrf.sh",
        "net/polls",
        "net/packetdrill/one.pkt",
    ]
    assert found.only(()) == found
    with pytest.raises(UsageError, match=r"--only net/vrf: no test fits .*net/vrf\.sh"):
        found.only(("net/*", "net/vrf"))


def test_all_that_is_listed_is_in_order() -> None:
    found = needs.listed()
    names = [one.option for one in found.options]
    assert len(set(names)) == len(names)
    assert all(one.words or one.tests for one in found.options)
    assert needs.packages(("nft", "CONFIG_TLS", "packetdrill", "ip6tables", "iptables")) == [
        "nftables", "iptables",
    ]  # fmt: skip
    assert shutil.which("sh", path=needs.GUEST_PATH)
