"""LinearSVC by every solver against a QP solver, LIBLINEAR and the duality gap from raw data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import data, models
from .cases import CaseError, Skip, quiet
from .data import FloatArray, Generator

EPS = float(np.finfo(float).eps)
#: What sums of many rows may round to, in units of eps of their largest term.
ULPS = 64.0
#: Share of cases that are solved by a QP solver besides, and its relative accuracy.
REFERENCED, REFERENCE_TOL = 0.3, 1e-6


class Column(NamedTuple):
    """One problem as plain numbers: minimise 1/2 |w|^2 (+ 1/2 b^2) + sum c loss(y (X w + b))."""

    X: FloatArray
    y: FloatArray
    c: FloatArray
    loss: str
    width: float
    offset: str


def run_case(seed: int) -> str | None:
    from alphapath import LinearSVC

    rng = data.generator("linear", seed)
    values, X, weights = make_data(rng)
    n_classes = 2 if rng.random() < 0.75 else int(rng.integers(2, 5))
    codes = data.make_codes(rng, values, min(n_classes, len(values) // 2))
    y = data.make_labels(rng, codes)
    model = make_model(rng, LinearSVC)
    try:
        model.fit(X, y, sample_weight=weights)
    except Exception as error:
        models.refuse(error)
    used = np.ones(len(values)) if weights is None else weights
    columns = list(make_columns(model, values, codes, used))
    certificates = model.certify(X, y, weights)
    certificates = certificates if isinstance(certificates, list) else [certificates]
    if len(columns) != len(model.solve_info_) or len(columns) != len(certificates):
        raise CaseError(f"{len(columns)} columns, but {len(model.solve_info_)} solves")
    for number, column in enumerate(columns):
        check_column(rng, model, number, column, certificates[number])
    check_values(model, X, values)
    return None


def make_data(rng: Generator) -> tuple[FloatArray, Any, FloatArray | None]:
    n = int(rng.integers(4, 61))
    d = None if rng.random() < 0.8 else int(rng.integers(9, 80))
    values = data.make_rows(rng, n, d)
    if rng.random() < 0.1:
        values = values + data.power(rng, 3.0, 8.0)
    if rng.random() < 0.15:
        values = values.astype(np.float32).astype(float)
        X: Any = values.astype(np.float32)
        if rng.random() < 0.4:
            X = sp.csr_array(X)
    else:
        X = data.contain(rng, values)
    return values, X, data.make_weights(rng, n)


def make_model(rng: Generator, kind: Any) -> Any:
    loss = data.pick(rng, ["squared_hinge", "hinge", "huber"])
    offset = data.pick(rng, ["penalised", "free", "none"], [3, 2, 2])
    solvers = ["auto", "newton"]
    if offset != "free":
        solvers.append("dual")
    solver = data.pick(rng, solvers, [5, 2, 2][: len(solvers)])
    if loss != "hinge" and rng.random() < 0.1:
        solver = "gradient"
    parameters: dict[str, Any] = {
        "C": data.make_C(rng),
        "width": data.pick(rng, [0.01, 0.5, data.power(rng, -3.0, 1.0)]),
        "solver": solver,
        "tol": data.pick(rng, [1e-4, 1e-2, 1e-7], [6, 1, 2]),
        "fit_intercept": offset != "none",
        "penalise_intercept": offset == "penalised",
        "class_weight": data.pick(rng, [None, "balanced"], [5, 1]),
        "max_iter": 300 if solver in ("dual", "gradient") else 10_000,
        "margin_bounds": bool(rng.random() < 0.8),
    }
    return kind(loss, **parameters)


def make_columns(model: Any, values: FloatArray, codes: Any, weights: FloatArray) -> Any:
    """By the definition of the model alone."""
    present = np.unique(codes[weights > 0.0])
    if len(present) < 2:
        raise Skip("one class only")
    offset = "none" if not model.fit_intercept else "free"
    if model.fit_intercept and model.penalise_intercept:
        offset = "penalised"
    c = model.C * weights
    if model.class_weight == "balanced":
        counts = np.array([weights[codes == k].sum() for k in range(codes.max() + 1)])
        scale = weights.sum() / (len(present) * np.where(counts > 0.0, counts, 1.0))
        c = c * scale[codes]
    width = model.width if model.loss == "huber" else 0.0
    classes = present if len(model.classes_) == len(present) else np.unique(codes)
    for k in [classes[1]] if len(classes) == 2 else classes:
        yield Column(values, np.where(codes == k, 1.0, -1.0), c, model.loss, width, offset)


def objective(column: Column, w: FloatArray, b: float) -> tuple[float, float]:
    """In extended precision, with a bound on its rounding in double."""
    X, y, c = (part.astype(np.longdouble) for part in (column.X, column.y, column.c))
    f = X @ w.astype(np.longdouble) + np.longdouble(b)
    short = 1.0 - y * f
    if column.loss == "hinge":
        losses, slopes = np.maximum(short, 0.0), short > 0.0
    elif column.loss == "squared_hinge":
        losses, slopes = np.maximum(short, 0.0) ** 2, 2.0 * np.maximum(short, 0.0)
    else:
        h = np.longdouble(column.width)
        curved = np.maximum(short + h, 0.0) ** 2 / (4.0 * h)
        losses = np.where(short > h, short, curved)
        slopes = np.clip((short + h) / (2.0 * h), 0.0, 1.0)
    size = np.abs(column.X) @ np.abs(w) + abs(b) + 1.0
    value = c @ losses + 0.5 * (w.astype(np.longdouble) @ w)
    value += 0.5 * np.longdouble(b) ** 2 * (column.offset == "penalised")
    rounding = ULPS * EPS * float((c * (np.asarray(slopes) + 0.0)) @ size + value)
    return float(value), rounding


def check_column(rng: Generator, model: Any, number: int, column: Column, certificate: Any) -> None:
    w, b = model.coef_[number], float(model.intercept_[number])
    info = model.solve_info_[number]
    if not (np.isfinite(w).all() and np.isfinite(b)):
        raise CaseError(f"column {number}: coefficients are not finite")
    value, rounding = objective(column, w, b)
    label = f"column {number} ({column.loss}, {column.offset}, {model.solver}, C={model.C:g})"
    for name, said in (("info", info.objective), ("certificate", certificate.objective)):
        if not abs(said - value) <= rounding + 1e-9 * value:
            raise CaseError(f"{label}: {name} says objective {said:.12g}, raw data {value:.12g}")
    status = int(info.status)
    if status == 0 and not info.duality_gap <= model.tol * info.objective * (1.0 + 1e-9):
        raise CaseError(f"{label}: solved at a gap of {info.duality_gap:.3g} of {value:.6g}")
    if status not in (0, 1, 5) or (status == 1 and model.solver in ("auto", "newton")):
        raise CaseError(f"{label}: fit_status_ is {status} without any limit")
    if status == 0 and certificate.duality_gap > 10.0 * model.tol * value + rounding:
        raise CaseError(
            f"{label}: solved at tol={model.tol:g}, certified gap {certificate.duality_gap:.3g} "
            f"of {value:.6g} (rounding {rounding:.2g})"
        )
    if status == 5 and model.solver in ("auto", "newton") and rounding < 0.01 * model.tol * value:
        raise CaseError(
            f"{label}: STALLED at a gap of {info.duality_gap:.3g} of {value:.6g}, rounding is "
            f"{rounding:.2g}"
        )
    if rng.random() < REFERENCED:
        best = reference(column)
        if best is None:
            return
        for name, gap in (("info", info.duality_gap), ("certificate", certificate.duality_gap)):
            if value - best > gap + rounding + REFERENCE_TOL * abs(best):
                raise CaseError(
                    f"{label}: {name} says gap {gap:.3g}, but the objective {value:.10g} is "
                    f"{value - best:.3g} above that of another solver"
                )


def reference(column: Column) -> float | None:
    """The least objective that clarabel and LIBLINEAR find; None where neither does."""
    found = [solve_qp(column), solve_liblinear(column)]
    values = [value for value in found if value is not None]
    return min(values, default=None)


def solve_qp(column: Column) -> float | None:
    """Clarabel on the primal, features and the objective scaled; its objective from raw data."""
    import clarabel

    used = column.c > 0.0
    X, y, c = column.X[used], column.y[used], column.c[used]
    n, d = X.shape
    scale = max(float(c.max()), 1e-300)
    n_curved = n if column.loss == "huber" else 0
    # Variables: w, b, the slacks, and for the Huber loss what of them is on the parabola.
    size = d + 1 + n + n_curved
    P = np.zeros(size)
    P[:d] = 1.0 / scale
    P[d] = (column.offset == "penalised") / scale
    q = np.zeros(size)
    slack = slice(d + 1, d + 1 + n)
    A = np.zeros((2 * n + n_curved, size))
    A[:n, :d], A[:n, d] = -y[:, None] * X, -y * (column.offset != "none")
    A[:n, slack] = -np.eye(n)
    A[n : 2 * n, slack] = -np.eye(n)
    bound = np.concatenate([np.full(n, -1.0), np.zeros(n + n_curved)])
    if column.loss == "squared_hinge":
        P[slack] = 2.0 * c / scale
    else:
        q[slack] = c / scale
    if column.loss == "huber":  # (1 - m + h)_+ = s + u, with s at slope 1 and u^2 / (4 h), u <= 2 h
        curved = slice(d + 1 + n, size)
        P[curved] = c / (2.0 * column.width) / scale
        A[:n, curved] = -np.eye(n)
        A[2 * n :, curved] = -np.eye(n)
        bound[:n] = -1.0 - column.width
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(bound))]
    try:
        solver = clarabel.DefaultSolver(
            sp.diags(P, format="csc"), q, sp.csc_matrix(A), bound, cones, settings
        )
        x = np.asarray(solver.solve().x)
    except BaseException:
        return None
    if not np.isfinite(x).all():
        return None
    b = float(x[d]) if column.offset != "none" else 0.0
    return objective(column, x[:d], b)[0]


def solve_liblinear(column: Column) -> float | None:
    """scikit-learn's LinearSVC, where it has the loss and the offset."""
    from sklearn.svm import LinearSVC

    if column.loss == "huber" or column.offset == "free":
        return None
    used = column.c > 0.0
    largest = float(column.c.max())
    peer = LinearSVC(
        C=largest,
        loss=column.loss,
        dual=column.loss == "hinge",
        fit_intercept=column.offset == "penalised",
        tol=1e-9,
        max_iter=2000,
        random_state=0,
    )
    with quiet():
        try:
            peer.fit(column.X[used], column.y[used], sample_weight=column.c[used] / largest)
        except ValueError:
            return None
    bias = float(np.ravel(peer.intercept_)[0]) if column.offset == "penalised" else 0.0
    if not np.isfinite(peer.coef_).all():
        return None
    return objective(column, peer.coef_[0], bias)[0]


def check_values(model: Any, X: Any, values: FloatArray) -> None:
    """Decision values are X w + b."""
    found = np.asarray(model.decision_function(X)).reshape(len(values), -1)
    expected = values @ model.coef_.T + model.intercept_
    size = np.abs(values) @ np.abs(model.coef_).T + np.abs(model.intercept_)
    off = np.abs(found - expected) - ULPS * EPS * size
    if off.max() > 0.0:
        raise CaseError(f"decision values are off by {off.max():.3g}")
