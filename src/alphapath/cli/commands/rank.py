"""Train a ranking SVM on the pairs of each query, certify it and write it as a LIBSVM model file.

With --valid, the exact path from uniform to gain weights of pairs is followed, and the model with
the highest NDCG on that file is selected exactly. The model file is an epsilon_svr: `alphapath
predict` and svm-predict print its scores.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from ...estimators import RankSVM
from ...paths import ndcg, rank_weight_path
from ...problem.solution import Status
from ...report.html.parts import seconds_text
from .. import options as opt
from ..facts import describe, require_width
from ..failure import DIFFERENT
from ..files.model import facts_of, save_model
from ..files.ranking import RankData, read_ranking
from ..files.scaling import FeatureScaler, widen
from ..files.text import input_file
from ..numbers import positive, whole
from ..output import print_facts, print_table, write_json

HELP = "train a ranking SVM on a file with queries"
EXAMPLE = "alphapath rank queries.svm --valid more.svm -c 0.01 --model rank.model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "file",
        nargs="?",
        type=input_file,
        metavar="FILE",
        help="LIBSVM file with qid:Q in each line, also .gz or .bz2 (default: a data set of "
        "scikit-learn)",
    )
    group.add_argument(
        "--valid", type=input_file, metavar="FILE", help="file that selects the weights of pairs"
    )
    group.add_argument(
        "--test", type=input_file, metavar="FILE", help="file that is only evaluated"
    )
    group.add_argument("--scale", choices=("none", "minmax", "standard"), default="none")
    group = parser.add_argument_group("model")
    group.add_argument(
        "-t",
        dest="kernel",
        type=opt.choice(opt.KERNELS),
        default="linear",
        metavar="KERNEL",
        help=f"{opt.listing(opt.KERNELS)} (default linear)",
    )
    opt.add_c_and_gamma(parser)
    opt.add_kernel_numbers(group)
    group.add_argument(
        "--pair-weights",
        choices=("uniform", "gain"),
        default="uniform",
        help="C of a pair: the same for all, or C (2^y - 2^y'); --valid selects between them",
    )
    group.add_argument(
        "-e", dest="tol", type=positive, default=1e-3, help="tolerance (default 0.001)"
    )
    parser.add_argument(
        "-k", type=whole(1), default=10, help="number of positions that count (default 10)"
    )
    opt.add_memory_limit(parser)
    opt.add_time_limit(parser)
    opt.add_model_files(parser)
    opt.add_json(parser)
    parser.set_defaults(default_outputs={"model": ".model"}, kind="ranking")


def run(options: Any) -> int:
    data = read_ranking(options.file)
    others = {
        name: read_ranking(path, data.index_base)
        for name, path in (("valid", options.valid), ("test", options.test))
        if path is not None
    }
    if options.scale != "none" or options.kernel == "linear":
        for own in (data, *others.values()):
            require_width(own, "ranking with a linear kernel or on scaled features")
    scaler = None if options.scale == "none" else FeatureScaler(options.scale).fit(data.X)
    sets = {"train": data, **others}
    rows = {name: prepare(own, data, scaler) for name, own in sets.items()}
    begin = time.perf_counter()
    model, choice = train(options, sets, rows)
    seconds = time.perf_counter() - begin
    certificate = certificate_of(model, rows["train"], data, choice)
    files = save_model(options.model, model, facts_of(data, scaler), options.save_range)
    table = {
        name: [
            ndcg(own.y, model.predict(rows[name]), own.qid, k=k) for k in range(1, options.k + 1)
        ]
        for name, own in sets.items()
    }
    if options.json is not None:
        record = {"data": data.name, "model": model.get_params(), "ndcg": table}
        record |= {"kkt_violation": certificate, "seconds": seconds, "pairs": model.n_pairs_}
        record |= {name: value for name, value in choice.items() if name != "facts"}
        write_json(options.json, {**record, "files": list(map(str, files))})
    print_table(
        ("NDCG at", *sets),
        [(k + 1, *(f"{table[name][k]:.4f}" for name in sets)) for k in range(options.k)],
    )
    facts = [
        ("data", f"{describe_ranking(data, options.scale)}, {model.n_pairs_} pairs"),
        ("model", str(model)),
        ("status", Status(model.fit_status_).name.lower()),
        ("time", seconds_text(seconds)),
        ("certificate", f"KKT violation {certificate:.2e}, recomputed from the raw data"),
        ("written", ", ".join(map(str, files))),
    ]
    print_facts([*facts[:2], *choice.get("facts", []), *facts[2:]])
    return 0 if certificate <= 1.05 * options.tol else DIFFERENT


def prepare(own: RankData, training: RankData, scaler: Any) -> Any:
    """The rows with as many features as those that train, scaled as they are."""
    width = training.X.shape[1]
    X = widen(own.X, width) if own.X.shape[1] < width else own.X[:, :width]
    return X if scaler is None else scaler.transform(X)


def describe_ranking(data: RankData, scale: str) -> str:
    words: Any = data
    return f"{describe(words, scale)}, {data.n_queries} queries"


def train(
    options: Any, sets: dict[str, RankData], rows: dict[str, Any]
) -> tuple[RankSVM, dict[str, Any]]:
    """The model, and what --valid chose."""
    data = sets["train"]
    model = RankSVM(
        C=options.C,
        kernel=options.kernel,
        gamma="auto" if options.gamma is None else options.gamma,
        degree=options.degree,
        coef0=options.coef0,
        pair_weights=options.pair_weights,
        k=options.k,
        tol=options.tol,
        memory_limit=options.memory_limit,
        time_limit=options.time_limit,
    )
    if "valid" not in sets:
        return model.fit(rows["train"], data.y, data.qid), {}
    valid = sets["valid"]
    path = rank_weight_path(model, rows["train"], data.y, qid=data.qid)
    curve = path.validate(rows["valid"], valid.y, valid.qid, k=options.k)
    t, value = curve.best
    name = f"NDCG@{options.k}"
    ends = f"uniform {float(curve(0.0)):.4f}, gain {float(curve(1.0)):.4f}"
    facts = [
        ("path", f"{path.n_pieces} pieces from uniform (t = 0) to gain weights (t = 1)"),
        ("best", f"t = {t:.6g}: {name} {value:.4f} on {valid.name} ({ends})"),
    ]
    record = {"best_t": t, "best_ndcg": value, "weights": path.weights_at(t), "facts": facts}
    record |= {"curve_t": curve.starts, "curve_ndcg": curve.value}
    return path.to_estimator(t), record


def certificate_of(model: RankSVM, X: Any, data: RankData, choice: dict[str, Any]) -> float:
    """The KKT violation, recomputed."""
    weights = choice.pop("weights", None)
    found = model.certify(X, data.y, data.qid, pair_weights=weights)
    return float(np.max([found.kkt_violation, found.box_violation]))
