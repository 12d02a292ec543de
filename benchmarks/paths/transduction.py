"""Figure 4.17: transduction on spambase, each problem from the last, and with cold solves.

Cold solves are our own to 1e-6, on the same kernel matrix; for one C a gamma also scikit-learn's at
its default tolerance, as one would write the loop with it.
"""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.paths.jobs import load_signs

COLUMNS = {
    "case": "case",
    "seconds": "CPU seconds",
    "cold_seconds": "CPU seconds, cold solves",
    "ratio": "ratio",
    "sklearn_seconds": "CPU seconds, scikit-learn",
    "sklearn_ratio": "scikit-learn / ours",
    "sklearn_different": "labels that differ, scikit-learn",
    "n_rounds": "rounds",
    "n_switches": "switches",
    "n_solves": "cold solves",
    "n_iter": "their iterations",
    "n_different": "labels that differ",
    "accuracy": "accuracy on the unlabelled",
    "kkt": "KKT violation",
}
#: Of the cold solves; ours are at the level of rounding.
TOL = 1e-6
#: scikit-learn's loop takes minutes: for this C alone.
SKLEARN_C = 10.0


class ColdRun:
    """Joachims' loop with the same decisions, every problem solved from nothing."""

    def __init__(self, problem: Any, is_labelled: np.ndarray, limit: float, n_positive: int):
        self.view, self.limit = problem.kernel, limit
        self.open = np.flatnonzero(~is_labelled)
        self.signs = problem.targets.copy()
        self.weights = np.where(is_labelled, problem.weights, 0.0)
        self.n_positive = n_positive
        self.n_solves = self.n_iter = 0

    def solve(self) -> np.ndarray:
        """The decision values of the unlabelled."""
        from alphapath import Problem
        from alphapath.solvers import smo

        solution = smo.solve(Problem.classification(self.view, self.signs, self.weights), tol=TOL)
        self.n_solves += 1
        self.n_iter += solution.info.n_iter
        return solution.decision_values[self.open]

    def run(self) -> np.ndarray:
        order = np.argsort(-self.solve(), kind="stable")
        self.signs[self.open] = -1.0
        self.signs[self.open[order[: self.n_positive]]] = 1.0
        negative = 1e-5
        positive = negative * self.n_positive / (self.open.size - self.n_positive)
        while True:
            by_class = (min(negative, self.limit), min(positive, self.limit))
            self.weigh(by_class)
            while self.switch(self.solve()):
                self.weigh(by_class)
            if min(negative, positive) >= self.limit:
                return self.signs
            negative, positive = 2.0 * negative, 2.0 * positive

    def weigh(self, by_class: tuple[float, float]) -> None:
        self.weights[self.open] = np.where(self.signs[self.open] > 0.0, by_class[1], by_class[0])

    def switch(self, values: np.ndarray) -> bool:
        signs = self.signs[self.open]
        slack = np.maximum(1.0 - signs * values, 0.0)
        has_slack = slack > 10.0 * TOL  # on the margin there is none but rounding
        up = np.where((signs > 0.0) & has_slack, slack, -np.inf)
        down = np.where((signs < 0.0) & has_slack, slack, -np.inf)
        i, j = int(np.argmax(up)), int(np.argmax(down))
        if not up[i] + down[j] > 2.0 + 1e-9:
            return False
        self.signs[self.open[[i, j]]] *= -1.0
        return True


class SklearnRun(ColdRun):
    """The same loop over scikit-learn's SVC, which computes its kernel at every fit."""

    def __init__(self, X: np.ndarray, gamma: float, *arguments: Any):
        super().__init__(*arguments)
        self.X, self.gamma = X, gamma

    def solve(self) -> np.ndarray:
        from sklearn.svm import SVC

        used = np.flatnonzero(self.weights)
        model = SVC(C=1.0, gamma=self.gamma)
        model.fit(self.X[used], self.signs[used], sample_weight=self.weights[used])
        self.n_solves += 1
        return np.asarray(model.decision_function(self.X[self.open]))


def compare(
    C: float, gamma: float, seed: int, folder: str, with_sklearn: bool = False
) -> dict[str, Any]:
    """Both ways on one draw of 10% labelled rows, on the same kernel matrix, which is not timed."""
    from alphapath import SVC
    from alphapath.paths.transduction import transduce

    X, y = load_signs(DataSpec("spambase").as_dict(), folder)
    X = X - X.min(axis=0)
    X = X / np.maximum(X.max(axis=0), 1e-300)
    is_labelled = np.zeros(len(y), dtype=bool)
    is_labelled[np.random.default_rng(seed).permutation(len(y))[: len(y) // 10]] = True
    model = SVC(C=C, gamma=gamma, tol=1e-9)
    problem = model.to_problem(X, np.where(is_labelled, y, -1.0))
    n_positive = round(float(np.mean(y[is_labelled] > 0.0)) * np.count_nonzero(~is_labelled))
    problem.kernel.gram.offset()
    seconds = []
    for _ in range(2):
        begin = process_time()
        found = transduce(problem, is_labelled, C, n_positive)
        seconds.append(process_time() - begin)
    cold = ColdRun(problem, is_labelled, C, n_positive)
    begin = process_time()
    signs = cold.run()
    cold_seconds = process_time() - begin
    other: dict[str, Any] = {}
    if with_sklearn:
        begin = process_time()
        labels = SklearnRun(X, gamma, problem, is_labelled, C, n_positive).run()
        other["sklearn_seconds"] = process_time() - begin
        other["sklearn_ratio"] = other["sklearn_seconds"] / min(seconds)
        other["sklearn_different"] = int(np.count_nonzero(found.signs != labels))
    return {
        **other,
        "seconds": min(seconds),
        "cold_seconds": cold_seconds,
        "n_rounds": found.n_rounds,
        "n_switches": found.n_switches,
        "n_solves": cold.n_solves,
        "n_iter": cold.n_iter,
        "n_different": int(np.count_nonzero(found.signs != signs)),
        "accuracy": float(np.mean(found.signs[~is_labelled] == y[~is_labelled])),
        "kkt": found.solution.info.kkt_violation,
    }


def run(options: Options) -> Report:
    report = Report("transduction", COLUMNS)
    for gamma in (10.0, 1.0, 0.1):
        for C in (1.0, 10.0, 100.0) if options.is_quick else (1.0, 10.0, 100.0, 1e3, 1e4):
            case = f"spambase, C={C:g} gamma={gamma:g}"
            if not options.wants(case):
                continue
            arguments = {"C": C, "gamma": gamma, "seed": 0, "folder": options.data}
            found = options.runner.call(
                "benchmarks.paths.transduction:compare",
                arguments | {"with_sklearn": C == SKLEARN_C and not options.skip_slow_peers},
                pin=True,
            )
            ratio = found["cold_seconds"] / found["seconds"]
            report.rows.append({"case": case, **found, "ratio": ratio})
            print(f"{case}: {ratio:.1f}x, {found['n_different']} labels differ", flush=True)
            if found["n_different"]:
                report.failures.append(f"{case}: {found['n_different']} labels differ")
    report.rows.append({"case": "median", "ratio": median(row["ratio"] for row in report.rows)})
    report.notes.append(
        f"10% of the rows labelled, inputs in [0, 1], one core, the kernel matrix made before. "
        f"Cold solves are alphapath's own SMO to {TOL:g}."
    )
    return report
