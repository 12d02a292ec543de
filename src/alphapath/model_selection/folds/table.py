"""The dictionary of cross_validate: scores, times and quality, fold by fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline

from ...estimators.common import one_vs_one
from ...estimators.common.problems import overall_status
from ...estimators.pipelines import last_step
from ...problem.box_problem import FloatArray
from ...problem.solution import Info, Status
from ..scoring import Scoring, aggregate, as_number, index_rows, knowing, measure, take_rows
from .protocol import Indices, Split

#: The status of a fold whose training set was refused.
REFUSED = -1


class Folds(Protocol):
    """What the table asks of the folds of a model."""

    splits: Sequence[Split]
    errors: dict[int, Exception]  # of the folds that were refused
    codes: dict[int, Indices]  # the classes present in the others

    @property
    def n_rows(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    def fitted(self, fold: int, fits: Sequence[Any], *, for_values: bool) -> Any:
        """The estimator of a fold; `for_values`: only asked for values that are known."""

    def has_ties(self, fold: int, fits: Sequence[Any], rows: Any, values: FloatArray) -> bool:
        """Whether rounding of these decision values says which of some rows is ahead."""


class FoldTable:
    """Filled in fold by fold; valid at any time, with nan for what is not there yet."""

    def __init__(self, folds: Folds, X: Any, y: Any, scoring: Scoring, setup_time: float) -> None:
        self.folds, self.X, self.y, self.scoring = folds, X, y, scoring
        self.setup_time = setup_time
        n = len(folds.splits)
        self.scores: dict[str, list[Any]] = {
            part: [None] * n for part in (("test", "train") if scoring.wants_train else ("test",))
        }
        self.estimators: list[Any] = [None] * n
        self.columns = {
            name: np.full(n, np.nan)
            for name in ("fit_time", "score_time", "seed_time", "solve_time")
        }
        self.certificate = {
            name: np.full(n, np.nan) for name in ("objective", "duality_gap", "kkt_violation")
        }
        self.n_iter = np.zeros(n, dtype=np.int64)
        self.status = np.full(n, int(Status.INTERRUPTED))
        self.seed = np.full(n, "", dtype=object)
        self._sums: FloatArray | None = None
        self._n_held_out = np.zeros(folds.n_rows)

    def add(self, fold: int, fits: Sequence[Any]) -> None:
        """Enter one fold, scored; without fits it is one that was refused."""
        if fold in self.folds.errors:
            if self.scoring.error_score == "raise":
                raise self.folds.errors[fold]
            self.status[fold] = REFUSED
            for scores in self.scores.values():
                scores[fold] = self.scoring.error_score
            return
        begin = time.perf_counter()
        model = self.folds.fitted(fold, fits, for_values=not self.scoring.needs_fit)
        infos = [fit.info for fit in fits]
        seed_time = sum(info.seed_time for info in infos)
        solve_time = sum(info.solve_time for info in infos)
        self.columns["seed_time"][fold] = seed_time
        self.columns["solve_time"][fold] = solve_time
        self.columns["fit_time"][fold] = seed_time + solve_time + time.perf_counter() - begin
        self.n_iter[fold] = sum(info.n_iter for info in infos)
        self.seed[fold] = "+".join(sorted({info.seed for info in infos}))
        self.certificate["objective"][fold] = sum(info.objective for info in infos)
        self.certificate["duality_gap"][fold] = sum(info.duality_gap for info in infos)
        self.certificate["kkt_violation"][fold] = max(info.kkt_violation for info in infos)
        self._score(fold, model, fits)
        if self.scoring.wants_estimator:
            self.estimators[fold] = self._as_given(model)
        self.status[fold] = overall_status(infos)  # now it is done

    def add_steps(
        self,
        folds: Sequence[int],
        columns: Mapping[str, FloatArray],
        seeds: Sequence[str],
        values: FloatArray,
        model: Any,
    ) -> None:
        """Enter folds, all at once, from the columns of the steps of a sequence.

        The same as `add` of each where a metric is all that is asked for, of folds that `model`,
        of one problem, has in common. `values` are those at the held-out rows, fold after fold.
        """
        begin = time.perf_counter()
        to = np.asarray(folds)
        for name in ("seed_time", "solve_time"):
            self.columns[name][to] = columns[name]
        self.columns["fit_time"][to] = columns["seed_time"] + columns["solve_time"]
        for name, column in self.certificate.items():
            column[to] = columns[name]
        self.n_iter[to] = columns["n_iter"]
        self.seed[to] = seeds
        tests = [self.folds.splits[fold][1] for fold in folds]
        rows, sizes = np.concatenate(tests), np.array([test.size for test in tests])
        predicted, truth = model._predictions_of(values[:, np.newaxis]), self.y[rows]
        ends = np.cumsum(sizes).tolist()
        assert self.scoring.metric is not None
        for fold, start, end in zip(folds, [0, *ends[:-1]], ends, strict=True):
            score = measure(self.scoring.metric, truth[start:end], predicted[start:end])
            self.scores["test"][fold] = score
        sums = np.bincount(rows, weights=values, minlength=self.folds.n_rows)
        self._sums = np.asarray(sums, dtype=np.float64)
        self._n_held_out += np.bincount(rows, minlength=self.folds.n_rows)
        self.columns["score_time"][to] = (time.perf_counter() - begin) / len(folds)
        self.status[to] = columns["status"].astype(int)  # now they are done

    def _score(self, fold: int, model: Any, fits: Sequence[Any]) -> None:
        """Score on the held-out rows, whose decision values are known, and on the others.

        A pipeline computes them again, from the rows before its preprocessing.
        """
        begin = time.perf_counter()
        svm = last_step(model)[1]
        train, test = self.folds.splits[fold]
        parts = {"test": (test, join_columns([fit.test_values for fit in fits]))}
        if self.scoring.wants_train:
            known = [fit.train_values for fit in fits if fit.train_values is not None]
            parts["train"] = (train, join_columns(known))
        metric = self.scoring.metric if self.folds.n_classes == 2 else None
        for part, (rows, values) in parts.items():
            y: tuple[Any, ...] = () if self.y is None else (index_rows(self.y, rows),)
            if metric is not None:
                self.scores[part][fold] = measure(metric, y[0], svm._predictions_of(values))
                found = values[:, 0]
            else:
                X = take_rows(model, self.X, rows, train)
                values = self._settle_ties(fold, model, fits, (X, rows), values)
                with knowing(svm, [(X, values)]):
                    params = self.scoring.params_of(self.X, rows)
                    self.scores[part][fold] = self._call_scorer(model, params, X, *y)
                    found = self._shape_values(fold, svm, X, values)
            if part == "test":
                self._collect(test, found)
                self.columns["score_time"][fold] = time.perf_counter() - begin

    def _settle_ties(
        self, fold: int, model: Any, fits: Sequence[Any], part: tuple[Any, Any], values: FloatArray
    ) -> FloatArray:
        """The values to be ranked: those of the fitted estimator itself where rounding decides."""
        X, rows = part
        if not self.folds.has_ties(fold, fits, rows, values):
            return values
        whole = model
        if not self.scoring.needs_fit:
            with warnings.catch_warnings():  # it has said what there is to say
                warnings.simplefilter("ignore")
                whole = self.folds.fitted(fold, fits, for_values=False)
        if isinstance(whole, Pipeline):
            X, whole = whole[:-1].transform(X), whole.steps[-1][1]
        found: FloatArray = whole._decision_values(X)
        return found

    def _call_scorer(self, model: Any, params: Mapping[str, Any], X: Any, *y: Any) -> Any:
        """One score or a dict of them; error_score, with a warning, where the scorer fails."""
        if self.scoring.metric is not None:
            return measure(self.scoring.metric, y[0], model.predict(X))
        try:
            score = self.scoring.scorer(model, X, *y, **params)
        except Exception as error:
            if self.scoring.error_score == "raise":
                raise
            self._warn_of_score(error)
            return self.scoring.error_score
        if not isinstance(score, dict):
            return as_number(score, self.scoring.scorer)
        scores = {}
        for name, value in score.items():
            if isinstance(value, str):  # the traceback, from a scorer of several metrics
                self._warn_of_score(value)
                value = self.scoring.error_score
            scores[name] = as_number(value, name)
        return scores

    def _warn_of_score(self, error: Any) -> None:
        warnings.warn(
            f"Scoring failed; the score of this fold is set to {self.scoring.error_score}. "
            f"Details: {error}",
            UserWarning,
            stacklevel=2,
        )

    def _shape_values(self, fold: int, model: Any, X: Any, values: FloatArray) -> FloatArray:
        """Decision values in the columns of all classes, from one column a problem."""
        n_classes, codes = self.folds.n_classes, self.folds.codes[fold]
        if n_classes == 2:
            return values[:, 0]
        found: FloatArray = model.decision_function(X)
        return found if codes.size == n_classes else spread_columns(model, found, codes, n_classes)

    def _collect(self, test: Indices, found: FloatArray) -> None:
        """Add the decision values of the held-out rows."""
        if self._sums is None:
            self._sums = np.zeros((self._n_held_out.size, *found.shape[1:]))
        with np.errstate(over="ignore"):  # the smallest numbers of classes that are not there
            if (test[1:] > test[:-1]).all():
                self._sums[test] += found
                self._n_held_out[test] += 1.0
            else:  # a row may be there more than once
                np.add.at(self._sums, test, found)
                np.add.at(self._n_held_out, test, 1.0)

    def _as_given(self, model: Any) -> Any:
        """The fitted model as an estimator of the library, and in the pipeline, that was given."""
        given = self.scoring.given
        name, peer = last_step(given)
        _, svm = last_step(model)
        if type(peer) is not type(svm):
            svm = svm.as_sklearn().set_params(**peer.get_params(deep=False))
        if not isinstance(given, Pipeline):
            return svm
        head = model if isinstance(model, Pipeline) else given
        return Pipeline([*head.steps[:-1], (name, svm)])

    def report_failures(self) -> None:
        """As in scikit-learn: an error where all fits failed, a warning where some did."""
        errors = {h: str(error) for h, error in self.folds.errors.items()}
        n, n_failed = len(self.folds.splits), len(errors)
        if not errors:
            return
        details = " ".join(sorted(set(errors.values())))
        if n_failed == n:
            raise ValueError(f"All the {n} fits failed: {details}")
        warnings.warn(
            f"{n_failed} fits failed out of a total of {n}: the score of folds {sorted(errors)} is "
            f"set to {self.scoring.error_score}. {details}",
            FitFailedWarning,
            stacklevel=3,
        )

    def as_dict(self, full: Sequence[Info]) -> dict[str, Any]:
        """What there is so far; `full` is how the solves on all data went."""
        shared = {
            "n_iter": sum(info.n_iter for info in full),
            "solve_time": sum(info.solve_time for info in full),
            "setup_time": self.setup_time,
        }
        share = (shared["solve_time"] + self.setup_time) / len(self.n_iter)
        results: dict[str, Any] = {
            "fit_time": self.columns["fit_time"] + share,
            "score_time": self.columns["score_time"],
        }
        if self.scoring.wants_estimator:
            results["estimator"] = list(self.estimators)
        for part, scores in self.scores.items():
            results |= aggregate(part, scores, self.scoring.error_score)
        results |= {"n_iter": self.n_iter, "seed": self.seed, "status": self.status}
        results |= {name: self.columns[name] for name in ("seed_time", "solve_time")}
        results |= {"certificate": self.certificate, "shared": shared}
        results["decision_function"] = self._mean_values()
        return results

    def _mean_values(self) -> FloatArray:
        if self._sums is None:
            return np.full(self._n_held_out.size, np.nan)
        count = self._n_held_out.reshape(-1, *[1] * (self._sums.ndim - 1))
        means = np.divide(self._sums, count, out=np.full_like(self._sums, np.nan), where=count > 0)
        return np.maximum(means, np.finfo(np.float64).min)


def join_columns(columns: Sequence[FloatArray]) -> FloatArray:
    """One column a problem."""
    return columns[0][:, np.newaxis] if len(columns) == 1 else np.stack(columns, axis=1)


def spread_columns(model: Any, found: FloatArray, codes: Any, n_classes: int) -> FloatArray:
    """Decision values of a fold that lacks classes, in the columns of all classes.

    One column a class: the smallest number for a class that is not there, as in scikit-learn. One
    column a pair: nan for a pair that is not there.
    """
    if getattr(model, "decision_function_shape", "ovr") == "ovr":
        values = np.full((found.shape[0], n_classes), np.finfo(np.float64).min)
        values[:, codes] = np.stack([-found, found], axis=1) if codes.size == 2 else found
        return values
    pairs = one_vs_one.class_pairs(n_classes)
    values = np.full((found.shape[0], len(pairs)), np.nan)
    here = [p for p, pair in enumerate(pairs) if np.isin(pair, codes).all()]
    values[:, here] = -found[:, np.newaxis] if codes.size == 2 else found
    return values
