"""A desk for each user, and the host compared before and after all that is tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.backends.kernels import ensure
from tests.hostile.host import Desk, desk, snapshot
from tests.support.users import User, users

FIRST, *OTHERS = users()


@pytest.fixture(
    scope="session",
    params=[FIRST, *(pytest.param(user, marks=pytest.mark.long) for user in OTHERS)],
    ids=lambda user: f"as-{user.name}",
)
def somebody(request: pytest.FixtureRequest) -> User:
    """Return each user in turn."""
    user = request.param
    assert isinstance(user, User)
    return user


@pytest.fixture(scope="module")
def at_desk(somebody: User) -> Iterator[Desk]:
    """Return the desk of a user; the host is as it was when all is over."""
    ensure()
    before = snapshot()
    with desk(somebody) as place:
        yield place
    after = snapshot()
    for what, was in before.items():
        assert after[what] == was, f"{what} of the host changed"
