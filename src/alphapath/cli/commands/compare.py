"""Compare with scikit-learn on the same file, grid and folds: results and times.

The two searches run one after the other, each with a single thread. The exit code is 1 if a cell
differs by more than one test row per fold (for C up to 2^11; beyond, scikit-learn's own results are
inexact) or the best model is not the same.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ...model_selection import SVMSearchCV
from ...report.html.parts import params_text, seconds_text
from .. import options as opt
from ..facts import describe, warn_of_facts
from ..failure import DIFFERENT
from ..files.data import read_data, targets_of
from ..files.scaling import FeatureScaler
from ..options import add_grid, make_folds, make_grid
from ..output import print_facts, print_table, working, write_json

HELP = "compare with scikit-learn on your own file: results and times"
EXAMPLE = "alphapath compare train.svm --log2c -3,9,4 --log2g -9,1,4"
#: Beyond this C, the result compared with is itself inexact.
LARGE_C = 2.0**11


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser, ability="folds", is_supervised=True)
    add_grid(parser, log2_c=(-5.0, 15.0, 4.0), log2_g=(-15.0, 3.0, 4.0))
    opt.add_folds(parser)
    opt.add_json(parser)


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    folds = list(make_folds(options).split(data.X, data.y))
    own = opt.make_estimator(options)
    peer = make_peer(own)
    with working("searching with alphapath"):
        ours, our_seconds = time_search(SVMSearchCV, own, options, scale, folds, data)
    with working("searching with scikit-learn"):
        theirs, their_seconds = time_search(GridSearchCV, peer, options, scale, folds, data)
    our_mean = np.asarray(ours.cv_results_["mean_test_score"], dtype=float)
    their_mean = np.asarray(theirs.cv_results_["mean_test_score"], dtype=float)
    differences = np.abs(our_mean - their_mean)
    tolerance = score_tolerance(options, data.y, our_mean, their_mean)
    C = np.array([params[c_name(params)] for params in ours.cv_results_["params"]])
    one_row = float(np.mean([1.0 / len(test) for _, test in folds]))
    allowed = one_row if targets_of(options.kind) == "labels" else 1e-3
    n_off = int(np.sum((differences > allowed * (1 + 1e-9)) & (LARGE_C >= C)))
    is_same = ours.best_params_ == theirs.best_params_ or bool(
        abs(our_mean[theirs.best_index_] - our_mean.max()) <= allowed
    )
    if options.json is not None:
        record = {"seconds": [our_seconds, their_seconds], "params": ours.cv_results_["params"]}
        write_json(options.json, {**record, "alphapath": our_mean, "scikit-learn": their_mean})
    print_table(
        ("", "alphapath", f"scikit-learn {sklearn.__version__}"),
        [
            ("seconds", seconds_text(our_seconds), seconds_text(their_seconds)),
            ("best score", f"{our_mean.max():.4f}", f"{their_mean.max():.4f}"),
            ("best", params_text(ours.best_params_), params_text(theirs.best_params_)),
        ],
    )
    print_facts(
        [
            ("data", describe(data, scale)),
            ("cells", f"{len(C)} with {len(folds)} folds each"),
            ("equal scores", describe_equal(differences, tolerance, options.tol)),
            ("largest difference", f"{differences.max():.4g} (one test row is {one_row:.4g})"),
            ("beyond that, C up to 2^11", f"{n_off} cells"),
            ("time ratio", f"{their_seconds / our_seconds:.1f} x as fast as scikit-learn"),
        ]
    )
    return 0 if n_off == 0 and is_same else DIFFERENT


def score_tolerance(options: Any, y: Any, ours: Any, theirs: Any) -> Any:
    """Allowed difference of scores in each cell if both solvers stopped by their rule.

    The predictions of a regression are known to the tolerance of each solver: those of a cell with
    r2 may differ by d = 2 tol, and then, with s the spread of the targets and s sqrt(1 - r2) that
    of the residuals, r2 by 2 sqrt(1 - r2) d / s + (d / s)^2. Accuracy counts rows, so it must be
    equal.
    """
    if targets_of(options.kind) == "labels":
        return np.zeros(ours.shape)
    share = 2.0 * options.tol / max(float(np.std(y)), np.finfo(float).tiny)
    residual = np.sqrt(1.0 - np.minimum(ours, theirs))
    return 2.0 * residual * share + share**2


def describe_equal(differences: Any, tolerance: Any, tol: float) -> str:
    """How many cells have equal scores, and what counts as equal."""
    text = f"{int(np.sum(differences <= tolerance))} of {differences.size} cells"
    most = float(tolerance.max())
    return text if most == 0.0 else f"{text}, within the {most:.2g} that tol = {tol:g} leaves open"


def make_peer(own: Any) -> Any:
    """scikit-learn's estimator with the same parameters and its usual cache."""
    peer = own._declaration.peer()
    known = peer.get_params()
    return peer.set_params(**{k: v for k, v in own.get_params().items() if k in known})


def time_search(
    kind: Any, estimator: Any, options: Any, scale: str, folds: Any, data: Any
) -> tuple[Any, float]:
    """A fitted search without refit, and its seconds."""
    prefix = ""
    if scale != "none":
        estimator = Pipeline([("scale", FeatureScaler(scale)), ("svm", estimator)])
        prefix = "svm__"
    search = kind(estimator, make_grid(options, prefix), cv=folds, refit=False)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(data.X, data.y)
    return search, time.perf_counter() - begin


def c_name(params: dict[str, Any]) -> str:
    return "svm__C" if "svm__C" in params else "C"
