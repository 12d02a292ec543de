"""TransductiveSVC: its last problem from raw data, its invariants, and a loop of cold solves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import data, fits, models
from .cases import CaseError, quiet
from .data import FloatArray, Generator, Rows
from .quality import Dual, Quality

#: As docs/algorithms/transduction.md has it: what counts as no slack, and as a tie of values.
NOISE = 1e-8
#: What the slacks of a pair must sum to beyond 2.
GAIN = 1e-9
#: The first weight of the negative unlabelled rows.
FIRST = 1e-5
#: What decision values of the reference are known to at best; `ColdSolves.room` has what they are.
UNSURE = 1e-6
#: Solves of the reference after which its labels are given up.
MOST_SOLVES = 400


@dataclass(frozen=True)
class Case:
    """Rows, of which some have their label, and what is asked of the others."""

    rows: Rows
    is_labelled: NDArray[np.bool_]
    C_unlabelled: float
    share: float | None

    @property
    def given(self) -> Any:
        """y as fit takes it."""
        return np.where(self.is_labelled, self.rows.y, -1)

    @property
    def n_positive(self) -> int:
        """How many unlabelled rows are to be positive: both classes get one where they can."""
        n_open = int((~self.is_labelled).sum())
        share = self.share
        if share is None:
            own = self.rows.y[self.is_labelled]
            share = float(np.mean(own == own.max()))
        return min(max(round(share * n_open), 1), max(n_open - 1, 1))


def run_case(seed: int) -> str | None:
    from alphapath import TransductiveSVC

    rng = data.generator("transduction", seed)
    case = make_case(rng)
    rows = case.rows
    model = TransductiveSVC(
        C=rows.C,
        C_unlabelled=case.C_unlabelled,
        positive_share=case.share,
        **rows.kernel.parameters,
    )
    try:
        model.fit(rows.X, case.given)
    except Exception as error:
        models.refuse(error)
    labels = np.asarray(model.transduction_)
    check_labels(case, labels)
    dual, found = judge(case, model, labels)
    if not rows.kernel.is_convex:  # switches need not come to an end then, and are cut off
        return None
    check_switches(case, labels, found)
    if rng.random() < 0.5:
        compare_cold(case, dual, labels)
    return None


def make_case(rng: Generator) -> Case:
    rows = data.make_set(rng, "labels", n=(5, 32), weighted=False)
    codes = np.unique(np.asarray(rows.y), return_inverse=True)[1]
    names = data.pick(rng, [np.array([0, 1]), np.array([3, 7])])
    is_labelled = rng.random(rows.n) < data.pick(rng, [0.15, 0.3, 0.6, 0.95])
    for code in (0, 1):
        is_labelled[rng.choice(np.flatnonzero(codes == code))] = True
    rows = replace(rows, y=names[codes], C=float(np.clip(rows.C, 1e-3, 1e4)))
    share = None if rng.random() < 0.5 else float(rng.uniform(0.05, 0.95))
    return Case(rows, is_labelled, data.power(rng, -3, 3), share)


# -- the result


def check_labels(case: Case, labels: Any) -> None:
    """Given labels stay, and as many others are positive as there are to be."""
    if (labels[case.is_labelled] != case.rows.y[case.is_labelled]).any():
        raise CaseError("a label that was given was changed")
    if not np.isin(labels, np.unique(case.rows.y)).all():
        raise CaseError(f"there are labels beside the two: {np.unique(labels)}")
    if case.is_labelled.all():
        return
    n_positive = int((labels[~case.is_labelled] == case.rows.y.max()).sum())
    if n_positive != case.n_positive:
        raise CaseError(f"{n_positive} unlabelled rows are positive instead of {case.n_positive}")


def judge(case: Case, model: Any, labels: Any) -> tuple[Dual, Quality]:
    """The problem of all rows with these labels, solved; gamma is that of rows of equal weight."""
    rows = case.rows
    gamma = models.gamma_of(rows)
    weights = np.where(case.is_labelled, 1.0, case.C_unlabelled / rows.C)
    K, error = models.raw_gram(rows, gamma)
    own = replace(rows, y=labels, weights=weights)
    ((_, dual),) = models.class_duals(own, K, error)
    svc = model.model_
    (beta,) = models.betas_of(svc, rows.n)
    found = fits.judge(svc, own, dual, beta, float(svc.intercept_[0]), 0)
    fits.check_info(svc, 0, found)
    fits.check_values(model.decision_function(rows.X), found)
    fits.compare_certificate(model.certify(rows.X, case.given), found)
    return dual, found


def check_switches(case: Case, labels: Any, found: Quality) -> None:
    """No two unlabelled rows of opposite labels have slacks that sum to more than 2."""
    is_open, signs = ~case.is_labelled, np.where(labels == case.rows.y.max(), 1.0, -1.0)
    slack = 1.0 - signs * found.values
    room = found.floor + found.violation
    up, down = slack[is_open & (signs > 0.0)], slack[is_open & (signs < 0.0)]
    if up.size == 0 or down.size == 0:
        return
    i, j = float(up.max()), float(down.max())
    # The pair is the first row each within NOISE of the largest slack, which may be less by that.
    if min(i, j) > 2.0 * NOISE + room and i + j > 2.0 + GAIN + 2.0 * (NOISE + room):
        raise CaseError(f"slacks of {i:.8g} and {j:.8g} are left, of two rows to be switched")


# -- the same by cold solves


class Unsure(Exception):
    """Rounding makes the choice here."""


def compare_cold(case: Case, dual: Dual, labels: Any) -> None:
    try:
        signs = transduce_cold(case, np.asarray(dual.K, dtype=float))
    except Unsure:
        return
    expected = np.where(signs > 0.0, case.rows.y.max(), case.rows.y.min())
    if (labels != expected).any():
        rows = np.flatnonzero(labels != expected)
        raise CaseError(f"rows {rows.tolist()} have other labels than by cold solves")


def transduce_cold(case: Case, K: FloatArray) -> FloatArray:
    """Joachims' loop on scikit-learn's solver, from nothing at every step."""
    rows, limit = np.flatnonzero(~case.is_labelled), case.C_unlabelled
    signs = np.where(case.rows.y == case.rows.y.max(), 1.0, -1.0)
    weights = np.where(case.is_labelled, case.rows.C, 0.0)
    if rows.size == 0:
        return signs
    n_positive, solves = case.n_positive, ColdSolves(K)
    values = solves.values(signs, weights)[rows]
    order = np.argsort(-values, kind="stable")
    if n_positive < rows.size:
        edge = values[order[n_positive - 1]] - values[order[n_positive]]
        require(edge > solves.room)
    signs[rows] = -1.0
    signs[rows[order[:n_positive]]] = 1.0
    negative = FIRST
    positive = FIRST * n_positive / max(rows.size - n_positive, 1)
    while True:
        while True:
            by_class = np.where(signs[rows] > 0.0, min(positive, limit), min(negative, limit))
            weights[rows] = by_class
            values = solves.values(signs, weights)[rows]
            pair = find_pair(values, signs[rows], solves.room)
            if pair is None:
                break
            signs[rows[list(pair)]] *= -1.0
        if min(negative, positive) >= limit:
            return signs
        negative, positive = 2.0 * negative, 2.0 * positive


class ColdSolves:
    """scikit-learn on one kernel matrix, a limited number of times."""

    def __init__(self, K: FloatArray) -> None:
        self.K, self.n_left, self.room = K, MOST_SOLVES, UNSURE

    def values(self, signs: FloatArray, weights: FloatArray) -> FloatArray:
        from sklearn.svm import SVC

        self.n_left -= 1
        require(self.n_left >= 0)
        model = SVC(kernel="precomputed", C=1.0, tol=1e-9, max_iter=20_000)
        used = weights > 0.0
        with quiet():
            try:
                model.fit(self.K[np.ix_(used, used)], signs[used], sample_weight=weights[used])
            except ValueError:  # its numbers overflow
                raise Unsure from None
            require(model.fit_status_ == 0)
            values = np.asarray(model.decision_function(self.K[:, used]))
        beta = np.zeros(signs.size)
        beta[np.flatnonzero(used)[model.support_]] = model.dual_coef_[0]
        w2 = float(beta @ self.K @ beta)
        loss = float(weights @ np.maximum(1.0 - signs * values, 0.0))
        gap = 0.5 * w2 + loss - (signs @ beta - 0.5 * w2)
        gap = max(gap, 0.0) + 1e-14 * (w2 + loss)
        # P(w) - D(beta*) >= 1/2 |w - w*|^2; the bias goes with the values of free rows.
        largest = float(np.diag(self.K).max(initial=0.0))
        self.room = max(UNSURE, 4.0 * float(np.sqrt(2.0 * largest * gap)))
        return values


def require(is_sure: Any) -> None:
    if not is_sure:
        raise Unsure


def find_pair(values: FloatArray, signs: FloatArray, room: float) -> tuple[int, int] | None:
    """The positive and the negative row whose slacks are largest, if they sum to more than 2."""
    up, down = np.flatnonzero(signs > 0.0), np.flatnonzero(signs < 0.0)
    if up.size == 0 or down.size == 0:
        return None
    i, j = int(up[np.argmin(values[up])]), int(down[np.argmax(values[down])])
    slacks = 1.0 - values[i], 1.0 + values[j]
    if values[j] - values[i] < -room or min(slacks) < -room:
        return None
    require(values[j] - values[i] > room and min(slacks) > room)
    for others, own in ((up, i), (down, j)):
        near = np.abs(values[others] - values[own]) <= room
        require(near.sum() == 1)
    return i, j
