"""The work behind `exactness`: one data set and one gamma, all C, in one process.

Reference: our solver at tolerance 1e-10 on a double kernel, certified from raw data, and compared
with a general QP solver where the set is small. Everything is judged with a kernel matrix that
judge.py computes in plain numpy.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import judge
from benchmarks.harness.data import DataSpec, load

TIGHT = 1e-10
QP_ROWS = 520  # general QP only up to here: it needs the dense matrix many times over


def examine(
    data: dict[str, Any], is_regression: bool, gamma: float, C_values: list[float], places: dict
) -> list[dict[str, Any]]:
    """Job: one row per C; `places` holds the folders of the data and of the cache."""
    X, y = load(DataSpec(**data), Path(places["data"]))
    K = judge.rbf(judge.as_dense(X), judge.as_dense(X), gamma)
    return [
        examine_one(X, y, K, Question(data, is_regression, C, gamma), Path(places["cache"]))
        for C in C_values
    ]


class Question:
    """One model: data, C, gamma and which estimator."""

    def __init__(self, data: dict[str, Any], is_regression: bool, C: float, gamma: float) -> None:
        self.data, self.is_regression, self.C, self.gamma = data, is_regression, C, gamma
        self.epsilon = 0.1 if is_regression else 0.0

    def ours(self, tol: float) -> Any:
        import alphapath

        if self.is_regression:
            return alphapath.SVR(C=self.C, gamma=self.gamma, tol=tol, epsilon=self.epsilon)
        return alphapath.SVC(C=self.C, gamma=self.gamma, tol=tol, decision_function_shape="ovo")

    def theirs(self, tol: float) -> Any:
        from sklearn import svm

        settings = {"C": self.C, "gamma": self.gamma, "tol": tol, "cache_size": 1000}
        if self.is_regression:
            return svm.SVR(epsilon=self.epsilon, **settings)
        return svm.SVC(decision_function_shape="ovo", **settings)


def sklearn_answer(X: Any, y: np.ndarray, question: Question, tol: float, cache: Path) -> Any:
    """scikit-learn's duals and biases; kept on disk, because some of its fits take minutes."""
    import sklearn

    key = [sklearn.__version__, question.is_regression, question.C, question.gamma, tol]
    digest = hashlib.sha256(json.dumps(key).encode())
    digest.update(judge.as_dense(X).tobytes() + y.tobytes())
    path = cache / f"sklearn-{digest.hexdigest()[:24]}.npz"
    if not path.exists():
        duals, biases = judge.pair_models(question.theirs(tol).fit(X, y), len(y))
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, duals=duals, biases=biases)
        partial.rename(path)
    with np.load(path) as stored:
        return stored["duals"], stored["biases"]


def solve_reference(X: Any, y: np.ndarray, question: Question) -> dict[str, Any]:
    """Duals, biases and problems of the reference, with the worst of its certificates."""
    from alphapath import certify
    from alphapath.solvers import SOLVERS

    problems = question.ours(TIGHT).to_problem(X, y)
    problems = problems if isinstance(problems, list | tuple) else [problems]
    solutions = [SOLVERS["smo"](problem, tol=TIGHT) for problem in problems]
    certificates = [certify(s.problem, s.beta, s.bias) for s in solutions]
    return {
        "problems": problems,
        "duals": np.column_stack([solution.beta for solution in solutions]),
        "biases": np.array([solution.bias for solution in solutions]),
        "status": max(solution.info.status for solution in solutions).name,
        "kkt": max(certificate.kkt_violation for certificate in certificates),
        "gap": max(
            certificate.duality_gap / max(1.0, abs(certificate.objective))
            for certificate in certificates
        ),
    }


def examine_one(
    X: Any, y: np.ndarray, K: np.ndarray, question: Question, cache: Path
) -> dict[str, Any]:
    reference = solve_reference(X, y, question)
    f_ref = K @ reference["duals"] + reference["biases"]
    linear = np.column_stack([problem.targets for problem in reference["problems"]])
    loose = question.ours(1e-3).fit(X, y)
    tight = question.ours(1e-8).fit(X, y)
    duals_loose, _ = judge.pair_models(loose, len(y))
    duals_theirs, biases_theirs = sklearn_answer(X, y, question, 1e-3, cache)
    f_theirs = K @ duals_theirs + biases_theirs
    f_loose, f_tight = decision_values(loose, X), decision_values(tight, X)
    best = judge.objectives(K, reference["duals"], linear, question.epsilon)
    ours = judge.objectives(K, duals_loose, linear, question.epsilon)
    theirs = judge.objectives(K, duals_theirs, linear, question.epsilon)
    row = {
        "case": DataSpec(**question.data).title + (" (SVR)" if question.is_regression else ""),
        "C": question.C,
        "gamma": question.gamma,
        "objective": float(best.sum()),
        "objective_excess": float(np.max((ours - theirs) / np.abs(theirs))),
        "our_excess": float(np.max((ours - best) / np.abs(best))),
        "their_excess": float(np.max((theirs - best) / np.abs(best))),
        "n_label_differences": None,
        "their_label_differences": None,
        "error_loose": float(np.max(np.abs(f_loose - f_ref))),
        "error_tight": float(np.max(np.abs(f_tight - f_ref))),
        "their_error": float(np.max(np.abs(f_theirs - f_ref))),
        "reference_status": reference["status"],
        "reference_kkt": reference["kkt"],
        "reference_gap": reference["gap"],
        "n_iter_loose": int(np.sum(loose.n_iter_)),
        "n_iter_tight": int(np.sum(tight.n_iter_)),
    }
    if not question.is_regression:
        row["n_label_differences"] = judge.sign_differences(f_loose, f_ref, 2e-3)
        row["their_label_differences"] = judge.sign_differences(f_theirs, f_ref, 2e-3)
    return row | compare_with_qp(K, reference, f_ref, question)


def decision_values(model: Any, X: Any) -> np.ndarray:
    """What the estimator predicts with, one column per pair."""
    predict = getattr(model, "decision_function", model.predict)
    values = np.asarray(predict(X))
    return values[:, None] if values.ndim == 1 else values


def compare_with_qp(
    K: np.ndarray, reference: dict[str, Any], f_ref: np.ndarray, question: Question
) -> dict[str, Any]:
    """How far a general QP solver is from the reference; None where the set is too large."""
    if len(K) > QP_ROWS or len(reference["problems"]) > 1:
        return {"qp_objective": None, "qp_error": None}
    from benchmarks.harness.qp import solve_dual

    problem = reference["problems"][0]
    beta, bias = solve_dual(K, problem.targets, problem.lower, problem.upper, question.epsilon)
    linear = problem.targets[:, None]
    theirs = judge.objectives(K, beta[:, None], linear, question.epsilon)[0]
    best = judge.objectives(K, reference["duals"], linear, question.epsilon)[0]
    return {
        "qp_objective": float((best - theirs) / abs(theirs)),
        "qp_error": float(np.max(np.abs(K @ beta + bias - f_ref[:, 0]))),
    }
