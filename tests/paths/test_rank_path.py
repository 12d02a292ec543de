"""Paths of ranking models: exact everywhere, with every change of NDCG found."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import ndcg_score
from sklearn.metrics.pairwise import rbf_kernel

from alphapath import RankSVM, certify, ndcg
from alphapath.paths import Place, RankPath, rank_c_path, rank_weight_path
from alphapath.paths.ranking.ndcg import NdcgRecorder, read_queries
from alphapath.solvers import ranking as pairs
from rank_cases import CASES, KERNELS, generated

mpl.use("Agg")


def check_exact(path: RankPath, times: Any) -> None:
    assert path.gaps == ()
    for t in times:
        solution = path.at(float(t))
        found = certify(solution.problem, solution.beta)
        floor = 4e-15 * np.abs(solution.beta).sum() * (1.0 + np.abs(solution.gradient).max())
        assert found.is_optimal(max(1e-8, floor))
        assert found.duality_gap <= 1e-9 * max(1.0, found.primal_objective)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_path_from_uniform_to_gain_is_exact(name: str, kernel: str) -> None:
    X, y, qid = CASES[name]()
    for C in (0.01, 1.0):
        path = rank_weight_path(RankSVM(C=C, **KERNELS[kernel]), X, y, qid=qid)
        rng = np.random.default_rng(0)
        check_exact(path, rng.uniform(0.0, 1.0, 20))
        check_exact(path, rng.choice(path.breakpoints_, 10))
        t = float(rng.uniform())
        fresh = pairs.solve(path.at(t).problem)
        assert_allclose(path.at(t).info.objective, fresh.info.objective, rtol=1e-9)
        assert_allclose(path.at(t).gradient, fresh.gradient, atol=1e-6)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_path_along_c_is_exact(kernel: str) -> None:
    X, y, qid = generated(20)
    model = RankSVM(**KERNELS[kernel], pair_weights="gain")
    path = rank_c_path(model, X, y, 2.0**-10, 2.0**4, qid=qid)
    check_exact(path, 2.0 ** np.random.default_rng(0).uniform(-10.0, 4.0, 30))
    own = model.set_params(C=0.2).fit(X, y, qid)
    assert_allclose(path.decision_function(X, 0.2), own.predict(X), atol=1e-8)


def test_any_two_weightings_are_joined() -> None:
    X, y, qid = generated(21)
    rng = np.random.default_rng(0)
    n = len(RankSVM().pairs_of(y, qid))
    old, new = rng.uniform(size=n), rng.uniform(size=n)
    old[rng.uniform(size=n) < 0.3] = 0.0
    new[rng.uniform(size=n) < 0.3] = 0.0
    path = rank_weight_path(RankSVM(), X, y, qid=qid, c_old=old, c_new=new)
    check_exact(path, rng.uniform(0.0, 1.0, 30))
    assert_allclose(path.at(1.0).problem.weights, new, atol=1e-15)


def test_a_step_never_skips_a_pair_of_many() -> None:
    # More pairs than twice the rows: events are looked for in a window of them.
    rng = np.random.default_rng(22)
    X = rng.normal(size=(300, 6))
    y, qid = rng.integers(4, size=300), np.arange(300) % 3
    path = rank_weight_path(RankSVM(C=0.01), X, y, qid=qid)
    assert path.problem.n > 8_000
    check_exact(path, np.linspace(0.0, 1.0, 101))
    check_exact(path, rng.choice(path.breakpoints_, 100))


def brute_force(path: RankPath, X: Any, y: Any, qid: Any, t: float) -> float:
    scores = path.decision_function(X, t)
    return float(
        np.mean(
            [ndcg_score([2.0 ** y[qid == q] - 1], [scores[qid == q]], k=5) for q in np.unique(qid)]
        )
    )


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_ndcg_curve_is_exact(kernel: str) -> None:
    X, y, qid = generated(23, 5, 80)
    V, v, vq = generated(24, 6, 70)
    V[10], v[10], vq[10], v[11] = V[11], 2, vq[11], 0  # equal rows tie everywhere
    path = rank_weight_path(RankSVM(C=0.3, **KERNELS[kernel]), X, y, qid=qid)
    curve = path.validate(V, v, vq, k=5)
    grid = np.linspace(0.0, 1.0, 601)[1:-1]
    near = np.min(np.abs(grid[:, None] - curve.starts), axis=1) < 1e-9
    dense = np.array([brute_force(path, V, v, vq, t) for t in grid])
    assert_allclose(curve(grid)[~near], dense[~near], atol=1e-10)
    assert curve.starts.size > 3
    t, value = curve.best
    assert_allclose(brute_force(path, V, v, vq, t), value, atol=1e-10)
    assert value >= dense.max() - 1e-10
    assert any(low <= t <= high for low, high in curve.best_ranges)
    for start in curve.starts[1:]:  # every change is one
        sides = [brute_force(path, V, v, vq, start + side) for side in (-1e-9, 1e-9)]
        assert abs(sides[1] - sides[0]) > 1e-12


def test_crossings_within_one_piece_are_all_found() -> None:
    rng = np.random.default_rng(25)
    relevance, queries = rng.integers(4, size=40).astype(float), read_queries(40, np.arange(40) % 3)
    times, values = np.array([0.0, 1.0, 3.0]), rng.normal(size=(3, 40))
    recorder = NdcgRecorder(relevance, queries, 6)
    for k in (0, 1):  # block by block
        recorder.add(times[k : k + 2], values[k : k + 2])
    curve = recorder.curve(3.0, "t")
    for t in np.linspace(0.0, 3.0, 2000)[1:-1]:
        k = int(t >= 1.0)
        share = (t - times[k]) / (times[k + 1] - times[k])
        scores = values[k] + share * (values[k + 1] - values[k])
        assert_allclose(curve(t), ndcg(relevance, scores, np.arange(40) % 3, k=6), atol=1e-11)


def test_scores_at_both_ends_of_pieces() -> None:
    X, y, qid = generated(26)
    path = rank_weight_path(RankSVM(C=0.5, kernel="rbf", gamma=0.3), X, y, qid=qid)
    first, last = path.values_on(X[:9])
    starts, ends = path.pieces["tau"], np.append(path.pieces["tau"][1:], path.end)
    for k in range(0, path.n_pieces, 7):
        assert_allclose(first[k], path.decision_function(X[:9], starts[k]), atol=1e-10)
        assert_allclose(last[k], path.decision_function(X[:9], ends[k]), atol=1e-10)


def test_a_path_makes_estimators_files_and_plots(tmp_path: FilePath) -> None:
    X, y, qid = generated(27)
    path = rank_weight_path(RankSVM(C=0.5), X, y, qid=qid)
    model = path.to_estimator(0.4)
    assert_allclose(model.predict(X), path.decision_function(X, 0.4), atol=1e-10)
    assert model.score(X, y, qid) == pytest.approx(float(path.validate(X, y, qid)(0.4)), abs=0.05)
    path.save(tmp_path / "path.npz")
    again = RankPath.load(tmp_path / "path.npz", RankSVM(C=0.5).to_problem(X, y, qid=qid))
    assert_array_equal(again.at(0.7).beta, path.at(0.7).beta)
    assert np.count_nonzero(path.sets_at(0.5) == Place.MARGIN) <= X.shape[1]
    assert path.plot().get_ylabel() == "weight"
    curve = path.validate(X, y, qid)
    assert curve.plot().get_ylabel() == "NDCG@10"
    curved = rank_weight_path(RankSVM(C=0.5, kernel="rbf", gamma=1.0), X, y, qid=qid)
    assert curved.plot(instances=[0, 1]).get_ylabel() == "score"
    with pytest.raises(ValueError, match=r"t is 2\.0; this path goes from 0\.0 to 1\.0"):
        path.at(2.0)


def test_a_path_on_a_given_kernel_matrix() -> None:
    X, y, qid = generated(28)
    K = rbf_kernel(X, gamma=0.3)
    given = rank_weight_path(RankSVM(C=0.5, kernel="precomputed"), K, y, qid=qid)
    plain = rank_weight_path(RankSVM(C=0.5, kernel="rbf", gamma=0.3), X, y, qid=qid)
    assert_allclose(
        given.decision_function(K[:5], 0.3), plain.decision_function(X[:5], 0.3), atol=1e-8
    )
    assert_allclose(given.validate(K, y, qid).best, plain.validate(X, y, qid).best, atol=1e-6)


def by_hand(relevance: Any, scores: Any, k: int) -> float:
    """NDCG@k of one query: scores within 1e-9 of the largest are equal, and share their gain."""
    gains, order = 2.0**relevance - 1.0, np.argsort(-scores)
    groups, last = [], np.inf
    for i in order:
        if last - scores[i] > 1e-9 * np.abs(scores).max():
            groups.append([])
        groups[-1].append(gains[i])
        last = scores[i]
    spread = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    discount = np.where(np.arange(len(gains)) < k, 1.0 / np.log2(np.arange(len(gains)) + 2.0), 0.0)
    best = np.sort(gains)[::-1] @ discount
    return float(spread @ discount / best) if best > 0.0 else 0.0


def test_rounding_ranks_no_row() -> None:
    y = np.array([2.0, 0.0, 1.0, 0.0])
    for noise in (np.zeros(4), np.array([0.0, 1e-15, -1e-15, 2e-15])):
        assert_allclose(ndcg(y, 3.0 + noise, k=3), by_hand(y, np.full(4, 3.0), 3), rtol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = rng.integers(0, 4, 12).astype(float)
        scores = rng.integers(0, 4, 12) / 3.0 + rng.normal(size=12) * 1e-14
        assert_allclose(ndcg(y, scores, k=5), by_hand(y, scores, 5), rtol=1e-12)


def test_ties_of_a_stretch_are_told_where_no_row_changes_its_place() -> None:
    """Rows that are equal up to rounding over one stretch and part on the next."""
    relevance = np.array([0.0, 1.0, 2.0, 0.0])
    times = np.array([0.0, 1.0, 2.0, 3.0])
    values = np.array(
        [
            [1.0, 1.0 + 2e-16, 1.0, 0.5],
            [1.0, 1.0, 1.0 + 2e-16, 0.5],
            [1.2, 1.1, 1.0, 0.5],
            [1.0, 1.0 - 1e-16, 1.0, 0.5],
        ]
    )
    recorder = NdcgRecorder(relevance, read_queries(4), 2)
    recorder.add(times, values)
    curve = recorder.curve(3.0, "t")
    for t in (0.1, 0.5, 0.9, 1.1, 1.5, 2.5, 2.9):
        k = int(t)
        scores = values[k] + (t - k) * (values[k + 1] - values[k])
        assert_allclose(curve(t), by_hand(relevance, scores, 2), atol=1e-11)
    assert curve(0.5) != curve(1.5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_ties_on_training_rows_follow_one_rule(kernel: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(-1, 2, (24, 3)).astype(float)
        y, qid = rng.integers(0, 3, 24).astype(float), np.arange(24) % 2
        path = rank_c_path(RankSVM(kernel=kernel, gamma=0.5), X, y, 0.01, 10.0, qid=qid)
        curve = path.validate(X, y, qid, k=5)
        edges = np.append(curve.starts, curve.end)
        for t in (edges[1:] + edges[:-1]) / 2.0:
            scores = path.decision_function(X, float(t))
            expected = np.mean([by_hand(y[qid == q], scores[qid == q], 5) for q in (0, 1)])
            assert_allclose(curve(t), expected, atol=1e-11)
            assert_allclose(ndcg(y, scores, qid, k=5), expected, atol=1e-11)


def test_rows_in_any_container_are_scored() -> None:
    X, y, qid = generated(30)
    path = rank_c_path(RankSVM(kernel="rbf", gamma=0.3), X, y, 0.01, 1.0, qid=qid)
    plain = path.validate(X, y, qid)
    for other in (X.tolist(), sp.coo_array(X), sp.csc_matrix(X)):
        assert_allclose(
            path.decision_function(other, 0.5), path.decision_function(X, 0.5), atol=1e-12
        )
        assert path.validate(other, y, qid).best == pytest.approx(plain.best)


def test_what_bridges_a_gap_is_no_piece_of_the_path() -> None:
    """Where the solver takes over, its way to the exact solution has a time of its own."""
    rng = np.random.default_rng(6035)
    X = 2e6 + 1e4 * rng.normal(size=(4, 2))
    y, qid = np.array([0.0, 2.0, 0.0, 1.0]), np.array([1, 1, 0, 1])
    for C in (1e-8, 1e-3, 1e3):
        for c_new in ("gain", np.array([1e-9, 0.0, 1.0])):
            path = rank_weight_path(
                RankSVM(C=C), X, y, qid=qid, c_old=np.array([1e3, 1.0, 1e-3]), c_new=c_new
            )
            assert np.all(np.diff(path.pieces["tau"]) >= 0.0)


def test_equal_rows_have_equal_scores() -> None:
    X, y, qid = generated(31)
    path = rank_c_path(RankSVM(), X, y, 0.01, 1.0, qid=qid)
    for n in (5, 11, 18):
        scores = path.decision_function(np.tile(X[:1] / 3.0, (n, 1)), 0.3)
        assert np.unique(scores).size == 1
