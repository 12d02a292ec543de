"""What the search over C of a linear SVM finds: linear_c_search beside LIBLINEAR's -C, untimed.

Squared hinge, no offset, the five folds that LIBLINEAR draws and the C that it visits. Objectives
and gaps are recomputed from the raw rows for every model of every fold and C. LIBLINEAR's models
are those of its search, each C begun from the last, and on the first folds those begun from zero.
The reference is solved fold by fold on the rows of the fold alone, to a gap of 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import POINTER, c_double
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.linear.data import load_linear
from benchmarks.linear.search import ALONE, CASES, N_FOLDS, liblinear_splits

COLUMNS = {
    "data": "data",
    "what": "models",
    "n_C": "values of C",
    "best_C": "best C",
    "rate": "its rate",
    "largest_gap": "largest gap / objective",
    "closer": "of (C, fold), closer than alphapath",
    "worst_excess": "alphapath's objective above theirs, largest share",
    "least_factor": "distance to the optimum, least multiple of alphapath's",
    "seconds": "seconds (untimed run)",
}
REFERENCE_GAP = 1e-9
REFERENCE = f"a gap of {REFERENCE_GAP:g}"
#: LIBLINEAR's tolerance at which its search no longer stops where it begins, or the least at which
#: that ends in minutes.
CLOSE = 1e-6
CLOSE_ON = {"mnist odd": 1e-4}
#: Folds that LIBLINEAR solves from zero too: all, but where that takes minutes.
COLD_FOLDS = {"mnist odd": 1}
#: Of an objective: what sums in another order may differ by.
ROUNDING = 1e-14


class Judge:
    """Objective, gap and held-out rates of models (C, fold), from the raw rows."""

    def __init__(self, X: Any, y: np.ndarray, grid: np.ndarray) -> None:
        self.X, self.y, self.grid = X, y, grid
        self.splits = liblinear_splits(len(y))
        self.parts = [(X[train], y[train]) for train, _ in self.splits]

    def empty(self) -> np.ndarray:
        """Objective, gap and rows right of every (C, fold); nan where there is no model."""
        return np.full((3, len(self.grid), N_FOLDS), np.nan)

    def judge(self, k: int, fold: int, w: np.ndarray) -> tuple[float, float, int]:
        from alphapath.problem import MarginProblem, certify_margin

        rows, labels = self.parts[fold]
        weights = np.full(len(labels), self.grid[k])
        problem = MarginProblem(rows, labels, weights, "squared_hinge", offset="none")
        found = certify_margin(problem, w, 0.0)
        test = self.splits[fold][1]
        n_right = int(((self.X[test] @ w > 0.0) == (self.y[test] > 0.0)).sum())
        return found.objective, found.duality_gap, n_right

    def judge_all(self, models: Iterator[tuple[int, int, np.ndarray]]) -> np.ndarray:
        found = self.empty()
        for k, fold, w in models:
            found[:, k, fold] = self.judge(k, fold, w)
        return found

    # -- models of each kind: (number of the C, fold, w)

    def of_search(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """What linear_c_search solves, which keeps scores alone."""
        from alphapath import LinearSVC
        from alphapath.model_selection.folds.linear import LinearFolds
        from alphapath.model_selection.folds.protocol import Wanted

        folds = LinearFolds(LinearSVC(fit_intercept=False), self.X, self.y, None, self.splits)
        for k, fold, (fit,) in folds.walk(self.grid.tolist(), Wanted()):
            yield k, fold, fit.coef

    def of_reference(self) -> Iterator[tuple[int, int, np.ndarray]]:
        from alphapath.problem import MarginProblem
        from alphapath.solvers.primal.newton import NewtonLimits, NewtonPath

        for fold, (rows, labels) in enumerate(self.parts):
            ones = np.ones(len(labels))
            problem = MarginProblem(rows, labels, ones, "squared_hinge", offset="none")
            path = NewtonPath(problem, NewtonLimits(tol=REFERENCE_GAP))
            for k, C in enumerate(self.grid):
                yield k, fold, path.step(float(C))[1]

    def of_liblinear(
        self, eps: float, is_warm: bool, n_folds: int = N_FOLDS
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        from liblinear.liblinearutil import parameter, problem, train

        for fold, (rows, labels) in enumerate(self.parts[:n_folds]):
            data, last = problem(labels, rows), None
            for k, C in enumerate(self.grid):
                given = parameter(f"-s 2 -c {float(C)!r} -e {eps} -q")
                if is_warm and last is not None:
                    given.init_sol = last.ctypes.data_as(POINTER(c_double))
                fitted = train(data, given)
                last = np.ctypeslib.as_array(fitted.w, (rows.shape[1],)).copy()
                yield k, fold, last * fitted.label[0]


def describe(title: str, found: np.ndarray, grid: np.ndarray, n_rows: int) -> dict[str, Any]:
    """A row of the report from all (C, fold) of a kind."""
    objective, gap, n_right = found
    row = {"what": title, "n_C": len(grid), "largest_gap": float(np.nanmax(gap / objective))}
    if np.isfinite(n_right).all():
        right = n_right.sum(axis=1)
        row["rates"] = (right / n_rows).tolist()
        best = int(np.argmax(right))  # of the smallest C with the most rows right
        row |= {"best_C": float(grid[best]), "rate": float(right[best] / n_rows)}
    return row


def compare(ours: np.ndarray, theirs: np.ndarray, optimum: np.ndarray) -> dict[str, Any]:
    """How much closer ours are to the optimum, by objective, at every (C, fold)."""
    has_both = np.isfinite(theirs)
    excess = ((ours - theirs) / optimum)[has_both]
    n_closer = int((excess > ROUNDING).sum())
    is_above = has_both & (theirs - optimum > ROUNDING * optimum)
    distance = np.maximum(ours - optimum, ROUNDING * optimum)
    return {
        "n_closer": n_closer,
        "closer": f"{n_closer} of {excess.size}",
        "worst_excess": float(excess.max()),
        "least_factor": float(((theirs - optimum) / distance)[is_above].min(initial=np.inf)),
    }


def judge_set(name: str, folder: str, log2_C: list[float], with_peer: bool) -> list[dict]:
    """Job: every kind of models on one set."""
    X, y = load_linear(name, folder, "float64")
    grid = np.exp2(log2_C)
    judge = Judge(X, y, grid)
    kinds = [("alphapath", judge.of_search()), (REFERENCE, judge.of_reference())]
    if with_peer:
        close = CLOSE_ON.get(name, CLOSE)
        n_cold = COLD_FOLDS.get(name, N_FOLDS)
        kinds += [
            ("LIBLINEAR's search", judge.of_liblinear(0.01, True)),
            ("LIBLINEAR from zero", judge.of_liblinear(0.01, False, n_cold)),
            (f"LIBLINEAR's search, -e {close:g}", judge.of_liblinear(close, True)),
        ]
    rows, ours, optimum = [], judge.empty(), judge.empty()
    for title, models in kinds:
        began = perf_counter()
        found = judge.judge_all(models)
        row = {"data": name, **describe(title, found, grid, len(y))}
        row["seconds"] = perf_counter() - began
        if title == "alphapath":
            ours = found
        elif title == REFERENCE:
            optimum = found
        elif "-e" not in title:
            row |= compare(ours[0], found[0], optimum[0])
        rows.append(row)
    return rows


def run(options: Options) -> Report:
    report = Report("linear_quality", COLUMNS)
    for name in CASES:
        if not options.wants(name):
            continue
        base = {"name": name, "folder": options.data}
        with_peer = name not in ALONE
        peer: dict[str, Any] = {"log2_C": ALONE.get(name)}
        if with_peer:
            peer = options.runner.call("benchmarks.linear.search:peer_search", base, pin=False)
        arguments = {**base, "log2_C": peer["log2_C"], "with_peer": with_peer}
        rows = options.runner.call("benchmarks.linear.quality:judge_set", arguments, pin=False)
        report.rows += rows
        report.failures += find_failures(rows)
        # It prints six digits.
        if with_peer and not np.allclose(rows[2]["rates"], peer["rates"], rtol=1e-5, atol=0.0):
            report.failures.append(f"{name}: these are not the models of LIBLINEAR's -C.")
        print(*rows, sep="\n", flush=True)
    report.notes += [
        f"The optimum is that of the reference. {ROUNDING:g} of an objective may be rounding: less "
        "is not closer, and a smaller distance counts as that.",
        "Rates: of all rows, each under the fold that holds it out.",
    ]
    return report


def find_failures(rows: list[dict[str, Any]]) -> list[str]:
    failures = []
    for row in rows:
        if row.get("n_closer", 0) > 0:
            failures.append(f"{row['data']}: {row['what']} is closer at {row['closer']}.")
        if row["what"] == REFERENCE and row["largest_gap"] > REFERENCE_GAP:
            failures.append(f"{row['data']}: the reference has a gap of {row['largest_gap']:g}.")
    return failures
