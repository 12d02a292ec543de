"""Folds by every seed against the estimators they return, their certificates and cold refits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import data, fits, models, quality
from .cases import CaseError, quiet
from .data import FloatArray, Generator, Rows

#: Of what the values of folds may differ from those of the returned estimators, in units of the
#: floor of `quality`: the values of a solver are sums of as many parts as it took steps.
STEPS = 64.0
#: What the numbers of a score itself are rounded to.
SAME_SCORE = 1e-9

#: Of one solve: problems that take more, as LIBSVM does, are for the fuzzer of fits.
MOST_STEPS = 200_000

RANKINGS = ("roc_auc", "average_precision")
SEEDINGS = ("auto", "none", "decremental", "avg", "top", "greedy", "mir", "sir", "ato")

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Case:
    """One estimator on the folds of one data set."""

    rows: Rows
    estimator: Any
    splits: list[Split]
    scoring: Any
    how: dict[str, Any]

    def X_of(self, where: NDArray[np.intp], train: NDArray[np.intp]) -> Any:
        """Rows as a fitted estimator is given them."""
        X = as_array(self.rows.X)
        return X[where][:, train] if self.rows.kernel.name == "precomputed" else X[where]

    def ids_of(self, where: NDArray[np.intp], train: NDArray[np.intp]) -> NDArray[np.intp]:
        """The same number for equal rows."""
        X = self.X_of(where, train)
        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        return np.unique(dense + 0.0, axis=0, return_inverse=True)[1].ravel()


def run_case(seed: int) -> str | None:
    case = make_case(data.generator("folds", seed))
    results = run(case)
    check_shapes(case, results)
    for fold in range(len(case.splits)):
        check_fold(case, results, fold)
    check_collected(case, results)
    if data.generator("search", seed).random() < 0.25:
        check_search(case)
    return None


# -- cases


def make_case(rng: Generator) -> Case:
    from alphapath import SVC, SVR, LinearSVC, OneClassSVM, SmoothSVC

    kind = data.pick(rng, [SVC, SVR, OneClassSVM, LinearSVC, SmoothSVC], [10, 2, 1, 2, 1])
    task = {SVR: "numbers", OneClassSVM: "none"}.get(kind, "labels")
    plain = kind in (LinearSVC, SmoothSVC)
    rows = data.make_set(rng, task, n=(8, 60), most_classes=4, precomputed=not plain)
    rows = repeat_rows(rng, rows)
    parameters: dict[str, Any] = dict(rows.kernel.parameters)
    if kind is LinearSVC:
        estimator: Any = LinearSVC(C=float(np.clip(rows.C, 1e-3, 1e3)))
    elif kind is SmoothSVC:
        estimator = SmoothSVC()
    elif kind is OneClassSVM:
        nu = float(data.pick(rng, [0.5, 0.1, 1.0]))
        estimator = OneClassSVM(nu=nu, tol=rows.tol, **parameters)
    else:
        estimator = kind(C=rows.C, tol=rows.tol, **parameters)
    if kind is SVC and rng.random() < 0.1:
        estimator.set_params(class_weight="balanced")
    if kind is SVR:
        estimator.set_params(epsilon=float(data.pick(rng, [0.1, 0.0, 1e-6])))
    if not plain:
        estimator.set_params(max_iter=MOST_STEPS)
    how: dict[str, Any] = {"error_score": np.nan}
    if not plain:
        how["seeding"] = data.pick(rng, SEEDINGS, [6, 3, 1, 1, 1, 2, 1, 1, 1])
        how["n_jobs"] = data.pick(rng, [None, 2], [9, 1])
    how["return_train_score"] = bool(rng.random() < 0.15)
    if rows.weights is not None:
        how["params"] = {"sample_weight": rows.weights}
    splits = make_splits(rng, rows, task == "labels")
    return Case(rows, estimator, splits, make_scoring(rng, rows, task), how)


def repeat_rows(rng: Generator, rows: Rows) -> Rows:
    """Often the same few rows again and again, whatever their labels."""
    if rng.random() < 0.5 or isinstance(rows.X, list):
        return rows
    n_few = max(2, rows.n // int(rng.integers(2, 10)))
    own = rng.integers(n_few, size=rows.n)
    if rows.kernel.name == "precomputed":
        values = np.ascontiguousarray(rows.values[np.ix_(own, own)])
        return replace(rows, X=values, values=values)
    values = np.ascontiguousarray(rows.values[own])
    return replace(rows, X=sp.csr_array(values) if rng.random() < 0.15 else values, values=values)


def as_array(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X)
    return np.asarray(X)


def make_splits(rng: Generator, rows: Rows, has_labels: bool) -> list[Split]:
    from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

    n_splits, state = int(rng.integers(2, 7)), int(rng.integers(1000))
    kind = rng.random()
    if kind < 0.15:
        size = float(rng.uniform(0.1, 0.6))
        splitter: Any = ShuffleSplit(n_splits, test_size=size, random_state=state)
    elif kind < 0.25:  # rows drawn more than once
        drawn = [np.sort(rng.integers(rows.n, size=rows.n)) for _ in range(n_splits)]
        splits = [(train, np.setdiff1d(np.arange(rows.n), train)) for train in drawn]
        return [(train, test) for train, test in splits if test.size] or [splits[0]]
    elif kind < 0.6 and has_labels:
        counts = np.unique(np.asarray(rows.y), return_counts=True)[1]
        n_splits = max(2, min(n_splits, int(counts.min())))
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=state)
    elif kind < 0.65:
        splitter = KFold(min(rows.n, 12), shuffle=True, random_state=state)
    else:
        splitter = KFold(n_splits)
    with quiet():
        return [(a, b) for a, b in splitter.split(rows.values, rows.y)]


def make_scoring(rng: Generator, rows: Rows, task: str) -> Any:
    if task == "numbers":
        names: list[str] = ["neg_mean_squared_error", "r2", "neg_median_absolute_error"]
        return data.pick(rng, [None, *names])
    if task == "none":
        return None
    if np.unique(np.asarray(rows.y)).size == 2:
        kind = rng.random()
        if kind < 0.6:
            return data.pick(rng, RANKINGS, [3, 1])
        if kind < 0.75:
            return ["accuracy", *RANKINGS]
    return data.pick(rng, [None, "accuracy", "balanced_accuracy", "f1_macro"])


# -- runs


def run(case: Case) -> dict[str, Any]:
    """What cross_validate returns; warnings of scores are scikit-learn's own."""
    from sklearn.exceptions import FitFailedWarning

    from alphapath.model_selection import cross_validate

    rows = case.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FitFailedWarning)  # which is one of those
        try:
            return cross_validate(
                case.estimator,
                rows.X,
                rows.y,
                cv=case.splits,
                scoring=scorer_of(case),
                return_estimator=True,
                **case.how,
            )
        except Exception as error:
            models.refuse(error)
            raise


def scorer_of(case: Case) -> Any:
    if case.scoring is None and not hasattr(case.estimator, "score"):
        return lambda model, X, y=None: float(np.mean(model.predict(X)))
    return case.scoring


# -- checks


def check_shapes(case: Case, results: dict[str, Any]) -> None:
    n = len(case.splits)
    for name, column in results.items():
        if name.startswith("test_") and len(column) != n:
            raise CaseError(f"{name} has {len(column)} scores for {n} folds")
    if not np.isin(results["status"], [-1, 0, 1, 4, 5]).all():
        raise CaseError(f"status {results['status']} without such a limit")


def check_fold(case: Case, results: dict[str, Any], fold: int) -> None:
    train, _ = case.splits[fold]
    model = results["estimator"][fold]
    own = take(case.rows, train)
    if results["status"][fold] == -1:
        check_refused(case, own)
        return
    if hasattr(model, "dual_coef_"):
        certify(case, model, own)
    compare_scores(case, results, fold, model)


def take(rows: Rows, where: NDArray[np.intp]) -> Rows:
    """The training set of a fold."""
    is_matrix = rows.kernel.name == "precomputed"
    values = rows.values[np.ix_(where, where)] if is_matrix else rows.values[where]
    X = as_array(rows.X)
    return replace(
        rows,
        X=values if is_matrix else X[where],
        values=values,
        y=None if rows.y is None else np.asarray(rows.y)[where],
        weights=None if rows.weights is None else rows.weights[where],
    )


def check_refused(case: Case, own: Rows) -> None:
    """A fit on the training rows is refused too."""
    from sklearn.base import clone

    with quiet():
        try:
            clone(case.estimator).fit(own.X, own.y, sample_weight=own.weights)
        except Exception:
            return
    raise CaseError("a fold was refused that fit takes")


def certify(case: Case, model: Any, own: Rows) -> None:
    """From raw data: feasible, optimal to the tolerance, and no better said than it is."""
    K, error = models.raw_gram(own)
    betas = models.betas_of(model, own.n)
    for number, (members, dual) in enumerate(duals_of(case, own, K, error)):
        beta, bias = betas[number][members], float(model.intercept_[number])
        found = quality.measure(dual, beta, bias)
        status = fits.status_of(model, number)
        if status == 1 or (status == 5 and stalls(case, own, number)):
            quality.check_feasible(dual, found)  # rounding may well have stopped it
        else:
            fits.judge(model, own, dual, beta, bias, number)
        fits.check_info(model, number, found)


def stalls(case: Case, own: Rows, number: int) -> bool:
    """Whether rounding stops a fit on the same rows too."""
    from sklearn.base import clone

    with quiet():
        refit = clone(case.estimator).fit(own.X, own.y, sample_weight=own.weights)
    return fits.status_of(refit, number) == 5


def duals_of(case: Case, own: Rows, K: Any, error: float) -> Any:
    kind = type(case.estimator).__name__
    if kind == "SVR":
        return [(slice(None), models.regression_dual(own, K, error, case.estimator.epsilon))]
    if kind == "OneClassSVM":
        return [(slice(None), models.one_class_dual(own, K, error, case.estimator.nu))]
    return models.class_duals(own, K, error, case.estimator.class_weight)


def rounding_of(case: Case, model: Any, own: Rows, values: FloatArray) -> float:
    """What values of the fold may be off those of the returned estimator."""
    if not hasattr(model, "dual_coef_"):
        return 1e-9 * max(1.0, float(np.abs(values).max(initial=0.0)))
    rows = case.rows
    gamma = models.gamma_of(own)
    K = np.abs(quality.gram(rows.kernel, rows.values, gamma)).max(axis=0).astype(float)
    # Gradients keep the rounding of betas that filled the box once.
    box = float((rows.unit_weights * getattr(case.estimator, "C", 1.0)).sum())
    size = box * float(K.max(initial=0.0))
    _, error = models.raw_gram(own, gamma)
    targets = 1.0 if rows.y is None or case.estimator._targets != "numbers" else rows.y
    largest = float(np.abs(np.asarray(targets, dtype=float)).max())
    bias = float(np.abs(model.intercept_).max())
    return STEPS * quality.ULPS * quality.EPS * (error * size + largest + bias)


def values_of(model: Any, X: Any) -> FloatArray:
    has_values = hasattr(model, "decision_function")
    return np.asarray(model.decision_function(X) if has_values else model.predict(X))


def compare_scores(case: Case, results: dict[str, Any], fold: int, model: Any) -> None:
    """Scores are those of the returned estimator, up to ties that rounding may break."""
    from sklearn.metrics import check_scoring

    train, test = case.splits[fold]
    if test.size == 0:
        return
    X = case.X_of(test, train)
    y = () if case.rows.y is None else (np.asarray(case.rows.y)[test],)
    with quiet():
        values = values_of(model, X)
        scorer = check_scoring(model, scoring=scorer_of(case))
        try:
            expected = scorer(model, X, *y)
        except Exception:
            return
    ids = case.ids_of(test, train)
    check_equal_rows(values, ids, "the returned estimator")
    off = rounding_of(case, model, take(case.rows, train), values)
    named = expected if isinstance(expected, dict) else {"score": expected}
    for name, score in named.items():
        found = results[f"test_{name}"][fold]
        if np.isnan(found) and np.isnan(score):
            continue
        if abs(found - score) <= SAME_SCORE * max(1.0, abs(score)):
            continue
        metric = case.scoring if name == "score" else name
        low, high = score_range(metric, model, values, y, ids, off)
        if not low - SAME_SCORE <= found <= high + SAME_SCORE:
            raise CaseError(
                f"fold {fold}, {metric or 'score'}: {found:.10g}, the returned estimator has "
                f"{score:.10g} (values within {off:.2g} give {low:.10g} to {high:.10g})"
            )


def score_range(
    metric: Any, model: Any, values: FloatArray, y: Any, ids: Any, off: float
) -> tuple[float, float]:
    """The scores that are possible where values are off by this much; equal rows stay equal."""
    if metric == "roc_auc":
        is_second = y[0] == model.classes_[1]
        gap = values[is_second][:, None] - values[~is_second][None, :]
        is_same = ids[is_second][:, None] == ids[~is_second][None, :]
        sure = np.where(is_same, 0.5, gap > 2.0 * off)
        possible = np.where(is_same, 0.5, gap >= -2.0 * off)
        return float(sure.mean()), float(possible.mean())
    if metric == "average_precision":
        order = np.argsort(values)
        near = np.diff(values[order]) <= 2.0 * off
        is_loose = (near & (ids[order][1:] != ids[order][:-1])).any()
    elif values.ndim > 1 or hasattr(model, "classes_"):
        is_loose = is_label_loose(model, values, off)
    else:
        is_loose = hasattr(model, "epsilon") or (np.abs(values) <= off).any()
        if hasattr(model, "epsilon"):
            size = float(np.abs(values - np.asarray(y[0], dtype=float)).max())
            if off <= 1e-7 * max(size, 1e-300):
                raise CaseError("the scores of a regression differ by more than rounding")
    return (-np.inf, np.inf) if is_loose else (np.nan, np.nan)


def is_label_loose(model: Any, values: FloatArray, off: float) -> bool:
    """Whether rounding may change a prediction."""
    if values.ndim == 1:
        return bool((np.abs(values) <= off).any())
    return True  # votes of pairs, whose values are not at hand


def check_equal_rows(values: FloatArray, ids: Any, what: str) -> None:
    """Equal rows have the same bits."""
    _, first = np.unique(ids, return_index=True)
    shared = values[first][ids]
    is_off = ~((values == shared) | (np.isnan(values) & np.isnan(shared)))
    if is_off.any():
        off = float(np.nanmax(np.abs(values - shared)))
        raise CaseError(f"{what}: equal rows have values that differ by {off:.3g}")


def check_collected(case: Case, results: dict[str, Any]) -> None:
    """The decision values of the held-out rows, where each is held out once."""
    tests = np.concatenate([test for _, test in case.splits])
    if np.unique(tests).size != tests.size:
        return
    values = results["decision_function"]
    for fold, (train, test) in enumerate(case.splits):
        if results["status"][fold] == -1 or test.size == 0:
            continue
        ids = case.ids_of(test, train)
        check_equal_rows(values[test], ids, f"fold {fold}, seed {results['seed'][fold]}")
        model = results["estimator"][fold]
        with quiet():
            expected = values_of(model, case.X_of(test, train))
        if expected.shape != values[test].shape or expected.ndim > 1:
            continue
        off = rounding_of(case, model, take(case.rows, train), expected)
        models.check_agrees(values[test], expected, off, f"decision values of fold {fold}")


def check_search(case: Case) -> None:
    """The values that a search ranks: no more of them than there are rows that differ."""
    from sklearn.metrics import make_scorer

    from alphapath.model_selection import SVMSearchCV

    rows = case.rows
    kind = type(case.estimator).__name__
    disjoint = all(np.unique(train).size == train.size for train, _ in case.splits)
    if kind not in ("SVC", "LinearSVC") or not disjoint:
        return

    def count(_: Any, values: Any) -> float:
        return float(np.unique(values, axis=0).shape[0])

    scorer = make_scorer(count, response_method="decision_function")
    grid = {"C": [0.1, 1.0, 100.0]}
    options: dict[str, Any] = {"cv": case.splits, "refit": False, "scoring": scorer}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            search = SVMSearchCV(case.estimator, grid, **options)
            search.fit(rows.X, rows.y, **case.how.get("params", {}))
        except Exception as error:
            models.refuse(error)
    for fold, (train, test) in enumerate(case.splits):
        most = np.unique(case.ids_of(test, train)).size
        found = np.asarray(search.cv_results_[f"split{fold}_test_score"])
        if np.nanmax(found, initial=0.0) > most:
            raise CaseError(
                f"a search has {np.nanmax(found):g} different values for {most} different rows"
            )
