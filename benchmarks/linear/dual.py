"""Dual coordinate descent for the hinge: with and without bounds, against Newton, and auto.

The same problem to the same duality gap, the offset penalised. With and without bounds the dual
takes the same steps: it fails where a bit differs. The dual is given three times as long as
Newton's method.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.linear.data import load_linear

COLUMNS = {
    "data": "data",
    "setting": "setting",
    "what": "solver",
    "seconds": "seconds (best)",
    "examined": "margins computed, a row",
    "n_iter": "iterations",
    "gap": "gap / objective",
    "failure": "failure",
}
#: data -> (C, gap)
CASES = {
    "ijcnn1": ((0.1, 1e-4), (1.0, 1e-4), (10.0, 1e-4), (1.0, 1e-6)),
    "w8a": ((0.1, 1e-4), (1.0, 1e-4), (10.0, 1e-4), (100.0, 1e-4), (1.0, 1e-6)),
    "reuters_moneyfx": ((0.1, 1e-4), (1.0, 1e-4), (10.0, 1e-4), (1.0, 1e-6)),
    "covtype": ((0.01, 1e-4), (0.1, 1e-4), (1.0, 1e-4)),
}
#: Times Newton's.
PATIENCE = 3.0


def solve_all(name: str, folder: str, C: float, tol: float, repeats: int) -> list[dict[str, Any]]:
    """Job: one problem by every solver, in turn."""
    from alphapath.problem import MarginProblem
    from alphapath.solvers.primal import auto as margin_auto
    from alphapath.solvers.primal import dual_descent as margin_dual
    from alphapath.solvers.primal import newton as margin_newton
    from alphapath.solvers.primal.rows import read_rows

    X, y = load_linear(name, folder, "float64")
    rows, problem = read_rows(X), MarginProblem(X, y, np.full(len(y), C), "hinge")
    newton = margin_newton.NewtonLimits(tol, 10_000)
    found: dict[str, dict[str, Any]] = {}

    def run(title: str, solve: Any, **options: Any) -> Any:
        began = perf_counter()
        solution = solve(problem, rows=rows, **options)
        seconds = perf_counter() - began
        info = solution.info
        row = found.setdefault(title, {"data": name, "setting": f"C={C:g}, gap {tol:g}"})
        row["what"], row["n_iter"] = title, info.n_iter
        row["seconds"] = min(seconds, row.get("seconds", np.inf))
        row["examined"] = info.n_rows_computed / len(y)
        row["gap"] = info.duality_gap / info.objective
        return solution

    for _ in range(repeats):
        run("newton", margin_newton.solve, limits=newton)
        limit = PATIENCE * found["newton"]["seconds"]
        limits = margin_dual.DualLimits(tol, -1, limit)
        plain = run("dual, no bounds", margin_dual.solve, limits=limits, bounds=False)
        ours = run("dual", margin_dual.solve, limits=limits)
        run("auto", margin_auto.solve, limits=newton)
        both = max(found["dual"]["gap"], found["dual, no bounds"]["gap"]) <= tol
        if both and (ours.workspace.alpha != plain.workspace.alpha).any():
            found["dual"]["failure"] = "other steps than without bounds"
    return list(found.values())


def run(options: Options) -> Report:
    report = Report("linear_dual", COLUMNS)
    repeats = 1 if options.is_quick else options.repeats
    for name, cases in CASES.items():
        if not options.wants(name):
            continue
        for C, tol in cases[:1] if options.is_quick else cases:
            arguments = {"name": name, "folder": options.data, "C": C, "tol": tol}
            arguments["repeats"] = repeats
            rows = options.runner.call("benchmarks.linear.dual:solve_all", arguments, pin=True)
            report.rows += rows
            report.failures += [row["failure"] for row in rows if "failure" in row]
            print(
                name, C, tol, [f"{row['what']} {row['seconds']:.3g} s" for row in rows], flush=True
            )
    report.notes.append("Iterations: Newton systems, or sweeps over all rows; float64, one thread.")
    return report
