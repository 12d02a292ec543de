"""RankSVM: the exact solution of the problem over pairs, whose kernel is never made."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import ndcg_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from alphapath import Problem, RankSVM, Status, certify, ndcg
from alphapath.errors import SolverMismatch
from alphapath.kernels import KernelStore, PairView, Precomputed, pairs_within
from alphapath.kernels.pair_differences import LinearRows
from alphapath.solvers import coordinate
from alphapath.solvers import ranking as pairs
from oracles import MatrixView, solve_by_qp
from rank_cases import CASES, KERNELS, generated


def explicit(problem: Problem) -> Problem:
    """The same problem on the written-out kernel of pair differences."""
    view: Any = problem.kernel
    instances = np.asarray(view.kernel.evaluate(view._X, view._X))
    D = np.zeros((view.n, len(instances)))
    D[np.arange(view.n), view.better] = 1.0
    D[np.arange(view.n), view.worse] = -1.0
    K = D @ instances @ D.T
    return Problem.ranking(KernelStore((K + K.T) / 2.0).view(Precomputed()), problem.weights)


@pytest.mark.parametrize("pair_weights", ["uniform", "gain"])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_fit_is_optimal(name: str, kernel: str, pair_weights: str) -> None:
    X, y, qid = CASES[name]()
    for C in (1e-3, 0.1, 10.0):
        model = RankSVM(C=C, pair_weights=pair_weights, **KERNELS[kernel]).fit(X, y, qid)
        found = model.certify(X, y, qid)
        assert model.fit_status_ is Status.SOLVED
        assert found.box_violation == 0.0
        assert found.kkt_violation <= 1e-9 * max(1.0, np.abs(model.pair_coef_).sum())
        assert found.duality_gap <= 1e-9 * max(1.0, found.primal_objective)
        assert_allclose(found.objective, model.objective_, rtol=1e-9)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("name", ["generated", "duplicates", "grid"])
def test_the_fit_equals_that_of_the_written_out_kernel(name: str, kernel: str) -> None:
    X, y, qid = CASES[name]()
    problem = RankSVM(C=0.3, pair_weights="gain", **KERNELS[kernel]).to_problem(X, y, qid=qid)
    written = explicit(problem)
    own = pairs.solve(problem)
    ours = coordinate.solve(written, tol=1e-8)
    assert_allclose(own.info.objective, ours.info.objective, rtol=1e-7)
    assert_allclose(own.gradient, ours.gradient, atol=1e-5)
    assert_allclose(certify(written, own.beta).objective, own.info.objective, rtol=1e-9)


def test_the_fit_equals_that_of_a_qp_solver() -> None:
    X, y, qid = generated(6, 5, 25)
    problem = RankSVM(C=0.5).to_problem(X, y, qid=qid)
    written: Any = explicit(problem).kernel
    matrix = Problem.ranking(MatrixView(written.exact_rows(np.arange(problem.n))), problem.weights)
    beta = np.clip(solve_by_qp(matrix), 0.0, problem.upper)
    own = pairs.solve(problem)
    assert_allclose(own.info.objective, certify(problem, beta).objective, rtol=1e-7)


def test_the_fit_equals_liblinear_on_differences() -> None:
    X, y, qid = generated(7, 8, 120)
    model = RankSVM(C=0.05).fit(X, y, qid)
    better, worse = model.pairs_of(y, qid).T
    signs = np.where(np.arange(len(better)) % 2, 1.0, -1.0)
    peer = LinearSVC(C=0.05, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000)
    peer.fit((X[better] - X[worse]) * signs[:, None], signs)
    assert_allclose(model.coef_, peer.coef_[0], atol=1e-4)
    assert_allclose(model.predict(X), X @ model.coef_, rtol=1e-12)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_descent_reaches_what_newton_and_the_walk_reach(kernel: str) -> None:
    X, y, qid = generated(8)
    problem = RankSVM(C=0.1, **KERNELS[kernel]).to_problem(X, y, qid=qid)
    exact = pairs.solve(problem)
    with_limit = pairs.solve(problem, tol=1e-6, max_iter=100_000)
    assert with_limit.info.status is Status.SOLVED
    assert certify(problem, with_limit.beta).kkt_violation <= 1e-6
    assert_allclose(with_limit.info.objective, exact.info.objective, rtol=1e-6)


def test_the_own_optimum_as_start_takes_one_pass() -> None:
    X, y, qid = generated(9)
    problem = RankSVM(C=0.1, kernel="rbf", gamma=0.3).to_problem(X, y, qid=qid)
    first = pairs.solve(problem)
    again = pairs.solve(problem, first.as_start())
    assert again.info.n_iter <= 1 < first.info.n_iter
    assert_allclose(again.gradient, first.gradient, atol=1e-9)


def test_wide_sparse_rows_are_solved_by_descent() -> None:
    rng = np.random.default_rng(10)
    X = sp.random_array((80, 700), density=0.05, rng=rng, format="csr")
    y, qid = rng.integers(3, size=80), np.arange(80) % 5
    model = RankSVM(C=1.0).fit(X, y, qid)
    assert model.certify(X, y, qid).kkt_violation <= 1e-9
    dense = RankSVM(C=1.0).fit(X.toarray(), y, qid)
    assert_allclose(model.coef_, dense.coef_, atol=1e-9)


def test_queries_may_be_mixed_or_given_by_sizes() -> None:
    X, y, qid = generated(11)
    order = np.argsort(qid, kind="stable")
    model = RankSVM(C=0.1).fit(X, y, qid)
    _, sizes = np.unique(qid, return_counts=True)
    by_size = RankSVM(C=0.1).fit(X[order], y[order], group=sizes)
    named = RankSVM(C=0.1).fit(X, y, np.array([f"q{number:02}" for number in qid]))
    assert_allclose(model.coef_, by_size.coef_, atol=1e-10)
    assert_array_equal(model.coef_, named.coef_)
    assert_allclose(model.score(X, y, qid), by_size.score(X[order], y[order], group=sizes))


def test_a_weight_is_as_good_as_repetitions() -> None:
    X, y, qid = generated(12)
    weights = np.random.default_rng(0).integers(3, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted = RankSVM(C=0.1).fit(X, y, qid, sample_weight=weights)
    plain = RankSVM(C=0.1).fit(X[repeated], y[repeated], qid[repeated])
    assert_allclose(weighted.coef_, plain.coef_, atol=1e-9)
    assert weighted.certify(X, y, qid, sample_weight=weights).is_optimal(1e-9)


def test_a_kernel_matrix_may_be_given() -> None:
    X, y, qid = generated(13)
    K = rbf_kernel(X, gamma=0.3)
    given = RankSVM(C=0.5, kernel="precomputed").fit(K, y, qid)
    plain = RankSVM(C=0.5, kernel="rbf", gamma=0.3).fit(X, y, qid)
    assert_allclose(given.predict(K[:7]), plain.predict(X[:7]), atol=1e-9)
    assert given.certify(K, y, qid).is_optimal(1e-9)


def test_the_memory_limit_only_costs_time() -> None:
    X, y, qid = generated(14, 6, 200)
    options: dict[str, Any] = {"C": 0.05, "kernel": "rbf", "gamma": 0.3}
    small = RankSVM(**options, memory_limit="100KB").fit(X, y, qid)
    assert_allclose(small.predict(X), RankSVM(**options).fit(X, y, qid).predict(X), atol=1e-9)


def test_pairs_take_no_memory_of_features_or_squares() -> None:
    rng = np.random.default_rng(15)
    X = rng.normal(size=(1500, 40))
    y, qid = rng.integers(3, size=1500), np.repeat(np.arange(10), 150)
    model = RankSVM(C=1e-3)
    tracemalloc.start()
    model.fit(X, y, qid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    differences = 8 * 40 * model.n_pairs_
    assert model.n_pairs_ > 70_000
    assert peak < differences
    assert model.certify(X, y, qid).is_optimal(1e-9)


def test_ndcg_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(16)
    for k in (1, 3, 10, None):
        y, qid = rng.integers(4, size=90), rng.integers(7, size=90)
        scores = np.round(rng.normal(size=90), 1)  # with ties
        peer = [
            ndcg_score([2.0 ** y[qid == q] - 1.0], [scores[qid == q]], k=k) for q in np.unique(qid)
        ]
        assert_allclose(ndcg(y, scores, qid, k=k), np.mean(peer), rtol=1e-12)
    assert ndcg([0, 0], [1.0, 2.0]) == 0.0
    weights = np.where(qid == 0, 2.0, 1.0)
    means = [weights[qid == q].mean() for q in np.unique(qid)]
    found = ndcg(y, scores, qid, k=None, sample_weight=weights)
    assert_allclose(found, np.average(peer, weights=means), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"qid": [1, 2]}, r"qid has shape \(2,\); there must be one query id for each of 60 rows"),
        ({"qid": np.full(60, np.nan)}, r"qid\[0\] is nan"),
        ({"qid": None, "group": [10, 20]}, "sum to 30 .* sum to the 60 rows"),
        ({"qid": None, "group": [0, 60]}, "the least is 0"),
        ({"qid": None, "group": [1.5, 58.5]}, "whole numbers"),
        ({"group": [60]}, "Both qid and group"),
        ({"qid": np.arange(60)}, "no pair to rank among n_samples = 60 rows in 60 queries"),
        ({"y": np.ones(60)}, "no pair to rank"),
        ({"y": np.arange(60) * 20}, r"y\[26\] is 520.0; gains are 2\^y - 1"),
        ({"sample_weight": -np.ones(60)}, "sample_weight"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change: dict[str, Any], words: str) -> None:
    X, y, qid = generated()
    arguments: dict[str, Any] = {"y": y, "qid": qid, **change}
    with pytest.raises(ValueError, match=words):
        RankSVM().fit(X, **arguments)


def test_other_problems_are_refused() -> None:
    view = KernelStore(np.eye(2)).view(Precomputed())
    with pytest.raises(SolverMismatch, match=r"Problem\.ranking"):
        pairs.solve(Problem.classification(view, [1.0, -1.0], [1.0, 1.0]))
    X, y, qid = generated()
    with pytest.raises(ValueError, match=r"there are \d+ pairs"):
        RankSVM().to_problem(X, y, qid=qid, pair_weights=[1.0])
    with pytest.raises(ValueError, match="certify needs the training data"):
        RankSVM().fit(X, y, qid).certify(X, y)


def test_limits_are_kept_and_told() -> None:
    X, y, qid = generated(17, 4, 200)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        stopped = RankSVM(C=10.0, max_iter=2).fit(X, y, qid)
    assert stopped.fit_status_ is Status.ITERATION_LIMIT
    certificate = stopped.certify(X, y, qid)
    assert certificate.box_violation == 0.0
    assert_allclose(certificate.kkt_violation, stopped.kkt_violation_, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick = RankSVM(C=10.0, kernel="rbf", time_limit=1e-6).fit(X, y, qid)
    assert quick.fit_status_ is Status.TIME_LIMIT


@pytest.mark.parametrize("scales", [[1e3], [1e-4, 1.0, 2e3], [3.0, 200.0, 2e3, 0.03, 2e-4]])
@pytest.mark.parametrize("C", [1.0, 50.0])
def test_features_of_very_different_size(scales: list[float], C: float) -> None:
    """The step along a large feature is many orders smaller than along the others."""
    rng = np.random.default_rng(len(scales))
    X = rng.normal(size=(60, len(scales))) * scales
    y, qid = rng.integers(3, size=60), rng.integers(3, size=60)
    model = RankSVM(C=C).fit(X, y, qid)
    assert model.fit_status_ is Status.SOLVED
    assert model.certify(X, y, qid).is_optimal(2e-3)


def test_rounding_ends_a_fit_and_is_told() -> None:
    """Values of the kernel of 1e19: no tolerance can be reached."""
    X, y, qid = generated(19)
    with pytest.warns(ConvergenceWarning, match="Rounding stopped the solver"):
        model = RankSVM(C=10.0, kernel="poly", gamma=1.0).fit(X + 1000.0, y, qid)
    assert model.fit_status_ is Status.STALLED


def test_a_kernel_that_is_not_definite_ends() -> None:
    X, y, qid = generated(18)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankSVM(C=0.1, kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y, qid)
    assert model.certify(X, y, qid).box_violation == 0.0


def test_sums_over_pairs_are_sums_over_instances() -> None:
    X, y, qid = generated(19, 3, 12)
    order = np.argsort(qid, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.unique(qid, return_counts=True)[1])])
    view = PairView(LinearRows(X[order]), *pairs_within(y[order], first), first)
    D = X[order][view.better] - X[order][view.worse]
    beta = np.random.default_rng(0).uniform(size=view.n)
    assert_allclose(view.multiply(np.arange(view.n), beta), D @ (D.T @ beta), rtol=1e-12)
    assert_allclose(view.exact_rows([2, 0]), (D @ D.T)[[2, 0]], atol=1e-12)
