"""SmoothSVC and SmoothSVR, their folds, leave-one-out and searches, by formula and by refits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import data, models
from .cases import CaseError, Skip, quiet
from .data import FloatArray, Generator, Rows

EPS = float(np.finfo(float).eps)
ULPS = 64.0
#: A gap of this share of the objective is solved, whatever `tol` (a norm of the gradient) is.
GAP_SHARE = 1e-9


class Case(NamedTuple):
    """A training set and a model for it, whose kernel does not depend on the rows."""

    rows: Rows
    model: Any
    weights: FloatArray | None
    is_classifier: bool

    def refit(self, keep: Any, **parameters: Any) -> Any:
        """The model fitted on these rows alone."""
        from sklearn.base import clone

        model = clone(self.model).set_params(**parameters)
        weights = None if self.weights is None else self.weights[keep]
        return model.fit(self.take(keep), np.asarray(self.rows.y)[keep], sample_weight=weights)

    def take(self, rows: Any, columns: Any = None) -> FloatArray:
        """Training rows, or with a kernel matrix its entries with the rows trained on."""
        X = self.rows.values[rows]
        if self.model.kernel != "precomputed":
            return X
        return X[:, rows if columns is None else columns]


def run_case(seed: int) -> str | None:
    rng = data.generator("smooth", seed)
    case = make_case(rng)
    try:
        case.model.fit(case.rows.X, case.rows.y, sample_weight=case.weights)
    except Exception as error:
        models.refuse(error)
    check_fit(case, case.model, np.arange(case.rows.n))
    check = data.pick(rng, [check_leave_one_out, check_folds, check_search, None], [3, 3, 2, 2])
    if check is not None:
        check(rng, case)
    return None


def make_case(rng: Generator) -> Case:
    from alphapath import SmoothSVC, SmoothSVR

    is_classifier = rng.random() < 0.6
    rows = data.make_set(rng, "labels" if is_classifier else "numbers", n=(6, 40), most_classes=4)
    parameters = rows.kernel.parameters
    if rng.random() < 0.4 and rows.kernel.name != "precomputed":
        parameters = {"kernel": "linear"}
    elif rows.kernel.name != "precomputed" and not callable(rows.kernel.name):
        parameters["gamma"] = models.gamma_of(rows)
    parameters["c"] = float(min(max(rows.C, 1e-4), 1e6))
    parameters["fit_intercept"] = bool(rng.random() < 0.7)
    parameters["strategy"] = data.pick(rng, ["auto", "feature", "instance", "none"], [4, 1, 1, 1])
    if is_classifier:
        return Case(rows, SmoothSVC(**parameters), rows.weights, True)
    epsilon = float(data.pick(rng, [0.0, 0.1, 1.0]))
    return Case(rows, SmoothSVR(epsilon=epsilon, **parameters), rows.weights, False)


# -- one fit


def check_fit(case: Case, model: Any, keep: Any) -> None:
    """The gradient of the objective by the definition of the model, in extended precision."""
    weights = np.ones(case.rows.n) if case.weights is None else case.weights
    s = weights[keep].astype(np.longdouble)
    values = case.take(keep).astype(np.longdouble)
    targets = np.asarray(case.rows.y)[keep]
    if model.kernel == "linear":
        A, coefs = values, model.coef_
    else:
        kernel = case.rows.kernel
        gamma = model.gamma if kernel.name in ("rbf", "poly", "sigmoid") else 0.0
        K = (
            values
            if kernel.name == "precomputed"
            else kernel.evaluate(values.astype(float), values.astype(float), gamma)
        )
        root = np.sqrt(s)
        A = K * root
        coefs = np.divide(
            model.kernel_coef_,
            root.astype(float),
            out=np.zeros_like(model.kernel_coef_),
            where=root > 0.0,
        )
    for k, (u, b) in enumerate(zip(coefs, model.intercept_, strict=True)):
        if case.is_classifier:
            y = np.where(targets == model.classes_[1 if len(coefs) == 1 else k], 1.0, -1.0)
        else:
            y = targets.astype(float)
        objective, gradient, rounding = evaluate(case, model, (A, y, s), (u, b))
        info = model.solve_info_[k]
        allowed = max(model.tol, np.sqrt(2.0 * GAP_SHARE * objective)) * (1.0 + 1e-6)
        label = f"{type(model).__name__} {model.kernel} column {k}, c={model.c:g}"
        if int(info.status) == 0 and not gradient <= allowed + rounding:
            raise CaseError(
                f"{label}: solved with a gradient of {gradient:.3g}, objective {objective:.6g} "
                f"(rounding {rounding:.2g})"
            )
        if not abs(info.objective - objective) <= 1e-8 * objective + rounding**2 + 1e-300:
            raise CaseError(f"{label}: objective {info.objective:.10g}, not {objective:.10g}")
        if int(info.status) not in (0, 5):
            raise CaseError(f"{label}: fit_status_ is {int(info.status)} without any limit")
        if int(info.status) == 5 and rounding < 0.01 * allowed:
            raise CaseError(
                f"{label}: STALLED at a gradient of {gradient:.3g}, may be {allowed:.3g}"
            )


def evaluate(
    case: Case, model: Any, problem: tuple[Any, Any, Any], at: tuple[Any, float]
) -> tuple[float, float, float]:
    """Objective, norm of its gradient, and what that may be by rounding."""
    (A, y, s), (u, b) = problem, at
    u = u.astype(np.longdouble)
    f = A @ u + np.longdouble(b)
    c = model.c * s
    if case.is_classifier:
        slopes, losses = -c * y * np.maximum(1.0 - y * f, 0.0), np.maximum(1.0 - y * f, 0.0) ** 2
    else:
        e = f - y
        beyond = np.maximum(np.abs(e) - model.epsilon, 0.0)
        slopes, losses = c * np.sign(e) * beyond, beyond**2
    gradient = u + A.T @ slopes
    at_bias = (np.longdouble(b) + slopes.sum()) * model.fit_intercept
    objective = 0.5 * (u @ u + np.longdouble(b) ** 2) + 0.5 * (c @ losses)
    size = np.abs(A) @ np.abs(u) + abs(b) + np.abs(y)
    noise = ULPS * EPS * (np.abs(A).T @ (c * size) + np.abs(u))
    total = float(np.sqrt(noise @ noise) + ULPS * EPS * float(c @ size))
    return float(objective), float(np.sqrt(gradient @ gradient + at_bias**2)), total


# -- what follows from other fits


def values_of(model: Any, X: Any) -> FloatArray:
    decide = model.decision_function if hasattr(model, "decision_function") else model.predict
    with quiet():  # a data frame's columns have names, rows of it here have none
        return np.asarray(decide(X), dtype=float)


def allowance(case: Case, model: Any, X: FloatArray, keep: Any) -> float:
    """How far values of two solved models may be apart: gradients bound the distance of theta."""
    from sklearn.utils.validation import check_array

    objective = float(np.max(model.objective_))
    far = 2.0 * max(model.tol, np.sqrt(2.0 * GAP_SHARE * objective))
    if model.kernel == "linear" or model.kernel == "precomputed":
        rows = check_array(X)
    else:
        train = case.take(keep)
        kernel = case.rows.kernel
        gamma = model.gamma if kernel.name in ("rbf", "poly", "sigmoid") else 0.0
        rows = np.asarray(kernel.evaluate(X, train, gamma), dtype=float)
    scale = 1.0
    if model.kernel != "linear" and case.weights is not None:
        scale = float(np.sqrt(case.weights.max()))
    longest = float(np.linalg.norm(rows, axis=1).max()) * scale + 1.0
    return far * longest + 1e-7 * float(np.abs(values_of(model, X)).max())


def is_solved(model: Any) -> bool:
    return all(int(info.status) == 0 for info in model.solve_info_)


def has_classes(case: Case, keep: Any) -> bool:
    """Whether all classes are left with a weight."""
    if not case.is_classifier:
        return True
    y = np.asarray(case.rows.y)
    used = np.ones(case.rows.n, bool) if case.weights is None else case.weights > 0.0
    kept = np.zeros(case.rows.n, bool)
    kept[keep] = True
    return set(y[used & kept].tolist()) == set(y[used].tolist()) == set(y.tolist())


def check_leave_one_out(rng: Generator, case: Case) -> None:
    from alphapath.model_selection import leave_one_out

    try:
        found = leave_one_out(case.model, case.rows.X, case.rows.y, sample_weight=case.weights)
    except Exception as error:
        models.refuse(error)
    values = np.asarray(found.decision_function_).reshape(case.rows.n, -1)
    for i in rng.permutation(case.rows.n)[:6]:
        keep = np.delete(np.arange(case.rows.n), i)
        if not has_classes(case, keep):
            continue
        if case.weights is not None and case.weights[i] == 0.0:
            model, keep = case.model, np.arange(case.rows.n)
        else:
            model = case.refit(keep)
        row = case.take([i], keep)
        expected = values_of(model, row).reshape(-1)
        within = allowance(case, model, row, keep)
        off = float(np.abs(values[i] - expected).max())
        if is_solved(model) and is_solved(case.model) and not off <= within:
            raise CaseError(
                f"leave-one-out of row {i}: {values[i]}, but a refit says {expected} (allowed "
                f"{within:.2g}); {case.model}"
            )


def check_folds(rng: Generator, case: Case) -> None:
    from sklearn.model_selection import KFold

    from alphapath.model_selection import cross_validate

    cv = KFold(int(rng.integers(2, 4)), shuffle=True, random_state=int(rng.integers(99)))
    splits = list(cv.split(case.rows.values))
    if not all(has_classes(case, train) for train, _ in splits):
        raise Skip("a fold lacks a class")
    params = None if case.weights is None else {"sample_weight": case.weights}
    try:
        found = cross_validate(
            case.model, case.rows.X, case.rows.y, cv=splits, return_estimator=True, params=params
        )
    except Exception as error:
        models.refuse(error)
    for (train, test), model in zip(splits, found["estimator"], strict=True):
        check_fit(case, model, train)
        again = case.refit(train)
        rows = case.take(test, train)
        if is_solved(model) and is_solved(again):
            models.check_agrees(
                values_of(model, rows),
                values_of(again, rows),
                allowance(case, again, rows, train),
                "values of a fold",
            )


def check_search(rng: Generator, case: Case) -> None:
    from sklearn.model_selection import KFold

    from alphapath.model_selection import SVMSearchCV

    splits = list(KFold(3, shuffle=True, random_state=1).split(case.rows.values))
    if not all(has_classes(case, train) for train, _ in splits):
        raise Skip("a fold lacks a class")
    grid = sorted({case.model.c, case.model.c * 4.0, case.model.c / 10.0})
    scoring = "accuracy" if case.is_classifier else "neg_mean_squared_error"
    search = SVMSearchCV(case.model, {"c": grid}, cv=splits, scoring=scoring, refit=False)
    fits = {} if case.weights is None else {"sample_weight": case.weights}
    try:
        search.fit(case.rows.X, case.rows.y, **fits)
    except Exception as error:
        models.refuse(error)
    y = np.asarray(case.rows.y)
    for k, params in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(splits):
            model = case.refit(train, c=params["c"])
            found = float(search.cv_results_[f"split{fold}_test_score"][k])
            if not is_solved(model) or search.cv_results_["status"][k] != "solved":
                continue
            rows = case.take(test, train)
            low, high = score_range(case, model, (rows, y[test], test), train)
            if not low - 1e-9 <= found <= high + 1e-9:
                raise CaseError(
                    f"c={params['c']:g}, fold {fold}: score {found:.10g}, a refit has {low:.10g} "
                    f"to {high:.10g}; {case.model}"
                )


def score_range(
    case: Case, model: Any, held_out: tuple[Any, Any, Any], train: Any
) -> tuple[float, float]:
    """The scores that values within their allowance can have."""
    rows, y, test = held_out
    share = np.ones(len(y)) if case.weights is None else case.weights[test]
    if not share.any():
        return -np.inf, np.inf
    share = share / share.sum()
    off = allowance(case, model, rows, train)
    values = values_of(model, rows)
    if not case.is_classifier:
        error = np.abs(values - y)
        slack = 1e-9 * float(share @ error**2)
        best = share @ np.maximum(error - off, 0.0) ** 2
        return -float(share @ (error + off) ** 2) - slack, -float(best) + slack
    if values.ndim == 1:
        is_loose = np.abs(values) <= off
    else:
        top = np.sort(values, axis=1)
        is_loose = top[:, -1] - top[:, -2] <= 2.0 * off
    with quiet():
        is_right = model.predict(rows) == y
    return float(share[is_right & ~is_loose].sum()), float(share[is_right | is_loose].sum())
