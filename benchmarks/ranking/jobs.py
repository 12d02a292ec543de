"""Jobs of the benchmark `ranking`: OHSUMED of LETOR 3, its folds by query."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.harness.data import data_file
from benchmarks.harness.measure import peak_megabytes

#: First and last test query of each fold; the validation part is the test part of the fold before.
TEST_QUERIES = {1: (85, 106), 2: (1, 21), 3: (22, 42), 4: (43, 63), 5: (64, 84)}
NAME = "ohsumed_letor3_qlnorm"

Part = tuple[Any, Any, Any]


def load_fold(fold: int, folder: str) -> tuple[Part, Part, Part]:
    """(X, y, qid) to train, to validate and to test."""
    X, y, qid = load_svmlight_file(str(data_file(NAME, Path(folder))), query_id=True)
    X = X.toarray()

    def is_in(number: int) -> Any:
        first, last = TEST_QUERIES[number]
        return (qid >= first) & (qid <= last)

    test, valid = is_in(fold), is_in((fold - 2) % 5 + 1)
    train = ~(test | valid)
    return tuple((X[rows], y[rows], qid[rows]) for rows in (train, valid, test))  # type: ignore[return-value]


def primal(coef: Any, part: Part, pairs: Any, C: float) -> float:
    """1/2 |w|^2 + C sum of hinges over pairs, by plain numpy."""
    scores = part[0] @ coef
    margins = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return float(0.5 * coef @ coef + C * np.maximum(0.0, 1.0 - margins).sum())


def time_fit(fold: int, model: dict[str, Any], n_repeats: int, folder: str) -> dict[str, Any]:
    """One RankSVM: seconds, memory, certificate, NDCG."""
    from alphapath import RankSVM, ndcg

    train, valid, test = load_fold(fold, folder)
    before = peak_megabytes()
    seconds = []
    for _ in range(n_repeats):
        begin = perf_counter()
        fitted = RankSVM(**model).fit(*train)
        seconds.append(perf_counter() - begin)
    peak = peak_megabytes() - before
    found = fitted.certify(*train)
    scores = {"valid": (valid, fitted.predict(valid[0])), "test": (test, fitted.predict(test[0]))}
    return {
        "seconds": min(seconds),
        "megabytes": peak,
        "n_pairs": fitted.n_pairs_,
        "n_iter": fitted.n_iter_,
        "objective": found.primal_objective,
        "kkt": found.kkt_violation,
        "gap": found.duality_gap / found.primal_objective,
        "ndcg": {
            name: [ndcg(part[1], own, part[2], k=k) for k in range(1, 11)]
            for name, (part, own) in scores.items()
        },
    }


def time_liblinear(
    fold: int, C: float, tol: float, max_iter: int, is_sparse: bool, folder: str
) -> dict[str, Any]:
    """scikit-learn's LinearSVC (LIBLINEAR) on the written-out differences, no intercept."""
    from sklearn.svm import LinearSVC

    from alphapath import RankSVM

    train = load_fold(fold, folder)[0]
    pairs = RankSVM().pairs_of(train[1], train[2])
    before = peak_megabytes()
    X = sparse.csr_matrix(train[0]) if is_sparse else train[0]
    begin = perf_counter()
    signs = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    D = sparse.diags_array(signs) @ D if is_sparse else D * signs[:, np.newaxis]
    if is_sparse:
        D = sparse.csr_matrix(D)
    written = perf_counter() - begin
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=tol, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(D, signs)
    return {
        "seconds": perf_counter() - begin,
        "difference_seconds": written,
        "megabytes": peak_megabytes() - before,
        "n_iter": int(peer.n_iter_),
        "objective": primal(peer.coef_[0], train, pairs, C),
    }


def time_path(fold: int, model: dict[str, Any], n_checks: int, folder: str) -> dict[str, Any]:
    """The exact path from uniform to gain weights, certified, and its validation NDCG@10."""
    from alphapath import RankSVM, certify, ndcg
    from alphapath.paths import rank_weight_path

    train, valid, test = load_fold(fold, folder)
    before = peak_megabytes()
    begin = perf_counter()
    path = rank_weight_path(RankSVM(**model), train[0], train[1], qid=train[2])
    seconds = perf_counter() - begin
    begin = perf_counter()
    curve = path.validate(*valid, k=10)
    curve_seconds = perf_counter() - begin
    peak = peak_megabytes() - before
    rng = np.random.default_rng(0)
    times = np.concatenate(
        [rng.uniform(0.0, 1.0, n_checks), rng.choice(path.breakpoints_, n_checks)]
    )
    worst = worst_gap = difference = 0.0
    for t in times:
        solution = path.at(float(t))
        found = certify(solution.problem, solution.beta)
        worst = max(worst, found.kkt_violation)
        worst_gap = max(worst_gap, found.duality_gap / found.primal_objective)
    for t in times[:n_checks]:
        value = ndcg(valid[1], path.decision_function(valid[0], float(t)), valid[2])
        difference = max(difference, abs(value - float(curve(t))))
    t, value = curve.best
    sizes = np.diff(np.append(path.pieces["first"], path.pieces["members"].size))
    return {
        "seconds": seconds,
        "curve_seconds": curve_seconds,
        "megabytes": peak,
        "n_events": path.n_events,
        "n_gaps": len(path.gaps),
        "mean_margin": float(sizes.mean()),
        "max_margin": int(sizes.max()),
        "kkt": worst,
        "gap": worst_gap,
        "n_steps": int(curve.starts.size),
        "difference": difference,
        "best_t": t,
        "best": value,
        "at_uniform": float(curve(0.0)),
        "at_gain": float(curve(1.0)),
        "test": ndcg(test[1], path.decision_function(test[0], t), test[2]),
    }
