"""Fits of SVC, SVR, OneClassSVM and QuadraticLossSVC against the certificate from raw data."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import data, models, quality
from .cases import CaseError
from .data import Generator, Rows
from .quality import Dual, Quality

#: Of what the certificate of the library may differ from ours, beyond the floors of both.
RELATIVE = 1e-6


def run_case(seed: int) -> str | None:
    rng = data.generator("fits", seed)
    kind = data.pick(rng, [check_svc, check_svr, check_one_class, check_quadratic], [4, 3, 2, 2])
    return kind(rng)


def check_svc(rng: Generator) -> str | None:
    from alphapath import SVC

    rows = data.make_set(rng, "labels", most_classes=6)
    class_weight: Any = None
    if rng.random() < 0.15:
        labels = np.unique(rows.y).tolist()
        weights = {label: data.power(rng, -2, 2) for label in labels[:2]}
        class_weight = data.pick(rng, ["balanced", weights])
    model = SVC(C=rows.C, tol=rows.tol, class_weight=class_weight, **rows.kernel.parameters)
    fit(model, rows)
    K, error = models.raw_gram(rows)
    duals = list(models.class_duals(rows, K, error, class_weight))
    betas = models.betas_of(model, rows.n)
    certificates = as_list(model.certify(rows.X, rows.y, rows.weights))
    values = model.set_params(decision_function_shape="ovo").decision_function(rows.X)
    values = values.reshape(rows.n, -1)
    for number, ((members, dual), beta) in enumerate(zip(duals, betas, strict=True)):
        bias = float(model.intercept_[number])
        if np.delete(beta, members).any():
            raise CaseError(f"pair {number} has a beta on a row of another class")
        found = judge(model, rows, dual, beta[members], bias, number)
        compare_certificate(certificates[number], found)
        check_info(model, number, found)
        check_values(values[members, number], found)
    return None


def check_svr(rng: Generator) -> str | None:
    from alphapath import SVR

    rows = data.make_set(rng, "numbers")
    epsilon = float(data.pick(rng, [0.1, 0.0, 0.5, 1e-6, 10.0]))
    model = SVR(C=rows.C, tol=rows.tol, epsilon=epsilon, **rows.kernel.parameters)
    fit(model, rows)
    K, error = models.raw_gram(rows)
    check_one(model, rows, models.regression_dual(rows, K, error, epsilon))
    return None


def check_one_class(rng: Generator) -> str | None:
    from alphapath import OneClassSVM

    rows = data.make_set(rng, "none")
    nu = float(data.pick(rng, [0.5, 0.1, 0.01, 1.0, rng.uniform(0.001, 1.0)]))
    model = OneClassSVM(nu=nu, tol=rows.tol, **rows.kernel.parameters)
    fit(model, rows)
    K, error = models.raw_gram(rows)
    check_one(model, rows, models.one_class_dual(rows, K, error, nu))
    return None


def check_quadratic(rng: Generator) -> str | None:
    from alphapath import QuadraticLossSVC

    rows = data.make_set(rng, "labels")
    loss = data.pick(rng, ["squared_hinge", "modified_huber", "huber", (0.5, 1e-3)])
    lam = data.power(rng, -4.0, 3.0)
    model = QuadraticLossSVC(loss=loss, lam=lam, tol=rows.tol * 1e-3, **rows.kernel.parameters)
    fit(model, rows)
    K, error = models.raw_gram(rows)
    check_one(model, rows, models.quadratic_dual(rows, K, error, loss, lam))
    return None


def fit(model: Any, rows: Rows) -> None:
    """Fit, or skip where the library refuses in a sentence."""
    try:
        model.fit(rows.X, rows.y, sample_weight=rows.weights)
    except Exception as error:
        models.refuse(error)


def check_one(model: Any, rows: Rows, dual: Dual) -> None:
    """A model of one problem."""
    (beta,) = models.betas_of(model, rows.n)
    found = judge(model, rows, dual, beta, float(model.intercept_[0]), 0)
    compare_certificate(model.certify(rows.X, rows.y, rows.weights), found)
    check_info(model, 0, found)
    values = model.decision_function if hasattr(model, "decision_function") else model.predict
    check_values(values(rows.X), found)


def judge(model: Any, rows: Rows, dual: Dual, beta: Any, bias: float, number: int) -> Quality:
    """Quality from raw data, checked against what the status says."""
    if not np.isfinite(dual.K).all():
        raise CaseError(f"{type(model).__name__} was fitted on kernel values that are not finite")
    found = quality.measure(dual, beta, bias)
    quality.check_feasible(dual, found)
    status = status_of(model, number)
    # The library takes the largest kernel value for those of all rows: what it calls STALLED may be
    # nearer than it can tell. Nor can anybody who computes in double where the floor is beyond tol.
    size = quality.EPS * float(np.linalg.norm(beta))
    largest = float(np.abs(dual.K).max(initial=0.0))
    doubt = max(found.floor, size * largest)
    # Where values that K is made of round by more than the tolerance, a solver may stop anywhere.
    is_lost = size * dual.made_of > model.tol
    if status == 0:
        found.check(model.tol, f"{type(model).__name__} problem {number}")
    elif status == 5 and max(found.violation, doubt) <= model.tol and not is_lost:
        raise CaseError(f"STALLED at violation {found.violation:.3g}, tol is {model.tol:g}")
    elif status == 5 and found.violation > 1e3 * doubt + 10.0 * model.tol and not is_lost:
        raise CaseError(
            f"STALLED at violation {found.violation:.3g}, far above rounding {doubt:.3g}"
        )
    elif status == 4 and rows.kernel.is_convex:
        raise CaseError("STATIONARY: a positive semi-definite kernel was called indefinite")
    elif status not in (0, 4, 5):
        raise CaseError(f"fit_status_ is {status} without any limit")
    return found


def status_of(model: Any, number: int) -> int:
    if hasattr(model, "solve_info_"):
        info = model.solve_info_
        return int((info[number] if isinstance(info, tuple) else info).status)
    return int(model.fit_status_)


def compare_certificate(certificate: Any, found: Quality) -> None:
    """The library's certificate says what raw data say."""
    off = abs(certificate.kkt_violation - found.violation)
    if not off <= found.floor + RELATIVE * found.violation:
        raise CaseError(
            f"certify says violation {certificate.kkt_violation:.3g}, raw data "
            f"{found.violation:.3g} (floor {found.floor:.2g})"
        )


def check_info(model: Any, number: int, found: Quality) -> None:
    """What the fit reports of its own quality is not better than the truth."""
    said = float(np.atleast_1d(model.kkt_violation_)[number])
    if not found.violation <= 1.1 * said + 10.0 * found.floor + 0.01 * model.tol:
        raise CaseError(
            f"kkt_violation_ is {said:.3g}, raw data say {found.violation:.3g} "
            f"(floor {found.floor:.2g})"
        )


def check_values(values: Any, found: Quality) -> None:
    models.check_agrees(values, found.values, 2.0 * found.floor, "decision values")


def as_list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]
