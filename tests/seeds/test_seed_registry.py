"""Every listing of seeds comes from the registry: a new seed is one function and one entry."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from alphapath import SVC, _core
from alphapath.cli.commands import cv
from alphapath.model_selection import cross_validate, leave_one_out
from alphapath.problem import Problem, Solution, Start
from alphapath.report.html.time import seed_words
from alphapath.search.folds.plan import FULL, make_plan
from alphapath.search.plan import seedings_along_c
from alphapath.seeds import REGISTRY, SEEDS, Seed, greedy, register, unregister
from alphapath.solvers.native import ACROSS_ROWS
from alphapath.solvers.sequence.along_c import CHAIN_SEEDS

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0.0).astype(int)


@pytest.fixture
def asked() -> Iterator[list[int]]:
    """A seed registered for one test, and the sizes of the problems that it was asked for."""
    calls: list[int] = []

    def seed(parent: Solution, problem: Problem) -> Start | None:
        calls.append(problem.n)
        return greedy.seed(parent, problem)

    register(Seed("counted", "the solution on all data, counted", "full", seed))
    yield calls
    unregister("counted")


def test_a_new_seed_serves_folds(asked: list[int]) -> None:
    model = SVC(C=5.0, gamma=0.5, tol=1e-6)
    folds = StratifiedKFold(4)
    found = cross_validate(model, X, Y, cv=folds, seeding="counted")
    assert len(asked) == 4
    cold = cross_validate(model, X, Y, cv=folds, seeding="none")
    np.testing.assert_array_equal(found["test_score"], cold["test_score"])
    assert set(found["seed"]) == {"counted"}
    asked.clear()
    result = leave_one_out(model, X, Y, seeding="counted")
    assert result.score_ == leave_one_out(model, X, Y, seeding="none").score_
    assert asked


@pytest.mark.usefixtures("asked")
def test_a_new_seed_is_in_every_listing() -> None:
    assert SEEDS["counted"] is REGISTRY["counted"].python
    plan = make_plan((0, 1), lambda fold: np.arange(4) == fold, "counted", False, 4)
    assert plan.parents == {0: FULL, 1: FULL}
    assert seed_words("counted") == "the solution on all data, counted"
    parser = argparse.ArgumentParser()
    cv.add_arguments(parser)
    assert parser.parse_args(["--seeding", "counted"]).seeding == "counted"
    with pytest.raises(ValueError, match="a seed called 'counted' already"):
        register(Seed("counted", "again", "fold"))


def test_a_seed_is_gone_with_its_entry() -> None:
    for function in (cross_validate, leave_one_out):
        with pytest.raises(ValueError, match="seeding is 'counted'") as error:
            function(SVC(), X, Y, seeding="counted")
        assert all(repr(name) in str(error.value) for name in SEEDS)


def test_every_native_seed_has_one_entry() -> None:
    native = {name: seed.native for name, seed in REGISTRY.items() if seed.native is not None}
    assert native == {seed.name: seed for seed in _core.Seed}
    across = {name for name in native if not REGISTRY[name].leads_along_C} - {"cold"}
    assert across == {ACROSS_ROWS}
    assert set(seedings_along_c()) == set(CHAIN_SEEDS) - {"none"}
    assert all(name == seed.name and seed.words for name, seed in REGISTRY.items())


@pytest.mark.parametrize("name", [name for name, seed in REGISTRY.items() if seed.python is None])
def test_what_has_no_python_form_is_native(name: str) -> None:
    assert REGISTRY[name].native is not None
    assert name not in SEEDS
