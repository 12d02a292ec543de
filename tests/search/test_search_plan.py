"""Plans of a search, and the shelf its kernels lie on."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from alphapath import SVC
from alphapath.kernels.store import Shelf
from alphapath.model_selection import SVMSearchCV
from alphapath.search.chain import ROOT
from alphapath.search.plan import PLANS, Group, make_plan
from datasets import generated

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.02, 0.2, 2.0]}


class TestPlan:
    group = Group("rbf gamma=1", 0, 0, 0, (0, 1, 2), (0.5, 1.0, 2.0), ((0,), (1,), (2,)))

    @pytest.mark.parametrize("name", PLANS)
    @pytest.mark.parametrize("is_one_chain", [False, True])
    @pytest.mark.parametrize("shares_kernel", [False, True])
    def test_every_node_once_and_after_its_parent(self, name, is_one_chain, shares_kernel):
        group = Group(
            *[getattr(self.group, f) for f in ("label", "head", "kernel", "model")],
            folds=self.group.folds,
            factors=self.group.factors,
            cells=self.group.cells,
            shares_kernel=shares_kernel,
            is_one_chain=is_one_chain,
        )
        plan = make_plan([group], name)
        nodes = [node for _, node, _ in plan.edges()]
        assert len(set(nodes)) == len(nodes) == plan.n_nodes == 9
        assert len({chain.key for chain in plan.chains}) == len(plan.chains)
        for chain in plan.chains:
            for k, step in enumerate(chain.steps):
                assert ROOT <= step.parent < k
                if step.parent == ROOT:
                    assert step.seed == "cold"
            if not shares_kernel:
                assert len(chain.folds) == 1
        for parent, node, _ in plan.edges():
            if parent is not None:
                assert parent.C <= node.C
                assert parent.fold == node.fold or name.startswith(("linked", "auto"))

    def test_it_can_be_printed(self):
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, cv=3).fit(X, y)
        text = str(search.plan_)
        assert "36 solves in 3 chains" in text
        assert "rbf gamma=0.2" in text
        assert "cold C=0.1 (" in text
        linked = SVMSearchCV(SVC(), {"gamma": [0.1]}, cv=3).fit(X, y)
        assert "greedy from fold 0: C=1" in str(linked.plan_)

    def test_work_is_counted_the_same_every_time(self):
        X, y = generated()
        first, second = (SVMSearchCV(SVC(), GRID).fit(X, y).plan_.work for _ in range(2))
        assert first.keys() == second.keys()
        for key in first:
            np.testing.assert_array_equal(first[key], second[key])
            assert (first[key] >= 0.0).all()


class TestShelf:
    def test_things_are_made_once_and_wait_for_room(self):
        shelf = Shelf(limit=10)
        made, inside, most = [], [0], [0]
        lock = threading.Lock()

        def make(key):
            made.append(key)
            return key

        def work(thing):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.005)
            with lock:
                inside[0] -= 1
            return thing

        def run(key):
            with shelf.lease(key, 6, lambda: make(key)) as thing:
                assert work(thing) == key

        threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(made) == [0, 1, 2, 3]
        assert most[0] == 1  # two of them would be too large
        with shelf.lease(made[-1], 6, lambda: pytest.fail("it is still there")) as thing:
            assert thing == made[-1]

    def test_what_can_not_be_made_is_forgotten(self):
        shelf = Shelf(10)
        with pytest.raises(ZeroDivisionError):
            shelf.lease("a", 1, lambda: 1 // 0).__enter__()
        with shelf.lease("a", 1, lambda: 7) as thing:
            assert thing == 7
