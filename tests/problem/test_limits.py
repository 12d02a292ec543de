"""When solves stop: one kind of limits for all of them."""

from __future__ import annotations

import time

import pytest

from alphapath.problem.limits import Limits
from alphapath.search.folds.run import seconds_left
from alphapath.solvers.native import solve_options


def test_the_seconds_left_are_those_of_the_nearer_limit() -> None:
    assert seconds_left(Limits()) is None
    assert seconds_left(Limits(time_limit=5.0)) == 5.0
    now = time.monotonic()
    assert seconds_left(Limits(time_limit=5.0, deadline=now + 1e6)) == 5.0
    left = seconds_left(Limits(deadline=now + 1e6))
    assert left is not None
    assert 0.0 < left <= 1e6
    with pytest.raises(TimeoutError, match="time limit was reached"):
        seconds_left(Limits(deadline=now - 1.0))


@pytest.mark.parametrize("name", ["tol", "gap_tol", "time_limit"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_limits_that_no_solve_meets_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        solve_options(Limits(**{name: value}), 0)
