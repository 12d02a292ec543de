"""Ranking on OHSUMED (figures 4.14 to 4.16 of the paper): training, and the path over weights."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.ranking.jobs import TEST_QUERIES

COLUMNS = {
    "case": "case",
    "seconds": "seconds",
    "ratio": "times as long as ours",
    "megabytes": "MB beside the data",
    "objective": "primal objective",
    "kkt": "KKT violation",
    "gap": "relative gap",
    "n_iter": "iterations, events",
    "margin": "margin set, mean / largest",
    "note": "note",
}

LINEAR = [{"C": C} for C in (1e-4, 1e-3, 1e-2, 1e-1)]
RBF = [{"C": 1e-2, "kernel": "rbf", "gamma": 0.1}]
LIBLINEAR = {"tol": 1e-4, "max_iter": 1000}


def title_of(fold: int, model: dict[str, Any]) -> str:
    words = [f"fold {fold}", model.get("kernel", "linear"), f"C={model['C']:g}"]
    if "gamma" in model:
        words.append(f"gamma={model['gamma']:g}")
    return ", ".join(words)


def run_fits(options: Options, fold: int, model: dict[str, Any]) -> list[dict[str, Any]]:
    """Ours, and LIBLINEAR on the differences where the model is linear."""
    shared = {"fold": fold, "folder": options.data}
    arguments = shared | {"model": model, "n_repeats": options.repeats}
    own = options.runner.call("benchmarks.ranking.jobs:time_fit", arguments, pin=True)
    ndcg = own.pop("ndcg")
    shown = ", ".join(f"{value:.4f}" for value in ndcg["test"])
    case = f"{title_of(fold, model)}: RankSVM"
    rows = [{"case": case, **own, "note": f"{own['n_pairs']} pairs; test NDCG@1..10 {shown}"}]
    if "kernel" in model:
        return rows
    for is_sparse in (False, True):
        job = shared | LIBLINEAR | {"C": model["C"], "is_sparse": is_sparse}
        peer = options.runner.call("benchmarks.ranking.jobs:time_liblinear", job, pin=True)
        form = "sparse" if is_sparse else "dense"
        note = f"of which {peer.pop('difference_seconds'):.2f} s to write the differences"
        if peer["n_iter"] >= LIBLINEAR["max_iter"]:
            note += "; stopped at its limit"
        ratio = peer["seconds"] / own["seconds"]
        case = f"{title_of(fold, model)}: LinearSVC, {form} differences"
        rows.append({"case": case, **peer, "ratio": ratio, "note": note})
    return rows


def run_path(options: Options, fold: int, model: dict[str, Any]) -> dict[str, Any]:
    arguments = {"fold": fold, "model": model, "n_checks": 20, "folder": options.data}
    found = options.runner.call("benchmarks.ranking.jobs:time_path", arguments, pin=True)
    note = (
        f"NDCG@10 curve of {found['n_steps']} steps in {found['curve_seconds']:.1f} s, off by "
        f"{found['difference']:.1e}; best {found['best']:.4f} at t={found['best_t']:.4f} "
        f"(uniform {found['at_uniform']:.4f}, gain {found['at_gain']:.4f}), "
        f"test {found['test']:.4f}"
    )
    return {
        **{key: found[key] for key in ("seconds", "megabytes", "kkt", "gap", "n_gaps")},
        "case": f"{title_of(fold, model)}: path from uniform to gain weights",
        "n_iter": found["n_events"],
        "margin": f"{found['mean_margin']:.1f} / {found['max_margin']}",
        "difference": found["difference"],
        "note": note,
    }


def run(options: Options) -> Report:
    report = Report("ranking", COLUMNS)
    for fold in TEST_QUERIES:
        if options.is_quick and fold > 1:
            break
        for model in [*LINEAR, *RBF]:
            if not options.wants(title_of(fold, model)):
                continue
            report.rows += run_fits(options, fold, model)
            report.rows.append(run_path(options, fold, model))
            for row in report.rows[-4 if "kernel" not in model else -2 :]:
                print(f"{row['case']}: {row['seconds']:.2f} s, {row['note']}", flush=True)
    for row in report.rows:
        if row.get("n_gaps"):
            report.failures.append(f"{row['case']}: the path has {row['n_gaps']} gaps")
        if row.get("difference", 0.0) > 1e-9:
            report.failures.append(f"{row['case']}: the NDCG curve is off")
        if row.get("kkt", 0.0) > 1e-8:
            report.failures.append(f"{row['case']}: KKT violation {row['kkt']:.1e}")
    report.notes.append(
        "OHSUMED of LETOR 3.0, query-level normalised, one core; seconds of RankSVM are the least "
        f"of {options.repeats}. LinearSVC: loss='hinge', fit_intercept=False, {LIBLINEAR}. Paths "
        "are certified from raw data at 20 breakpoints and 20 random t; --only 'fold 1' runs one."
    )
    return report
