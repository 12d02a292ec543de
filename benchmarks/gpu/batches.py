"""Whole batches on a GPU: every fold and every C of a kernel at once. Needs an NVIDIA GPU and CuPy.

Seconds are those of the call a user makes, with checks, transfers, the kernel, all solves, the
certificate in double and the scores; the first call of a process, which compiles, is made before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "case": "case",
    "n_rows": "rows",
    "n_solves": "solves",
    "seconds": "seconds",
    "cpu_seconds": "seconds on one core",
    "n_iter": "iterations",
    "n_unsolved": "unsolved",
    "violation": "largest KKT violation, in double",
    "best": "best score",
    "peak": "device memory, GB",
    "note": "note",
}

C_GRID = 2.0 ** np.arange(-5, 16, 2)
GAMMA_GRID = 2.0 ** np.arange(-15, 4, 2)
TEN_FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def run(options: Options) -> Report:
    from alphapath.gpu import has_gpu

    report = Report("gpu", COLUMNS)
    if not has_gpu():
        report.failures.append("There is no GPU that CuPy can use on this machine.")
        return report
    warm_up()
    for name, case in CASES.items():
        if options.wants(name):
            row = {"case": name} | case(options)
            if "surface" in row:
                report.notes.append(f"{name}, mean scores:\n\n{row.pop('surface')}")
            row.pop("scores", None)
            report.rows.append(row)
            print(row, flush=True)
            if row.get("n_unsolved"):
                report.failures.append(f"{name}: {row['n_unsolved']} solves did not converge.")
    report.notes.append("Tolerance 1e-3; float32 kernel values, gradients in double.")
    return report


def warm_up() -> None:
    """Compile, and start the libraries of the device: a search that also solves for free sets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=3000))
    search(X, y, {"C": 2.0 ** np.arange(1, 12, 2), "gamma": [0.1]}, 2)


def measure(function: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """What a call gives, its seconds and the most memory that CuPy's pool held."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    begin = perf_counter()
    result = function()
    return result, {
        "seconds": perf_counter() - begin,
        "peak": round(pool.total_bytes() / 1e9, 1),
    }


def search(X: Any, y: Any, grid: dict[str, Any], cv: Any, **options: Any) -> dict[str, Any]:
    """A row for a search without the refit."""
    from alphapath import SVC
    from alphapath.model_selection import SVMSearchCV

    made = SVMSearchCV(SVC(), grid, cv=cv, refit=False, device="cuda", **options)
    found, row = measure(lambda: made.fit(X, y))
    results = found.cv_results_
    scores = results["mean_test_score"]
    return row | {
        "n_rows": len(y),
        "n_solves": len(scores) * found.n_splits_,
        "n_iter": int(results["n_iter"].sum()),
        "n_unsolved": int((results["status"] != "solved").sum()),
        "best": float(scores.max()),
        "scores": scores,
        "note": str({k: float(v) for k, v in results["params"][int(np.argmax(scores))].items()}),
    }


@lru_cache(maxsize=1)
def read(name: str, folder: str) -> tuple[Any, Any]:
    return load(DataSpec(name), Path(folder))


def read_mnist(options: Options, n: int | None = None) -> tuple[Any, Any]:
    X, y = read("mnist", options.data)
    return X[:n] / 255.0, y[:n]


def mnist_odd_even(options: Options) -> dict[str, Any]:
    """110 SVMs of 54,000 rows."""
    X, y = read_mnist(options)
    grid = {"C": C_GRID, "gamma": [0.02]}
    return search(X, np.where(y % 2 == 1, 1.0, -1.0), grid, TEN_FOLDS)


def mnist_batch(options: Options) -> dict[str, Any]:
    """The same batch below the estimators: seconds of the solves and of the certificate alone."""
    from alphapath import Problem
    from alphapath.gpu import DeviceStore
    from alphapath.kernels import Rbf
    from alphapath.solvers.sequence.along_c import solve_chain

    X, y = read_mnist(options)
    y = np.where(y % 2 == 1, 1.0, -1.0)
    weights = np.ones((10, y.size))
    for h, (_, test) in enumerate(TEN_FOLDS.split(X, y)):
        weights[h, test] = 0.0
    view, kernel = measure(lambda: DeviceStore(X).view(Rbf(0.02)))
    problem = Problem.classification(view, y, np.ones(y.size))
    solved, row = measure(lambda: solve_chain(problem, C_GRID, weights=weights))
    return row | {
        "n_rows": y.size,
        "n_solves": len(solved),
        "n_iter": int(solved.n_iter.sum()),
        "n_unsolved": int((solved.columns["status"] != 0).sum()),
        "violation": float(solved.kkt_violation.max()),
        "note": f"kernel {kernel['seconds']:.2f} s, solves {solved.solve_time.max():.2f} s, the "
        f"rest is the certificate and the way back",
    }


def mnist_ten_classes(options: Options) -> dict[str, Any]:
    X, y = read_mnist(options)
    grid = {"C": [0.5, 2.0, 8.0, 32.0, 128.0], "gamma": [0.02]}
    row = search(X, y, grid, TEN_FOLDS)
    return row | {"n_solves": 45 * row["n_solves"]}


def mnist_subset(options: Options) -> dict[str, Any]:
    """10,000 rows: labels of the device and of the processor."""
    X, y = read_mnist(options, 10_000)
    y = np.where(y % 2 == 1, 1.0, -1.0)
    row, device, processor = fold_rows(X, y, 8.0, 0.02, with_cpu=True)
    is_other = (device > 0) != (processor > 0)
    clear = is_other & (np.abs(processor) >= 2e-3)
    return row | {"note": f"{clear.sum()} labels differ where |f| >= 2e-3, {is_other.sum()} in all"}


def fold_rows(
    X: Any, y: Any, C: float, gamma: float, with_cpu: bool
) -> tuple[dict[str, Any], Any, Any]:
    """A row for ten folds, and out-of-fold decision values of device and processor."""
    from alphapath import SVC
    from alphapath.model_selection import cross_validate

    model = SVC(C=C, gamma=gamma)
    found, row = measure(lambda: cross_validate(model, X, y, cv=TEN_FOLDS, device="cuda"))
    values = None
    if with_cpu:
        begin = perf_counter()
        values = cross_validate(model, X, y, cv=TEN_FOLDS)["decision_function"]
        row["cpu_seconds"] = perf_counter() - begin
    row |= {
        "n_rows": len(y),
        "n_solves": 10,
        "n_iter": int(found["n_iter"].sum()),
        "n_unsolved": int((found["status"] != 0).sum()),
        "violation": float(found["certificate"]["kkt_violation"].max()),
        "best": float(found["test_score"].mean()),
    }
    return row, found["decision_function"], values


def ten_folds(name: str, C: float, gamma: float) -> Callable[[Options], dict[str, Any]]:
    def case(options: Options) -> dict[str, Any]:
        X, y = read(name, options.data)
        return fold_rows(X, y, C, gamma, with_cpu=options.peers != "none")[0]

    return case


def a9a_grid(options: Options) -> dict[str, Any]:
    """LIBSVM's guide grid on all of a9a."""
    X, y = read("a9a", options.data)
    row = search(X, y, {"C": C_GRID, "gamma": GAMMA_GRID}, 5)
    return row | {"surface": as_surface(row["scores"])}


def as_surface(scores: np.ndarray) -> str:
    """Rows of gamma, columns of C, as a table."""
    by_gamma = scores.reshape(len(C_GRID), len(GAMMA_GRID)).T
    head = [f"2^{k:g}" for k in np.log2(C_GRID)]
    lines = [f"| gamma \\ C | {' | '.join(head)} |", "|---" * (1 + len(head)) + "|"]
    for gamma, row in zip(np.log2(GAMMA_GRID), by_gamma, strict=True):
        lines.append(f"| 2^{gamma:g} | {' | '.join(f'{score:.4f}' for score in row)} |")
    return "\n".join(lines)


def a9a_limit(options: Options) -> dict[str, Any]:
    """Kernels of 4.2 GB, as many at a time as 16 GB hold."""
    X, y = read("a9a", options.data)
    grid = {"C": [0.5, 8.0], "gamma": [0.01, 0.03, 0.1, 0.3]}
    return search(X, y, grid, 3, memory_limit=16_000_000_000)


def covtype_rows(options: Options, n: int) -> tuple[Any, Any]:
    X, y = read("covtype.binary", options.data)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows] / np.maximum(np.abs(X).max(axis=0), 1e-12), y[rows]


def covtype(options: Options) -> dict[str, Any]:
    X, y = covtype_rows(options, 100_000)
    return search(X, y, {"C": 2.0 ** np.arange(-3, 6, 2), "gamma": [2.0]}, 5)


def covtype_tiles(options: Options) -> dict[str, Any]:
    """A kernel of 6.4 GB within a limit of 3 GB: rows are computed when they are needed."""
    X, y = covtype_rows(options, 40_000)
    return search(X, y, {"C": [1.0, 4.0], "gamma": [2.0]}, 3, memory_limit=3_000_000_000)


CASES = {
    "MNIST odd/even, batch": mnist_batch,
    "MNIST odd/even, search": mnist_odd_even,
    "MNIST ten classes": mnist_ten_classes,
    "MNIST subset": mnist_subset,
    "a9a ten folds": ten_folds("a9a", 100.0, 0.5),
    "w8a ten folds": ten_folds("w8a", 64.0, 7.8125),
    "covtype tiles": covtype_tiles,
    "covtype": covtype,
    "a9a, limit of 16 GB": a9a_limit,
    "a9a grid": a9a_grid,
}
