"""The path over lambda against solvers at as many values of lambda, one thread, kernel given."""

from __future__ import annotations

from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.lambda_cases import CASES, LOSSES, PUBLISHED, Case, sample
from benchmarks.measure import time_calls
from benchmarks.registry import Options
from benchmarks.report import Report

#: The paper's ends: of the path, and of the values at which SMO was run.
LAST_LAMBDA, LAST_OF_GRID = 1e-5, 1e-4
#: Seconds that one run of coordinate descent may take; a run that is cut is a lower bound.
COORDINATE_SECONDS = 60.0

COLUMNS = {
    "case": "case",
    "n": "n",
    "events": "events (paper)",
    "iterations": "bracketing iterations an equation (paper)",
    "iterations_no_cutoff": "without cutoff",
    "free": "mean free rows",
    "seconds": "path, s",
    "worst_kkt": "worst KKT, events and 200 random lambda",
    "eigen_ratio": "eigendecomposition / path",
    "newton_ratio": "Newton grid / path",
    "newton_iter": "Newton steps a lambda",
    "coordinate_ratio": "coordinate / path (paper's SMO)",
    "coordinate_iter": "coordinate steps",
    "note": "note",
}


def build(case: dict[str, Any], seed: int, folder: str) -> Any:
    """The model of one sample: rbf with gamma = 1 / n_features, as published."""
    from alphapath.kernels import KernelStore, Rbf
    from alphapath.paths.quadratic_loss import QuadraticModel

    X, y = sample(case["name"], seed, folder)
    view = KernelStore(X).view(Rbf(1.0 / X.shape[1]), precision="float64")
    return QuadraticModel(view, y, np.ones(len(y)), LOSSES[case["loss"]])


def walk(model: Any, **settings: Any) -> Any:
    from alphapath import _core
    from alphapath.solvers.lapack import single_threaded

    options = _core.QuadraticPathOptions(model.start_lambda, LAST_LAMBDA, **settings)
    with single_threaded():
        return _core.follow_quadratic_path(model.native, None, options)


def time_path(case: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    """Job: events, iterations and seconds of one path."""
    model = build(case, seed, folder)
    timed = time_calls(lambda: walk(model), at_least=0.2, at_most=20)
    native = timed.pop("value")
    return {
        "n": model.view.n,
        "n_events": len(native.event_lambdas),
        "first": float(native.event_lambdas[0]),
        "iterations": native.n_iterations / native.n_equations,
        "free": float(np.mean(native.segment_sizes)),
        "n_resets": native.n_resets,
        "seconds": timed["seconds"],
    }


def count_without_cutoff(case: dict[str, Any], seed: int, folder: str) -> float:
    """Job: bracketing iterations an equation when each is solved to the end."""
    native = walk(build(case, seed, folder), has_cutoff=False, keeps_segments=False)
    return native.n_iterations / native.n_equations


def time_eigen(case: dict[str, Any], seed: int, folder: str) -> float:
    """Job: seconds of the path with all eigenvalues of the free block at every event."""
    model = build(case, seed, folder)
    start = perf_counter()
    walk(model, uses_eigen=True, keeps_segments=False)
    return perf_counter() - start


def certify_path(case: dict[str, Any], seed: int, folder: str) -> float:
    """Job: the worst KKT violation at every event and at 200 random lambda, from raw data."""
    from alphapath.certificate import certify
    from alphapath.paths.quadratic_path import follow

    path = follow(build(case, seed, folder), None, np.array([-1, 1]), None, LAST_LAMBDA)
    low, high = sorted(path.range_)
    lams = np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), 200))
    solutions = (path.at(lam) for lam in [*path.breakpoints_, *lams])
    return max(certify(s.problem, s.beta).kkt_violation for s in solutions)


def time_newton(
    case: dict[str, Any], seed: int, folder: str, first: float, n_lambdas: int
) -> dict[str, Any]:
    """Job: active-set Newton at as many lambda over the path's range, each from the last."""
    from alphapath import _core
    from alphapath.solvers.lapack import single_threaded

    model = build(case, seed, folder)
    lams = np.geomspace(first, LAST_LAMBDA, n_lambdas)

    def call() -> int:
        guess, n_iter = None, 0
        for lam in lams:
            solution = _core.solve_quadratic(model.native, lam, guess, 1e-6)
            guess, n_iter = solution.a, n_iter + solution.n_iter
        return n_iter

    with single_threaded():
        timed = time_calls(call, at_least=0.2, at_most=20)
    return {"n_iter": timed["value"] / n_lambdas, "seconds": timed["seconds"]}


def time_coordinate(
    case: dict[str, Any], seed: int, folder: str, first: float, n_lambdas: int, scales: bool
) -> dict[str, Any]:
    """Job: warm coordinate descent to 1e-6; beta kept, or scaled so that alpha stays."""
    from alphapath.problem import Start
    from alphapath.solvers import coordinate

    model = build(case, seed, folder)
    lams = np.geomspace(first, LAST_OF_GRID, n_lambdas)
    begin = perf_counter()
    solution, n_iter, n_done = None, 0, 0
    for k, lam in enumerate(lams):
        problem = model.problem_at(lam)
        start = None
        if solution is not None:
            factor = lams[k - 1] / lam if scales else 1.0
            start = Start(np.clip(factor * solution.beta, problem.lower, problem.upper))
        left = COORDINATE_SECONDS - (perf_counter() - begin)
        if left <= 0.0:
            break
        solution = coordinate.solve(problem, start, tol=1e-6, time_limit=left)
        n_iter, n_done = n_iter + solution.info.n_iter, k + 1
    return {"seconds": perf_counter() - begin, "n_iter": n_iter, "n_done": n_done}


def run_case(case: Case, options: Options) -> dict[str, Any]:
    def job(name: str, seed: int = 0, **more: Any) -> Any:
        arguments = {"case": case.as_dict(), "seed": seed, "folder": options.data} | more
        return options.runner.call(f"benchmarks.lambda_path:{name}", arguments, pin=True)

    paths = [job("time_path", seed) for seed in range(2 if options.is_quick else 10)]
    first = paths[0]
    grid = {"first": first["first"], "n_lambdas": first["n_events"]}
    newton = job("time_newton", **grid)
    events, iterations, times = PUBLISHED[case.name, case.loss]
    row = {
        "case": case.title,
        "n": first["n"],
        "events": f"{mean(p['n_events'] for p in paths):.1f} ({events:g})",
        "iterations": f"{mean(p['iterations'] for p in paths):.2f} ({iterations:g})",
        "iterations_no_cutoff": job("count_without_cutoff"),
        "free": mean(p["free"] for p in paths),
        "seconds": mean(p["seconds"] for p in paths),
        "worst_kkt": job("certify_path"),
        "eigen_ratio": job("time_eigen") / first["seconds"],
        "newton_ratio": newton["seconds"] / first["seconds"],
        "newton_iter": newton["n_iter"],
        "n_resets": sum(p["n_resets"] for p in paths),
    }
    if not options.skip_slow_peers:
        runs = [job("time_coordinate", **grid, scales=scales) for scales in (False, True)]
        best = min(runs, key=lambda run: (-run["n_done"], run["seconds"]))
        is_cut = best["n_done"] < first["n_events"]
        ratio = best["seconds"] / first["seconds"]
        row["coordinate_ratio"] = f"{'> ' if is_cut else ''}{ratio:.0f} ({times})"
        row["coordinate_iter"] = best["n_iter"]
        row["coordinate_runs"] = runs
        if is_cut:
            row["note"] = (
                f"coordinate descent cut at {best['n_done']} of {first['n_events']} lambda"
            )
    print(f"{case.title}: {first['seconds']:.3g} s, events {row['events']}", flush=True)
    return row


def run(options: Options) -> Report:
    report = Report("lambda_path", COLUMNS)
    for case in CASES:
        wanted = options.wants(case.title)
        has_data = bool(options.data) or case.name.startswith("artificial")
        if wanted and has_data and not (options.is_quick and case.name != "artificial 100"):
            report.rows.append(run_case(case, options))
    report.failures += [
        f"{row['case']}: KKT violation {row['worst_kkt']:.2g} on the path"
        for row in report.rows
        if row["worst_kkt"] > 1e-6
    ]
    report.notes += [
        f"Path down to lambda = {LAST_LAMBDA:g}; means over 10 samples, ratios on the first one.",
        f"Newton: as many lambda over the same range. Coordinate descent: as many down to "
        f"{LAST_OF_GRID:g} (as published), tolerance 1e-6, the faster of keeping beta and scaling "
        f"it; cut after {COORDINATE_SECONDS:g} s.",
        "In brackets: what was published, against the better of two warm starts of SMO.",
    ]
    return report
