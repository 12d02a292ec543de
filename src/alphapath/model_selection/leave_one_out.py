"""leave_one_out: exact leave-one-out values at little more than the cost of one fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from ..estimators.common.base import BaseSVM
from ..estimators.common.problems import Budget, divide_rows, overall_status, warn_unsolved
from ..estimators.registry import as_own
from ..estimators.smooth import BaseSmooth
from ..kernels import KernelStore
from ..kernels.equal_rows import first_equal
from ..problem.box_problem import FloatArray
from ..problem.limits import Limits
from ..problem.optimality import biases_without
from ..problem.solution import Info, Solution
from ..search.folds.leave_one_out import Refits, Unfinished, check_seeding, refit_without
from ..search.folds.run import solve_within
from ..solvers.precision import on_good_view
from ..solvers.smooth import newton as smooth_newton
from ..solvers.smooth.leave_one_out import leave_out
from .folds.smooth import check_smooth_seeding


@dataclass(frozen=True)
class LeaveOneOutResult:
    """Predictions for each row by the model trained without it.

    Attributes
    ----------
    decision_function_ : array of shape (n_samples,) or (n_samples, n_columns)
        Row i holds the decision value (for SVR, the prediction) of the model trained without row i,
        with columns as in the estimator's `decision_function`; nan if the run stopped before it.
    predictions_ : array of shape (n_samples,)
        Labels, values for SVR, or +-1 for OneClassSVM.
    score_ : float
        Accuracy for a classifier, R2 over all predictions for a regressor, fraction of +1 for
        OneClassSVM.
    n_refits_ : int
        Number of problems that were solved again. Rows that are not support vectors need no refit,
        and equal rows share one.
    n_iter_ : int
        Iterations of all solves, including the one on all data.
    full_time_, refit_time_ : float
        Seconds taken by the kernel and the solution on all data, and by the refits.
    """

    decision_function_: FloatArray
    predictions_: NDArray[Any]
    score_: float
    n_refits_: int
    n_iter_: int
    full_time_: float
    refit_time_: float


def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    seeding: str = "auto",
    only_errors: bool = False,
) -> LeaveOneOutResult:
    """Compute exact leave-one-out decision values for every row.

    A row that is not a support vector has the value of the model on all data and needs no refit
    (except for OneClassSVM, where nu counts all rows). The refit for any other row is warm-started
    from that model; rows that are equal in x, y and weight share one value. Quantities that
    scikit-learn derives from the training rows (gamma="scale", class_weight="balanced") are derived
    once, from all rows.

    Parameters
    ----------
    estimator : SVC, SVR or OneClassSVM, SmoothSVC or SmoothSVR
        From this library or scikit-learn. The estimator is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
    sample_weight : array-like of shape (n_samples,), default=None
        A row of weight 0 has no influence on training; its value is that of the full model.
    seeding : {"auto", "none", "decremental"} or a name of `alphapath.seeds.SEEDS`, default="auto"
        How refits are warm-started. "auto" withdraws the row along the exact path of the free set;
        "none" starts from zero; "decremental" follows the exact path to its end (to rounding,
        regardless of `tol`). A smooth SVM supports only the first two.
    only_errors : bool, default=False
        For classifiers, whether to compute predictions only. A row that the model on all data
        misclassifies is also misclassified without it and needs no refit; other refits end as soon
        as the sign is certain. In `decision_function_`, only the signs are then correct.

    Raises
    ------
    KeyboardInterrupt, TimeoutError
        On Ctrl-C, or when the estimator's time_limit expires. The attribute `partial` holds the
        result so far.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import leave_one_out
    >>> X, y = load_iris(return_X_y=True)
    >>> round(leave_one_out(SVC(C=10, gamma=0.1), X, y).score_, 3)
    0.967
    """
    is_smooth = isinstance(estimator, BaseSmooth)
    (check_smooth_seeding if is_smooth else check_seeding)(seeding)
    model = clone(estimator if isinstance(estimator, (BaseSVM, BaseSmooth)) else as_own(estimator))
    model._validate_params()
    if only_errors and not is_classifier(model):
        raise ValueError("only_errors=True is for classifiers; leave it False for other models.")
    run = (SmoothRun if is_smooth else DualRun)(model, X, y, sample_weight)
    try:
        run.solve(seeding, only_errors)
    except Unfinished as stop:
        stop.reason.partial = run.result()  # type: ignore[attr-defined]
        raise stop.reason from None
    except KeyboardInterrupt as stop:  # between two solves
        stop.partial = run.result()  # type: ignore[attr-defined]
        raise
    return run.result()


class Run:
    """One leave-one-out run; what is done can be read at any time."""

    def __init__(self, model: Any, rows: Any, n_columns: int, begin: float) -> None:
        self.model, self.rows = model, rows
        self.groups = _group_rows(rows)
        self.kind = get_tags(model).estimator_type
        if self.kind == "classifier":
            _check_classes(model, rows.targets, rows.weights)
        self.values = np.full((rows.targets.size, n_columns), np.nan)
        self.n_refits = self.n_iter = 0
        self.full_time = time.perf_counter() - begin
        self.refit_time = 0.0

    def _choose_members(
        self, needs_refit: NDArray[np.bool_], own: Any = slice(None)
    ) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        """The instances to solve without, and for all of `own` the one whose value they share.

        Without either of two equal rows the problem is the same. It is that of all rows where one
        of them needs no refit.
        """
        if self.groups is None:
            return np.flatnonzero(needs_refit), None
        groups = self.groups[own]
        order = np.lexsort((needs_refit, groups))
        _, first, places = np.unique(groups[order], return_index=True, return_inverse=True)
        members = order[first]
        shared = np.empty_like(order)
        shared[order] = members[places]
        return np.sort(members[needs_refit[members]]), shared

    def result(self) -> LeaveOneOutResult:
        predictions = self.model._predictions_of(self.values)
        is_done = np.asarray(np.isfinite(self.values).all(axis=1))
        return LeaveOneOutResult(
            self.model._shape_decision(self.values),
            predictions,
            self._score(predictions[is_done], is_done),
            self.n_refits,
            self.n_iter,
            self.full_time,
            self.refit_time,
        )

    def _score(self, predictions: NDArray[Any], is_done: NDArray[np.bool_]) -> float:
        if predictions.size == 0:
            return float("nan")
        if self.kind == "regressor":
            return float(r2_score(self.rows.targets[is_done], predictions))
        if self.kind == "classifier":
            labels = self.model.classes_[self.rows.targets[is_done].astype(np.intp)]
            return float(np.mean(predictions == labels))
        return float(np.mean(predictions == 1))


class DualRun(Run):
    """A model that is solved in the dual: each refit by withdrawal, or from a seed."""

    def __init__(self, model: BaseSVM, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
        begin = time.perf_counter()
        rows = model._prepare(X, y, sample_weight, merge=False)
        store = KernelStore(rows.X, memory_limit=model.memory_limit)
        self.view = store.view(model._kernel, tol=model.tol)
        self.parts = divide_rows(model, store, rows)
        super().__init__(model, rows, self.parts.n_problems, begin)

    def solve(self, seeding: str, only_errors: bool) -> None:
        limit = self.model.time_limit
        limits = Limits(
            self.model.tol,
            self.model.max_iter,
            deadline=None if limit is None else time.monotonic() + limit,
        )
        for column in range(self.parts.n_problems):
            begin = time.perf_counter()
            full = solve_within(limits, self.parts.problem(column, self.view))
            self.n_iter += full.info.n_iter
            middle = time.perf_counter()
            self.full_time += middle - begin
            self._refit(column, full, seeding, only_errors, limits)
            self.refit_time += time.perf_counter() - middle

    def _refit(
        self, column: int, full: Solution, seeding: str, only_errors: bool, limits: Limits
    ) -> None:
        shift = biases_without(full.problem, full.beta, full.gradient) - full.bias
        values = full.decision_values + np.where(full.beta == 0.0, shift, 0.0)
        # Where the sum follows the weights (one class), every row that trains changes the problem.
        changes = full.beta if full.problem.total_share == 0.0 else full.problem.weights
        needs_refit = changes != 0.0
        if only_errors:
            needs_refit &= values * full.problem.targets >= 0.0
        own = self.parts.places[column]
        instances, shared = self._choose_members(needs_refit, own)
        values[needs_refit] = np.nan
        stopped: Unfinished | None = None
        try:
            done = refit_without(full, instances, seeding, limits, only_errors)
        except Unfinished as stop:
            done, stopped = stop.done, stop
        values[instances[: done.values.size]] = done.values
        if shared is not None:
            values = values[shared]
        if self.parts.is_divided:  # without another row the model is the same
            support = np.flatnonzero(full.beta)
            view = on_good_view(self.view, float(np.linalg.norm(full.beta)), self.model.tol)
            K_beta = view.multiply(own[support], full.beta[support])
            self.values[:, column] = K_beta + full.bias
        self.values[own, column] = values
        self.n_refits += done.values.size
        self.n_iter += int(done.n_iter.sum())
        if stopped is not None:
            raise stopped


class SmoothRun(Run):
    """A smooth SVM: each refit by the small system of the states that change."""

    def __init__(self, model: BaseSmooth, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
        begin = time.perf_counter()
        rows = model._prepare(X, y, sample_weight)
        self.problems = model._make_problems(rows)
        super().__init__(model, rows, len(self.problems), begin)

    def solve(self, seeding: str, only_errors: bool) -> None:
        model = self.model
        limit = model.time_limit
        deadline = None if limit is None else time.monotonic() + limit
        strategy = "none" if seeding == "none" else model.strategy
        for column, problem in enumerate(self.problems):
            begin = time.perf_counter()
            (full,) = smooth_newton.solve_side_by_side(
                [problem], strategy=model.strategy, limits=model._limits
            )
            middle = time.perf_counter()
            self.full_time += middle - begin
            values = full.decision_values.copy()
            needs = problem.weights > 0.0
            if only_errors and model._is_linear and len(self.problems) == 1:
                needs &= values * problem.targets >= 0.0
            instances, shared = self._choose_members(needs)
            left_out = leave_out(
                full,
                instances,
                strategy=strategy,
                drops_features=not model._is_linear,
                tol=model.tol,
                deadline=deadline,
            )
            values[instances] = left_out.values
            if shared is not None:
                values = values[shared]
            self.values[:, column] = values
            self.n_refits += int(np.count_nonzero(left_out.n_iter))
            self.n_iter += full.info.n_iter + int(left_out.n_iter.sum())
            self.refit_time += time.perf_counter() - middle
            self._warn([full.info, *left_out.refits])
            if left_out.reason is not None:
                raise Unfinished(Refits(left_out.values, left_out.n_iter), left_out.reason)

    def _warn(self, infos: list[Info]) -> None:
        """Say so where a model is not the optimum: what follows from it is not exact either."""
        model = self.model
        budget = Budget(model.tol, model.max_iter, model.time_limit)
        violation = max(info.kkt_violation for info in infos)
        warn_unsolved(overall_status(infos), budget, violation)


def _group_rows(rows: Any) -> NDArray[np.intp] | None:
    """Numbers that rows share whose x, target and weight are equal; None where no two are."""
    firsts = first_equal(rows.X)
    if firsts is None:
        return None
    keys = np.stack([firsts, rows.targets, rows.weights], axis=1)
    groups = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    return groups if groups.max() + 1 < groups.size else None


def _check_classes(model: Any, codes: FloatArray, weights: FloatArray) -> None:
    """Two classes, one of them a single row: without it nothing is left to tell apart."""
    counts = np.bincount(codes[weights > 0.0].astype(np.intp), minlength=len(model.classes_))
    if len(counts) == 2 and counts.min() == 1:
        raise ValueError(
            f"Class {model.classes_[np.argmin(counts)]} has one row only; without it the training "
            f"set has a single class. Leave-one-out needs at least two rows of each class."
        )
