"""One linear SVM: LinearSVC against scikit-learn's LinearSVC(loss="hinge") and SGDClassifier.

Hinge loss with C = 1 and a penalised offset, whatever a model was trained on; each is judged by
how far its hinge objective is from the optimum. Ours stop at a duality gap of 0.1%. Memory is what
a fit needs at most beyond the data that it is given.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.linear.data import load_linear

COLUMNS = {
    "data": "data",
    "peer": "model",
    "seconds": "seconds (best)",
    "ratio": "x alphapath's time, hinge",
    "excess": "objective above the optimum, share",
    "n_iter": "iterations",
    "data_megabytes": "data, MB",
    "megabytes": "most memory of a fit beyond it, MB",
    "total": "data and that memory, x the data",
}
CASES = ("w8a", "mnist odd")
#: Only for their memory.
LARGE = ("covtype",)
#: The models whose memory is measured; on the small sets the first three only.
MEASURED = (
    "alphapath, squared_hinge",
    "alphapath, hinge, newton",
    "alphapath, hinge",
    "alphapath, hinge, dual",
    "alphapath, huber",
    "alphapath, huber, gradient",
    "alphapath, hinge, pegasos",
    "alphapath, search over 10 C",
)
C = 1.0


def make_model(name: str, n: int) -> Any:
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC as PeerSVC

    from alphapath import LinearSVC
    from alphapath.model_selection import SVMSearchCV

    models = {
        "alphapath, hinge": LinearSVC("hinge", C=C, tol=1e-3),
        "alphapath, hinge, dual": LinearSVC("hinge", C=C, tol=1e-3, solver="dual"),
        "alphapath, hinge, newton": LinearSVC("hinge", C=C, tol=1e-3, solver="newton"),
        "alphapath, huber": LinearSVC("huber", C=C, tol=1e-3),
        "alphapath, exact": LinearSVC("hinge", C=C, tol=1e-7),
        "alphapath, squared_hinge": LinearSVC(C=C),
        "alphapath, huber, gradient": LinearSVC("huber", lam=1e-7, tol=1e-5, solver="gradient"),
        "alphapath, hinge, pegasos": LinearSVC("hinge", C=C, solver="pegasos", random_state=0),
        "alphapath, search over 10 C": SVMSearchCV(LinearSVC(), {"C": np.logspace(-3, 1, 10)}),
        "scikit-learn LinearSVC": PeerSVC(loss="hinge", C=C, random_state=0),
        "scikit-learn SGDClassifier": SGDClassifier("hinge", alpha=1.0 / (C * n), random_state=0),
    }
    return models[name]


def hinge_objective(model: Any, X: Any, y: np.ndarray) -> float:
    w, b = model.coef_[0].astype(np.float64), float(np.ravel(model.intercept_)[0])
    losses = np.maximum(1.0 - y * (X @ w + b), 0.0)
    return float(0.5 * (w @ w + b * b) + C * losses.sum())


def fit_all(
    name: str, folder: str, models: list[str], repeats: int, dtype: str
) -> list[dict[str, Any]]:
    """Job: fits by turns in one process."""
    warnings.simplefilter("ignore")  # a peer at its cap says so by its objective
    X, y = load_linear(name, folder, dtype)
    found: dict[str, dict[str, Any]] = {}
    for _ in range(repeats):
        for which in models:
            model = make_model(which, len(y))
            began = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - began
            row = found.setdefault(which, {"data": name, "peer": which, "seconds": seconds})
            row["seconds"] = min(seconds, row["seconds"])
            row["objective"] = hinge_objective(model, X, y)
            row["n_iter"] = int(np.max(model.n_iter_))
    return list(found.values())


def measure_memory(name: str, folder: str, dtype: str, is_dense: bool, which: str) -> dict:
    """Job: the most memory of one fit, in a process of its own."""
    X, y = load_linear(name, folder, dtype)
    X = X.toarray() if is_dense else X
    size = X.nbytes if is_dense else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    for warm in ("alphapath, squared_hinge", which):
        make_model(warm, 12).fit(np.eye(12, dtype=dtype), [0, 1] * 6)  # what is loaded once
    trim_memory()
    before = reset_peak()
    make_model(which, len(y)).fit(X, y)
    needed = status_bytes("VmHWM") - before
    return {
        "data": f"{name}, {dtype}, {'dense' if is_dense else 'CSR'}",
        "peer": which,
        "data_megabytes": size / 1e6,
        "megabytes": needed / 1e6,
        "total": 1.0 + needed / size,
    }


def trim_memory() -> None:
    """Give freed memory back, so that the fit can not hide in it."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> int:
    """Make the resident size the peak so far, and return it; Linux only."""
    Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS")


def status_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return 1024 * int(line.split()[1])


def run(options: Options) -> Report:
    report = Report("linear_fit", COLUMNS)
    repeats = 1 if options.is_quick else options.repeats
    for name in CASES:
        if not options.wants(name):
            continue
        ways = ["hinge", "hinge, dual", "hinge, newton", "huber"]
        names = [f"alphapath, {way}" for way in ways]
        peers = ["scikit-learn LinearSVC", "scikit-learn SGDClassifier"]
        arguments = {"name": name, "folder": options.data, "dtype": "float64"}
        job = "benchmarks.linear.fit:fit_all"
        once = {**arguments, "models": ["alphapath, exact"], "repeats": 1}
        (exact,) = options.runner.call(job, once, pin=True)
        timed = {**arguments, "models": names + peers, "repeats": repeats}
        rows = options.runner.call(job, timed, pin=True)
        for row in rows:
            row["ratio"] = row["seconds"] / rows[0]["seconds"]
            row["excess"] = row.pop("objective") / exact["objective"] - 1.0
        report.rows += rows
        print(name, [f"{row['peer']} {row['seconds']:.3g} s" for row in rows], flush=True)
    for name in () if options.is_quick else (*CASES, *LARGE):
        if not options.wants(name):
            continue
        for which in MEASURED if name in LARGE else MEASURED[:3]:
            for is_dense in (False, True) if name in LARGE else (False,):
                arguments = {"name": name, "folder": options.data, "dtype": "float32"}
                arguments |= {"is_dense": is_dense, "which": which}
                job = "benchmarks.linear.fit:measure_memory"
                report.rows.append(options.runner.call(job, arguments, pin=True))
                print(report.rows[-1], flush=True)
    report.notes += [
        f"C = {C:g}, one thread; times: float64, CSR; the optimum: alphapath's at a gap of 1e-7.",
        "SGDClassifier does not penalise its offset; its objective is that of the others.",
    ]
    return report
