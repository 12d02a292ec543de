"""Searches against GridSearchCV over the same estimators: every score, status and choice."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import data
from .cases import CaseError, Skip, quiet
from .data import Generator, Rows

#: Values of two solutions of one problem, both to the tolerance below, are equal within this times
#: their size.
VALUES_AGREE = 1e-4
TOL = 1e-9

PLANS = ("auto", "along_c", "linked_folds", "linked_kernels", "independent")
SEEDINGS = ("auto", "none", "keep", "lift", "scale")


@dataclass(frozen=True)
class Case:
    """What is searched, on which rows, and how."""

    rows: Rows
    X: Any
    estimator: Any
    grid: Any
    fit_params: dict[str, Any]
    options: dict[str, Any]
    how: dict[str, Any]


def run_case(seed: int) -> str | None:
    case = make_case(data.generator("searches", seed))
    theirs, their_error = run_peer(case)
    ours, our_error = run_ours(case, {})
    if our_error is not None or their_error is not None:
        return compare_errors(our_error, their_error)
    compare_results(case, ours, theirs)
    check_choice(ours)
    if data.generator("cut", seed).random() < 0.3:
        check_cut(case, ours, seed)
    return None


# -- cases


def make_case(rng: Generator) -> Case:
    from alphapath import SVC, SVR, LinearSVC

    kind = data.pick(rng, [SVC, SVR, LinearSVC], [5, 3, 2])
    task = "numbers" if kind is SVR else "labels"
    rows = data.make_set(rng, task, n=(12, 40), most_classes=3, precomputed=False, sparse=False)
    X = np.asarray(rows.values)
    size = float(np.abs(X - X.mean(axis=0)).max()) or 1.0
    X = (X - X.mean(axis=0)) / size  # others fuzz large numbers
    if kind is LinearSVC:
        estimator: Any = LinearSVC(tol=1e-8, fit_intercept=bool(rng.integers(2)))
    else:
        estimator = kind(tol=TOL, kernel=data.pick(rng, ["rbf", "linear", "poly"], [6, 2, 1]))
    grid = make_grid(rng, kind)
    head = data.pick(rng, ["none", "scaler", "empty"], [6, 3, 1])
    prefix = ""
    if head != "none":
        estimator, prefix = behind_head(estimator, head), "svm__"
        grid = [{f"{prefix}{name}": v for name, v in one.items()} for one in grid]
        if head == "scaler" and rng.random() < 0.3:
            for one in grid:
                one["scale__with_std"] = [True, False]
    y = np.asarray(rows.y)
    if kind is SVR:
        y = (y - y.mean()) / (np.abs(y - y.mean()).max() or 1.0)
    fit_params: dict[str, Any] = {}
    if rows.weights is not None:
        weights = np.clip(rows.weights, 1e-2, 1e2) * (rows.weights > 0.0)
        fit_params[f"{prefix}sample_weight"] = weights
    options = make_options(rng, kind, y)
    if options["cv"] == "groups":
        from sklearn.model_selection import GroupKFold

        fit_params["groups"] = rng.integers(6, size=len(y))
        fit_params["groups"][:3] = np.arange(3)
        options["cv"] = GroupKFold(3)
    how = {}
    if kind is not LinearSVC:
        how["plan"] = data.pick(rng, PLANS, [4, 1, 1, 1, 1])
        how["seeding"] = data.pick(rng, SEEDINGS, [4, 1, 1, 1, 1])
    elif rng.random() < 0.3:
        how["seeding"] = "none"
    case_rows = Rows(X, X, y, rows.weights, rows.kernel, rows.C)
    given = data.contain(rng, X, allow_sparse=head == "none")
    return Case(case_rows, given, estimator, grid, fit_params, options, how)


def behind_head(estimator: Any, head: str) -> Any:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    steps = [("scale", StandardScaler())] if head == "scaler" else []
    return Pipeline([*steps, ("svm", estimator)])


def make_grid(rng: Generator, kind: Any) -> list[dict[str, Any]]:
    """A list of one or two dicts, with values that repeat now and then."""
    grid = []
    for _ in range(1 + int(rng.random() < 0.25)):
        one: dict[str, Any] = {"C": values(rng, lambda: float(2.0 ** rng.integers(-4, 9)))}
        if kind.__name__ == "LinearSVC":
            if rng.random() < 0.3:
                one["class_weight"] = [None, "balanced"]
        else:
            if rng.random() < 0.7:
                one["gamma"] = values(rng, lambda: data.pick(rng, [0.1, 1.0, 5.0, "scale"]))
            if kind.__name__ == "SVR" and rng.random() < 0.4:
                one["epsilon"] = values(rng, lambda: data.pick(rng, [0.0, 0.1, 0.5]))
            if kind.__name__ == "SVC" and rng.random() < 0.3:
                one["class_weight"] = [None, "balanced"]
        if rng.random() < 0.06:
            one["C"] = [*one["C"], data.pick(rng, [0.0, -1.0, float("nan"), "x"])]
        grid.append(one)
    return grid


def values(rng: Generator, make: Any) -> list[Any]:
    found = [make() for _ in range(int(rng.integers(1, 4)))]
    return [*found, found[0]] if rng.random() < 0.1 else found


def make_options(rng: Generator, kind: Any, y: Any) -> dict[str, Any]:
    from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

    n_splits = int(rng.integers(2, 5))
    state = int(rng.integers(1000))
    options = [KFold(n_splits), KFold(n_splits, shuffle=True, random_state=state), "groups"]
    options += [ShuffleSplit(n_splits, test_size=0.3, random_state=state)]
    if kind.__name__ == "SVR":
        names: list[Any] = [None, "neg_mean_squared_error", "r2", "neg_mean_absolute_error"]
    else:
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() >= 2:
            options += [StratifiedKFold(min(n_splits, int(counts.min())))] * 3
        names = [None, "accuracy", "balanced_accuracy", "f1_macro"]
        names += ["roc_auc"] * 3 if len(counts) == 2 else []
    scoring = data.pick(rng, names)
    options_of: dict[str, Any] = {"cv": data.pick(rng, options), "scoring": scoring}
    options_of["return_train_score"] = bool(rng.random() < 0.3)
    options_of["refit"] = False
    return options_of


# -- runs


def run_ours(case: Case, limits: dict[str, Any]) -> tuple[Any, Exception | None]:
    from alphapath.model_selection import SVMSearchCV

    search = SVMSearchCV(case.estimator, case.grid, **case.options, **case.how, **limits)
    return run(search, case)


def run_peer(case: Case) -> tuple[Any, Exception | None]:
    from sklearn.model_selection import GridSearchCV

    return run(GridSearchCV(case.estimator, case.grid, **case.options), case)


def run(search: Any, case: Case) -> tuple[Any, Exception | None]:
    """The fitted search, or its error; warnings are those of single fits."""
    with quiet():
        try:
            return search.fit(case.X, case.rows.y, **case.fit_params), None
        except Exception as error:
            return None, error


def compare_errors(ours: Exception | None, theirs: Exception | None) -> str | None:
    if ours is not None and theirs is not None:
        raise Skip(f"both refuse: {str(ours).strip()[:60]}")
    if ours is not None:
        raise ours
    return f"GridSearchCV refuses what the search takes: {' '.join(str(theirs).split())[-300:]}"


# -- comparisons


def compare_results(case: Case, ours: Any, theirs: Any) -> None:
    """All columns of scores: equal, or off by no more than ties allow."""
    own, peer = ours.cv_results_, theirs.cv_results_
    if [str(params) for params in own["params"]] != [str(params) for params in peer["params"]]:
        raise CaseError("other candidates")
    missing = set(peer) - set(own)
    if missing:
        raise CaseError(f"cv_results_ lacks {sorted(missing)}")
    for name in peer:
        if not (name.startswith("split") and name.endswith("_score")):
            continue
        fold, _, part = name.removeprefix("split").partition("_")
        for k, (found, expected) in enumerate(zip(own[name], peer[name], strict=True)):
            if np.isnan(found) and np.isnan(expected):
                continue
            if np.isnan(found) != np.isnan(expected):
                raise CaseError(f"{name} of candidate {k} is {found}, expected {expected}")
            if not abs(found - expected) <= 1e-9 * max(1.0, abs(expected)):
                compare_closely(case, own, k, int(fold), part, float(found))


def compare_closely(case: Case, own: Any, k: int, fold: int, part: str, found: float) -> None:
    """Whether a score lies between those of values that are as near as solutions are."""
    from sklearn.base import clone
    from sklearn.model_selection import check_cv

    rows, is_classifier = case.rows, hasattr(case.estimator, "classes_") or is_label_task(case)
    cv = check_cv(case.options["cv"], rows.y, classifier=is_classifier)
    train, test = list(cv.split(rows.X, rows.y, case.fit_params.get("groups")))[fold]
    params = own["params"][k]
    fits = {n: v[train] for n, v in case.fit_params.items() if n != "groups"}
    with quiet():
        model = clone(case.estimator).set_params(**params).fit(rows.X[train], rows.y[train], **fits)
    where = test if part.startswith("test") else train
    if own["status"][k] in ("stalled", "stationary"):
        return
    weights = case.fit_params.get("sample_weight", np.ones(rows.n))[where]
    if not weights.any():
        return
    low, high = score_range(case, model, (rows.X[where], rows.y[where], weights))
    if not low - 1e-9 <= found <= high + 1e-9:
        raise CaseError(
            f"candidate {k} {params}, fold {fold}, {part}: {found:.10g}, but values within their "
            f"tolerance give {low:.10g} to {high:.10g}"
        )


def is_label_task(case: Case) -> bool:
    from sklearn.base import is_classifier

    return bool(is_classifier(case.estimator))


def score_range(case: Case, model: Any, rows: Any) -> tuple[float, float]:
    """The least and the largest score of values that differ by what solutions may differ."""
    return (label_range if is_label_task(case) else number_range)(case, model, *rows)


def number_range(case: Case, model: Any, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    scoring = case.options["scoring"]
    predicted = model.predict(X)
    off = VALUES_AGREE * max(1.0, float(np.abs(predicted).max()))
    share = weights / weights.sum()
    error = np.abs(predicted - y)
    near, far = np.maximum(error - off, 0.0), error + off
    if scoring == "neg_mean_absolute_error":
        return -float(share @ far), -float(share @ near)
    worst, best = float(share @ far**2), float(share @ near**2)
    if scoring == "neg_mean_squared_error":
        return -worst, -best
    total = float(share @ (y - share @ y) ** 2)
    if total < off:
        return -np.inf, np.inf
    return 1.0 - worst / total, 1.0 - best / total


def pair_values(model: Any, X: Any) -> Any:
    """One value for each pair of classes, where votes decide."""
    from sklearn.base import clone

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "decision_function_shape"):
        return np.inf
    voting = clone(last)
    voting.__dict__.update(last.__dict__)
    voting.decision_function_shape = "ovo"
    head = model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
    return voting.decision_function(X if head is None else head.transform(X))


def label_range(case: Case, model: Any, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    scoring = case.options["scoring"]
    decided = np.asarray(model.decision_function(X))
    off = VALUES_AGREE * max(1.0, float(np.abs(decided).max()))
    if decided.ndim > 1:
        if (np.abs(pair_values(model, X)) <= off).any():  # a vote may go either way
            return -np.inf, np.inf
        top = np.sort(decided, axis=1)
        if (top[:, -1] - top[:, -2] <= 2.0 * off).any():
            return -np.inf, np.inf
        decided = top[:, -1] - top[:, -2]
    if scoring == "roc_auc":
        is_second = y == model.classes_[1]
        gap = decided[is_second][:, None] - decided[~is_second][None, :]
        pairs = weights[is_second][:, None] * weights[~is_second][None, :]
        pairs = pairs / pairs.sum()
        return float(pairs[gap > 2.0 * off].sum()), float(pairs[gap >= -2.0 * off].sum())
    is_loose = np.abs(decided) <= off
    if is_loose.any() and scoring not in (None, "accuracy"):
        return -np.inf, np.inf
    is_right = model.predict(X) == y
    if scoring in (None, "accuracy"):
        share = weights / weights.sum()
        return float(share[is_right & ~is_loose].sum()), float(share[is_right | is_loose].sum())
    from sklearn.metrics import get_scorer

    score = float(get_scorer(scoring)(model, X, y, sample_weight=weights))
    return score, score


def check_choice(search: Any) -> None:
    """Means, ranks and the choice follow from the scores of the folds."""
    results = search.cv_results_
    splits = [results[f"split{fold}_test_score"] for fold in range(search.n_splits_)]
    mean = np.mean(splits, axis=0)
    np.testing.assert_allclose(results["mean_test_score"], mean, rtol=1e-12, atol=1e-12)
    if hasattr(search, "best_index_") and not np.isnan(mean).all():
        best = results["mean_test_score"][search.best_index_]
        if not best >= np.nanmax(results["mean_test_score"]) - 1e-12:
            raise CaseError(f"the best score is {best}, but there is {np.nanmax(mean)}")


def check_cut(case: Case, full: Any, seed: int) -> None:
    """A search that time ends: what it has is what the whole search has, bit for bit."""
    seconds = float(10.0 ** data.generator("cut", seed + 1).uniform(-4, -1.5))
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        search, error = run_ours(case, {"time_limit": seconds})
        if error is not None:
            raise error
        compare_cut(search, full)


def compare_cut(search: Any, full: Any) -> None:
    own, whole = search.cv_results_, full.cv_results_
    n_known = np.zeros(len(own["params"]), dtype=int)
    for fold in range(search.n_splits_):
        name = f"split{fold}_test_score"
        is_known = ~np.isnan(own[name])
        n_known += is_known
        if not (own[name][is_known] == whole[name][is_known]).all():
            raise CaseError(f"{name} of a search that was cut differs from the whole one")
    is_cut = np.isin(own["status"], ["partial", "not_run"])
    if is_cut.any():
        if not np.isnan(own["mean_test_score"][is_cut]).all():
            raise CaseError("a candidate that was cut has a mean score")
        wrong = (own["status"] == "not_run") & (own["n_splits_done"] > 0)
        if wrong.any() or (own["n_splits_done"] < n_known).any():
            raise CaseError("n_splits_done does not say what is known")
    if hasattr(search, "best_index_") and is_cut[search.best_index_] and not is_cut.all():
        raise CaseError("a candidate that was cut was chosen")
