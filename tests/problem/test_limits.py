"""When solves stop: one kind of limits for all of them."""

from __future__ import annotations

import time

import pytest

from alphapath.problem.limits import Limits
from alphapath.solvers.native import solve_options


def test_the_seconds_left_are_those_of_the_nearer_limit() -> None:
    assert Limits().seconds_left() is None
    assert Limits(time_limit=5.0).seconds_left() == 5.0
    now = time.monotonic()
    assert Limits(time_limit=5.0, deadline=now + 1e6).seconds_left() == 5.0
    left = Limits(deadline=now + 1e6).seconds_left()
    assert left is not None
    assert 0.0 < left <= 1e6
    with pytest.raises(TimeoutError, match="time limit was reached"):
        Limits(deadline=now - 1.0).seconds_left()


@pytest.mark.parametrize("name", ["tol", "gap_tol", "time_limit"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_limits_that_no_solve_meets_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        solve_options(Limits(**{name: value}), 0)
