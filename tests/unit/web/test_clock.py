"""A machine without a clock of its own starts in 1970: the dashboard serves all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from results.store.store import Store

CLOCK = """\
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
\tint failed = syscall(SYS_clock_gettime, clock, now);

\tif (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
\t\tnow->tv_sec -= atol(getenv("EARLIER_S"));
\treturn failed;
}

time_t time(time_t *seconds)
{
\tstruct timespec now;

\tclock_gettime(CLOCK_REALTIME, &now);
\tif (seconds)
\t\t*seconds = now.tv_sec;
\treturn now.tv_sec;
}
"""


@pytest.fixture
def in_1970(tmp_path: Path) -> dict[str, str]:
    """Return the environment of programs whose clock began a few seconds ago."""
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return {
        **os.environ, "LD_PRELOAD": str(library), "EARLIER_S": str(int(time.time())),
        "TZ": "America/New_York",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["later", "then"])
def test_the_dashboard_serves_with_the_clock_at_1970(
    tmp_path: Path, in_1970: dict[str, str], stored: str
) -> None:
    db = tmp_path / "runs.db"
    made = (
        "import sys; from pathlib import Path; from results.store.store import Store\n"
        "from tests.support.experiments import make\n"
        "with Store(Path(sys.argv[1])) as store:\n"
        "    make(store, lambda variant, repetition: {'one': 1e6}, [{}], 2)\n"
    )
    environment = in_1970 if stored == "then" else {**os.environ}
    subprocess.run([sys.executable, "-c", made, db], env=environment, check=True)
    with Store.open_read_only(db) as store:
        run_id = store.load("last").row.id
    assert run_id.startswith("1970") == (stored == "then")
    command = [sys.executable, "-c", "from orchestrator.cli import main; main()", "web"]
    with subprocess.Popen(
        [*command, "--port", "0", "--db", db],
        env=in_1970, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stderr
        address = server.stderr.readline().split()[-1]
        for path in ("", "runs", f"runs/{run_id}", "api/runs", f"api/runs/{run_id}"):
            with urllib.request.urlopen(address + path, timeout=20) as answer:
                assert answer.status == 200
                assert " 1970 " in answer.headers["Date"]
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=20)
    assert said == ("", "")
