"""Search C and the width of a one-class SVM along a tree of solutions, and save the best one.

Without labels, all rows are used for training and the leave-one-out error selects the model. With
--inliers LABEL, the rows of that target form the single class: half of them are used for training,
and the model is selected by the area under the ROC curve on the rest and all other rows.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...estimators import OneClassMaxMinOver
from ...model_selection import OneClassSearch
from ...report.html.parts import params_text, seconds_text
from .. import options as opt
from ..facts import describe, warn_of_facts
from ..failure import DIFFERENT, CommandError
from ..files.data import Data, read_data
from ..files.model import facts_of, save_model
from ..files.scaling import FeatureScaler
from ..numbers import positive
from ..options import add_grid, powers
from ..output import print_facts, print_table, working, write_json

HELP = "search C and width of a one-class SVM"
EXAMPLE = "alphapath one-class two.svm --inliers 1 --log2c 0,12,2 --model one.model"
LOG2_C, LOG2_GAMMA = (-6.0, 14.0, 2.0), (-13.0, 3.0, 1.0)
N_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    parser.add_argument(
        "--inliers",
        metavar="LABEL",
        help="target of the single class (default: all rows are inliers)",
    )
    add_grid(parser, LOG2_C, LOG2_GAMMA)
    parser.add_argument(
        "-e", dest="gap", type=positive, default=1e-4, help="feasibility gap (default 0.0001)"
    )
    parser.add_argument(
        "--plan",
        choices=("heuristic", "learned", "arborescence", "sequential", "independent"),
        default="heuristic",
        help="which solution warm-starts a node (default heuristic)",
    )
    opt.add_seed(parser, "seed of the choice of training rows")
    opt.add_memory_limit(parser)
    opt.add_model_files(parser)
    opt.add_json(parser)
    parser.set_defaults(default_outputs={"model": ".model"}, kind="one-class")


def run(options: Any) -> int:
    is_labelled = options.inliers is not None or options.file is None
    kind = "c-svc" if is_labelled else "one-class"
    data = read_data(options.file, kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    X, validation = data.X, None
    if is_labelled:
        trained, judged, sides = divide(data, options.inliers or "1", options.seed)
        X, validation = data.X[trained], (data.X[judged], sides)
    scaler = None
    if scale != "none":
        scaler = FeatureScaler(scale).fit(X)
        X = scaler.transform(X)
        validation = validation and (scaler.transform(validation[0]), validation[1])
    search = OneClassSearch(
        OneClassMaxMinOver(gap_tol=options.gap, memory_limit=options.memory_limit),
        {
            "C": options.C or powers(options.log2c),
            "gamma": options.gamma or powers(options.log2g),
        },
        plan=options.plan,
        scoring="leave_one_out" if validation is None else "roc_auc",
    )
    begin = time.perf_counter()
    with working("searching along the tree"):
        search.fit(X, validation=validation)
    seconds = time.perf_counter() - begin
    facts = replace(facts_of(data, scaler), classes=None)
    files = save_model(options.model, search.best_estimator_, facts, options.save_range)
    gap = search.best_estimator_.certify(X).relative_gap
    if options.json is not None:
        record = {"data": data.name, "best": search.best_params_, "score": search.best_score_}
        record |= {"gap": gap, "seconds": seconds, "files": list(map(str, files))}
        write_json(options.json, {**record, "results": search.results_})
    show(describe(data, scale), search, X.shape[0], validation, seconds)
    print_facts(
        [
            ("certificate    ", f"gap {gap:.2e}, recomputed from the raw data"),
            ("written        ", ", ".join(map(str, files))),
        ]
    )
    return 0 if gap <= 1.05 * options.gap else DIFFERENT


def divide(data: Data, inliers: str, seed: int) -> tuple[Any, Any, Any]:
    """Training rows, validation rows, and +1 or -1 for each validation row."""
    names = data.classes or tuple(str(label) for label in np.unique(data.y))
    if inliers not in names:
        known = ", ".join(repr(name) for name in names[:12])
        raise CommandError(f"--inliers is {inliers!r}; the targets of {data.name} are {known}.")
    label = names.index(inliers) if data.classes is not None else int(inliers)
    is_inlier = data.y == label
    if is_inlier.sum() < 4 or is_inlier.all():
        raise CommandError(
            f"{int(is_inlier.sum())} of {len(data.y)} rows of {data.name} have the target "
            f"{inliers!r}; at least four must have it, and at least one must not."
        )
    own = np.random.default_rng(seed).permutation(np.flatnonzero(is_inlier))
    trained = np.sort(own[: (len(own) + 1) // 2])
    judged = np.setdiff1d(np.arange(len(data.y)), trained)
    return trained, judged, np.where(is_inlier[judged], 1, -1)


def show(words: str, search: OneClassSearch, n_rows: int, validation: Any, seconds: float) -> None:
    """The best nodes, and what was chosen."""
    results = search.results_
    order = np.argsort(-results["score"], kind="stable")
    score = "ROC area" if validation is not None else "leave-one-out error"
    sign = 1.0 if validation is not None else -1.0
    print_table(
        ("parameters", score, "rejected", "support vectors", "gap", "iterations"),
        [
            (
                params_text({name: results[f"param_{name}"][i] for name in ("C", "gamma")}),
                f"{sign * results['score'][i]:.4f}",
                f"{results['leave_one_out_error'][i]:.4f}",
                results["n_support"][i],
                f"{results['relative_gap'][i]:.1e}",
                results["n_iter"][i],
            )
            for i in order[:N_SHOWN]
        ],
        title=f"The best {min(N_SHOWN, len(order))} of {len(order)} nodes",
    )
    n_cold = int(np.sum(results["parent"] < 0))
    found = f"{len(order)} SVMs, {search.n_iter_} iterations, {n_cold} from zero"
    judged = "the leave-one-out error" if validation is None else f"{len(validation[1])} other rows"
    print_facts(
        [
            ("data           ", words),
            ("trained, judged", f"{n_rows} rows, by {judged}"),
            ("search         ", f"{found}, in {seconds_text(seconds)}"),
            (
                "best           ",
                f"{params_text(search.best_params_)}: {sign * search.best_score_:.4f}",
            ),
        ]
    )
