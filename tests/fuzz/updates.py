"""Rows in and out of SVC and SVR against the dual of the rows that are left, from raw data."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import data, fits, models, quality
from .cases import CaseError, Skip, quiet
from .data import FloatArray, Generator, Rows
from .folds import MOST_STEPS, take
from .quality import Dual, LongArray, Quality

IntArray = NDArray[np.int64]

#: What a walk may be off and counts as exact, relative to the targets.
EXACT = 1e-10


@dataclass
class Case:
    """A model and the rows that it should be the model of, `present`, in the order of arrival.

    `rows` are all that ever come; a row that was forgotten may come again, and one twice.
    """

    rows: Rows
    model: Any
    present: IntArray
    K: LongArray
    gamma: float

    @property
    def own(self) -> Rows:
        """The training set as it is now."""
        return take(replace(self.rows, C=self.model.C), self.present)

    def duals(self) -> Iterator[tuple[NDArray[np.intp], Dual]]:
        """Members and problem of every beta."""
        own, K, error = self.own, self.K[np.ix_(self.present, self.present)], self.error
        if hasattr(self.model, "epsilon"):
            dual = models.regression_dual(own, K, error, self.model.epsilon)
            found = iter([(np.arange(own.n), dual)])
        else:
            weight, classes = self.model.class_weight, self.model.classes_
            found = models.class_duals(own, K, error, weight, classes)
        # Kernel values are kept about one of the first rows, which may be gone.
        largest = float(np.abs(self.K).max())
        return ((members, replace(dual, made_of=largest)) for members, dual in found)

    @property
    def error(self) -> float:
        """Of a kernel value, in units of eps."""
        kernel, values = self.rows.kernel, self.rows.values
        if callable(kernel.name):
            return values.shape[1] + 4.0
        return kernel.rounding(values, self.gamma, not sp.issparse(self.rows.X))

    @property
    def lacks_classes(self) -> bool:
        """Whether a class that the model knows has no row of positive weight."""
        if hasattr(self.model, "epsilon"):
            return False
        own = self.own
        seen = np.unique(np.asarray(own.y)[own.unit_weights > 0.0])
        return len(seen) < len(self.model.classes_)


def run_case(seed: int) -> str | None:
    rng = data.generator("updates", seed)
    rows, model = make_problem(rng)
    if rows.kernel.name == "precomputed":
        return check_precomputed(model, rows)
    case = begin(rng, rows, model)
    if model.fit_status_ != 1:
        check(case)
    for _ in range(int(rng.integers(1, 5))):
        change(rng, case)
        check(case)
    compare_fresh(case)
    return None


# -- cases


def make_problem(rng: Generator) -> tuple[Rows, Any]:
    from alphapath import SVC, SVR

    if rng.random() < 0.55:
        rows = data.make_set(rng, "labels", n=(4, 40), most_classes=3)
        model: Any = SVC(C=rows.C, tol=rows.tol, **rows.kernel.parameters)
        if rng.random() < 0.1:
            labels = np.unique(np.asarray(rows.y)).tolist()
            heavy = {label: data.power(rng, -2, 2) for label in labels[:2]}
            model.set_params(class_weight=data.pick(rng, ["balanced", heavy]))
    else:
        rows = data.make_set(rng, "numbers", n=(4, 40))
        epsilon = float(data.pick(rng, [0.1, 0.0, 0.5, 1e-6, 10.0]))
        model = SVR(C=rows.C, tol=rows.tol, epsilon=epsilon, **rows.kernel.parameters)
    model.set_params(max_iter=MOST_STEPS)  # of fits, whose own fuzzer has those that take more
    if rng.random() < 0.25:
        model.set_params(window=int(rng.integers(1, rows.n + 1)))
    return rows, model


def begin(rng: Generator, rows: Rows, model: Any) -> Case:
    """A model of the first rows: from `fit`, or from nothing."""
    first = rng.permutation(rows.n)[: int(rng.integers(2, rows.n + 1))]
    batch = take(rows, first)
    is_fit = rng.random() < 0.5
    try:
        if is_fit:
            model.fit(batch.X, batch.y, sample_weight=batch.weights)
        elif hasattr(model, "epsilon"):
            model.partial_fit(batch.X, batch.y, batch.weights)
        else:
            classes = np.unique(np.asarray(rows.y))
            model.partial_fit(batch.X, batch.y, batch.weights, classes=classes)
    except Exception as error:
        models.refuse(error)
    gamma = models.gamma_of(batch)
    K = quality.gram(rows.kernel, rows.values, gamma)
    if not np.isfinite(K).all():
        raise Skip("kernel values between rows that came and others are not finite.")
    present = first if is_fit or model.window is None else first[-model.window :]
    return Case(rows, model, present, K, gamma)


def change(rng: Generator, case: Case) -> None:
    """Rows in, out, or both at once; what is refused leaves the model as it was."""
    model = case.model
    if rng.random() < 0.06:
        case.model = model = travel(rng, model)
    if rng.random() < 0.08:
        model.set_params(C=float(model.C * 10.0 ** rng.integers(-2, 3)))
    if rng.random() < 0.08 and hasattr(model, "epsilon"):
        model.set_params(epsilon=float(data.pick(rng, [0.1, 0.0, 1.0])))
    if rng.random() < 0.05:
        check_refusal(rng, case)
    come, gone = choose_rows(rng, case)
    batch = take(case.rows, come)
    X = contain(rng, batch)
    before = model.decision_function if hasattr(model, "decision_function") else model.predict
    try:
        if come.size == 0:
            model.forget(gone)
        elif gone.size == 0 and rng.random() < 0.7:
            model.partial_fit(X, batch.y, batch.weights)
        else:
            model.update(X, batch.y, forget=gone, sample_weight=batch.weights)
    except Exception as error:
        before(case.own.X)
        models.refuse(error)
    present = np.concatenate([np.delete(case.present, gone), come])
    case.present = present if model.window is None else present[-model.window :]


def travel(rng: Generator, model: Any) -> Any:
    """The model by way of a copy or a pickle; one that was fitted only leaves its rows behind."""
    if not hasattr(model, "update_time_"):
        return model
    return copy.deepcopy(model) if rng.random() < 0.5 else pickle.loads(pickle.dumps(model))


def choose_rows(rng: Generator, case: Case) -> tuple[IntArray, IntArray]:
    """(rows that come, positions that go), at least one row left."""
    n = case.present.size
    come = rng.integers(case.rows.n, size=int(data.pick(rng, [0, 1, 3, 8, 20], [3, 3, 3, 2, 1])))
    gone = rng.permutation(n)[: int(data.pick(rng, [0, 1, 3, n // 2, n], [3, 3, 3, 2, 1]))]
    if rng.random() < 0.1 and not hasattr(case.model, "epsilon"):  # a class as a whole
        labels = np.asarray(case.own.y)
        gone = np.flatnonzero(labels == data.pick(rng, labels))
    if come.size == 0 and gone.size == n:
        gone = gone[1:]
    return come, gone.astype(np.int64)


def contain(rng: Generator, batch: Rows) -> Any:
    """Some of the batches in other containers than the first rows."""
    if rng.random() < 0.8:
        return batch.X
    X = data.contain(rng, batch.values)
    return batch.values if hasattr(X, "columns") else X


# -- checks


def check_precomputed(model: Any, rows: Rows) -> None:
    """There is no update of kernel values alone."""
    fits.fit(model, rows)
    for name in ("partial_fit", "forget", "update"):
        if hasattr(model, name):
            raise CaseError(f"a model of a precomputed kernel has {name}")


def check_refusal(rng: Generator, case: Case) -> None:
    """What can not be done is refused in a sentence, and the model stays as it was."""
    model, own = case.model, case.own
    n = own.n
    everybody = np.arange(n)
    bad = np.full((1, own.values.shape[1]), np.nan)
    y = np.asarray(own.y)[:1]
    before = pickle.dumps((model.dual_coef_, model.intercept_, model.support_))
    ways: list[Any] = [
        lambda: model.forget(everybody),
        lambda: model.forget([n]),
        lambda: model.forget([0, 0]),
        lambda: model.update(bad, y, forget=[0]),
        lambda: model.partial_fit(bad, y),
    ]
    try:
        data.pick(rng, ways)()
    except (ValueError, IndexError) as error:
        if not str(error).strip():
            raise
    else:
        raise CaseError("what can not be done was not refused")
    if pickle.dumps((model.dual_coef_, model.intercept_, model.support_)) != before:
        raise CaseError("a change that was refused left its traces")


def check(case: Case) -> None:
    """The model is that of the rows that are left, and says so."""
    for number, (dual, values, found, lost) in enumerate(judge(case)):
        if dual is None:
            continue
        fits.check_info(case.model, number, found)
        fits.check_values(values, found)
        room = EXACT * max(1.0, float(np.abs(dual.targets).max()))
        room += float(np.atleast_1d(case.model.kkt_violation_)[number]) + lost
        check_bias(float(case.model.intercept_[number]), found, room)
    certify(case)


def judge(case: Case) -> Iterator[tuple[Any, Any, Any, float]]:
    """(problem, decision values, quality, rounding of values about a far origin) of every problem.

    None for a problem without any row.
    """
    model, own = case.model, case.own
    if model.shape_fit_ != own.values.shape:
        raise CaseError(f"shape_fit_ is {model.shape_fit_} instead of {own.values.shape}")
    betas = models.betas_of(model, own.n)
    values = values_of(model, own.X)
    for number, (members, dual) in enumerate(case.duals()):
        beta, bias = betas[number], float(model.intercept_[number])
        if np.delete(beta, members).any():
            raise CaseError(f"problem {number} has a beta on a row of another class")
        if members.size == 0:
            yield None, None, None, 0.0
            continue
        found = fits.judge(model, own, dual, beta[members], bias, number)
        lost = quality.EPS * dual.made_of * float(np.linalg.norm(beta))
        yield dual, values[members, number], found, lost


def values_of(model: Any, X: Any) -> FloatArray:
    """Decision values or predictions, one column a problem."""
    if not hasattr(model, "decision_function"):
        return np.asarray(model.predict(X))[:, None]
    shape = model.decision_function_shape
    values = model.set_params(decision_function_shape="ovo").decision_function(X)
    model.set_params(decision_function_shape=shape)
    return np.asarray(values.reshape(len(values), -1))


def check_bias(bias: float, found: Quality, room: float) -> None:
    """The bias is one of those that residuals leave open, which are known to `room`."""
    low, high = sorted([found.bias_low, found.bias_high])
    room += found.floor
    if not low - room <= bias <= high + room:
        raise CaseError(f"the bias {bias:.12g} is outside {low:.12g} to {high:.12g}")


def certify(case: Case) -> None:
    """The library's own certificate on the rows that are left."""
    own = case.own
    if case.lacks_classes:
        return
    try:
        certificates = fits.as_list(case.model.certify(own.X, own.y, own.weights))
    except Exception as error:
        models.refuse(error)
    for certificate, (_, _, found, lost) in zip(certificates, judge(case), strict=True):
        # A certificate in double of what nobody can compute in double says nothing.
        if lost <= 1.0:
            fits.compare_certificate(certificate, found)


def compare_fresh(case: Case) -> None:
    """Decision values but for the bias are those of a fit, as far as both duality gaps allow.

    P(w) - D(beta*) >= 1/2 |w - w*|^2 for the optimal w*, so that the values of the row x_i differ
    from the optimal ones by at most sqrt(2 K_ii gap). The bias need not be unique: `check_bias`
    has what is to be asked of it.
    """
    from sklearn.base import clone

    if case.lacks_classes or not case.rows.kernel.is_convex:
        return
    own = case.own
    fresh = clone(case.model).set_params(window=None)
    if isinstance(case.rows.kernel.gamma, str) and not callable(case.rows.kernel.name):
        fresh.set_params(gamma=case.gamma)
    with quiet():
        try:
            fresh.fit(own.X, own.y, sample_weight=own.weights)
        except Exception as error:
            models.refuse(error)
    if fresh.fit_status_ == 1:
        return
    pairs = zip(judge(case), judge(replace(case, model=fresh)), strict=True)
    for number, ((dual, values, found, _), (_, expected, theirs, _)) in enumerate(pairs):
        room = np.sqrt(2.0 * np.maximum(np.diag(dual.K).astype(float), 0.0))
        within = room * (np.sqrt(max(found.gap, 0.0)) + np.sqrt(max(theirs.gap, 0.0)))
        within += 2.0 * (found.floor + theirs.floor)
        # What betas are off their sum, each by its own rounding, is no part of either gap.
        within += (found.off_sum + theirs.off_sum) * float(np.abs(dual.K).max(initial=0.0))
        models.check_agrees(
            values - case.model.intercept_[number],
            expected - fresh.intercept_[number],
            within,
            "decision values without the bias, of a fit",
        )
