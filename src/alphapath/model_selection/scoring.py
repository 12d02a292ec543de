"""What a scorer asks of a fold, and scores from decision values that are already known.

Metrics of many predictions at once give the numbers of scikit-learn's scorers without the checks of
each call, which take longer than a small fold. Other scorers of scikit-learn ask an estimator for
its decision values or predictions, and get those of the solution. Only a scorer that is a function
of its own gets a completely fitted estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from ..estimators.common.base import BaseSVM
from ..estimators.pipelines import has_sampler
from ..problem.box_problem import FloatArray

#: Of the truth, rows of predictions and weights: one number a row.
Metric = Callable[[Any, Any, FloatArray | None], FloatArray]

NAMES: dict[tuple[Any, int], str] = {
    (accuracy_score, 1): "accuracy",
    (r2_score, 1): "r2",
    (mean_squared_error, -1): "neg_mean_squared_error",
}

#: What an SVM can not be asked for.
PROBABILITIES = {"predict_proba", "predict_log_proba"}


def find_metrics(scorer: Any, given: Any, score_params: Mapping[str, Any]) -> dict[str, Metric]:
    """Metrics by name; empty where one of the scorers is not such a metric."""
    if set(score_params) - {"sample_weight"}:
        return {}
    if not isinstance(scorer, _MultimetricScorer):
        metric = find_metric(scorer, given)
        return {} if metric is None else {"score": metric}
    if score_params:
        return {}
    found = {name: find_metric(part, given) for name, part in scorer._scorers.items()}
    return {name: m for name, m in found.items() if m} if all(found.values()) else {}


def find_metric(scorer: Any, given: Any) -> Metric | None:
    """The metric that a scorer stands for, where it is one of those known."""
    last = given.steps[-1][1] if isinstance(given, Pipeline) else given
    if isinstance(scorer, _PassthroughScorer):
        return own_metric(last)
    is_plain = isinstance(scorer, _BaseScorer) and not scorer._kwargs
    if not is_plain or getattr(scorer, "_response_method", None) != "predict":
        return None
    name = NAMES.get((scorer._score_func, scorer._sign), "")
    return metrics_of(last).get(name)


def metrics_of(model: Any) -> Mapping[str, Metric]:
    """By the names of scikit-learn's scorers: those that say of this model what the scorers say.

    Classes are compared by their numbers, so that of labels only the accuracy is among them.
    """
    if is_classifier(model):
        return {"accuracy": share_right}
    if is_regressor(model):
        return {"r2": explained_share, "neg_mean_squared_error": negative_squares}
    return {}


def own_metric(model: Any) -> Metric | None:
    """What the score of a model is, where it is scikit-learn's default."""
    score = getattr(type(model), "score", None)
    if score is ClassifierMixin.score:
        return share_right
    return explained_share if score is RegressorMixin.score else None


def share_right(truth: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The accuracy of each row of `predicted`."""
    is_right = np.asarray(predicted == truth)
    if weights is not None:
        return average(is_right, weights)
    return np.asarray(np.add.reduce(is_right, axis=1) / is_right.shape[1])


def average(values: Any, weights: FloatArray | None) -> FloatArray:
    """The mean of each row, by itself: equal rows give equal bits."""
    if weights is None:
        return np.asarray(np.mean(values, axis=1))
    return np.asarray((values * weights).sum(axis=1) / weights.sum())


def explained_share(
    truth: FloatArray, predicted: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """r2 of each row of `predicted`."""
    own = np.ones_like(truth) if weights is None else weights
    mean = float(np.average(truth, weights=own))
    total = float((own * (truth - mean) ** 2).sum())
    if truth.size < 2 or total == 0.0:
        return np.array([r2_score(truth, row, sample_weight=weights) for row in predicted])
    return np.asarray(1.0 - (own * (truth - predicted) ** 2).sum(axis=1) / total)


def negative_squares(
    truth: FloatArray, predicted: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """Minus the mean squared error of each row of `predicted`."""
    return -average((truth - predicted) ** 2, weights)


def breaks_rules(model: Any) -> bool:
    """Whether `predict` would raise."""
    breaks_ties = getattr(model, "break_ties", False)
    return bool(breaks_ties and model.decision_function_shape == "ovo")


@dataclass(frozen=True)
class Scoring:
    """What to compute and keep of each fold.

    `metric` says the same as `scorer`, where there is one, of predictions alone; `given` is the
    estimator that fitted ones are returned in the shape of, None where none is.
    """

    scorer: Any
    metric: Metric | None
    error_score: Any
    wants_train: bool
    given: Any
    #: Parameters of the scorer, by name: one value for each row where they are arrays.
    params: Mapping[str, Any] = field(default_factory=dict)

    def params_of(self, X: Any, rows: Any) -> Mapping[str, Any]:
        """Those of some rows."""
        if not self.params:
            return self.params
        taken: Mapping[str, Any] = _check_method_params(X, params=self.params, indices=rows)
        return taken

    @property
    def wants_estimator(self) -> bool:
        return self.given is not None

    @property
    def wants_metric_alone(self) -> bool:
        """Whether nothing but a metric on the held-out rows is computed and kept."""
        return self.metric is not None and not (self.wants_train or self.wants_estimator)

    @property
    def needs_fit(self) -> bool:
        """Whether fitted estimators are wanted, not only their values and predictions."""
        needs_model = self.metric is None and not asks_for_values(self.scorer)
        return self.wants_estimator or needs_model


def measure(metric: Metric, truth: Any, predicted: Any) -> float:
    """The metric of predictions."""
    return float(metric(truth, predicted[np.newaxis], None)[0])


def asks_for_values(scorer: Any) -> bool:
    """Whether decision values and predictions are all that a scorer asks an estimator for."""
    parts = getattr(scorer, "_scorers", {"score": scorer}).values()
    return all(isinstance(part, (_BaseScorer, _PassthroughScorer)) for part in parts)


def take_rows(model: Any, X: Any, rows: Any, train: Any) -> Any:
    """Rows of X as `model` would be given them; against the training rows where X is the kernel."""
    if isinstance(model, Pipeline):
        return _safe_split(model, X, None, rows, train)[0]
    if getattr(model, "kernel", "linear") == "precomputed":
        return np.asarray(X)[np.ix_(rows, train)]
    return index_rows(X, rows)


def index_rows(values: Any, rows: Any) -> Any:
    """Rows of any container; arrays are not asked which one they are."""
    return values[rows] if type(values) is np.ndarray else _safe_indexing(values, rows)


def as_number(score: Any, scorer: Any) -> Any:
    """The score as a Python number."""
    value = score.item() if hasattr(score, "item") and np.size(score) == 1 else score
    if not isinstance(value, (int, float, complex)):
        raise ValueError(
            f"scoring must return a number, got {score} ({type(score)}) instead. (scorer={scorer})"
        )
    return value


def aggregate(part: str, scores: Sequence[Any], error_score: Any) -> dict[str, Any]:
    """`<part>_score`, or `<part>_<name>` for each metric; nan for folds not done."""
    missing = np.nan if error_score == "raise" else error_score
    named = next((list(score) for score in scores if isinstance(score, dict)), None)
    if named is None:
        return {f"{part}_score": np.array([np.nan if s is None else s for s in scores])}

    def value(score: Any, name: str) -> Any:
        if isinstance(score, dict):
            return score.get(name, missing)
        return np.nan if score is None else score

    return {f"{part}_{name}": np.array([value(s, name) for s in scores]) for name in named}


# Scores of the models of a chain, from decision values that are already there.
#
# The default scorers are computed for all C at once. Other scorers of scikit-learn ask an
# estimator for its decision values or predictions, and get those of the solution. Only a scorer
# that is a function of its own gets a completely fitted estimator.


class ScoredFold(Protocol):
    """One fold as scorers see it; a part is "test" or "train"."""

    @property
    def model(self) -> Any: ...
    @property
    def is_classifier(self) -> bool: ...
    def predict(self, values: FloatArray) -> FloatArray: ...
    def targets(self, part: str) -> FloatArray: ...
    def rows_of(self, part: str) -> Any: ...
    def given_rows(self, part: str) -> Any: ...
    def given_targets(self, part: str) -> Any: ...
    def take_params(self, params: Mapping[str, Any], part: str) -> Mapping[str, Any]: ...


class Judge:
    """Computes the scores of a fold.

    Parameters
    ----------
    scorer : callable
        As scikit-learn's GridSearchCV has it.
    given : estimator
        As the user gave it.
    score_params : mapping
        Parameters of the scorer, one value a row where they are arrays.
    error_score : "raise" or number
    wants_train : bool
    """

    def __init__(
        self,
        scorer: Any,
        given: Any,
        score_params: Mapping[str, Any],
        error_score: Any,
        wants_train: bool,
    ) -> None:
        self.scorer, self.error_score, self.wants_train = scorer, error_score, wants_train
        self.score_params = score_params
        self.metrics = find_metrics(scorer, given, score_params)
        self.needs_values_only = asks_for_values(scorer)
        if wants_train and isinstance(given, Pipeline) and has_sampler(given):
            raise ValueError(
                "return_train_score is True, but the Pipeline has a sampler, which draws other "
                "training rows; leave it False."
            )

    @property
    def needs_models(self) -> bool:
        """Whether a scorer is given fitted estimators."""
        return not self.metrics and not self.needs_values_only

    @property
    def parts(self) -> tuple[str, ...]:
        return ("test", "train") if self.wants_train else ("test",)

    def score_fold(
        self, fold: ScoredFold, values: Mapping[str, FloatArray], make_model: Callable[[int], Any]
    ) -> dict[str, FloatArray]:
        """Arrays "test_<metric>" (and "train_<metric>"), one score a value of C.

        `values` are decision values by part, of shape (n_C, n_rows, n_pairs); `make_model(k)` is
        the fitted estimator of the k-th C, where it is needed.
        """
        found: dict[str, FloatArray] = {}
        for part in self.parts:
            params = fold.take_params(self.score_params, part)
            if self.metrics and not (fold.is_classifier and breaks_rules(fold.model)):
                scores = self._score_at_once(fold, part, values[part], params)
            else:
                scores = self._score_each(fold, part, values[part], params, make_model)
            found |= {f"{part}_{name}": column for name, column in scores.items()}
        return found

    def _score_at_once(
        self, fold: ScoredFold, part: str, values: FloatArray, params: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        n_steps, n_rows, n_pairs = values.shape
        truth = fold.targets(part)
        if n_pairs == 1:
            predicted = fold.predict(values.reshape(n_steps * n_rows, 1)).reshape(n_steps, n_rows)
        else:  # they may lie pair after pair
            predicted = np.stack([fold.predict(step) for step in values])
        weights = params.get("sample_weight")
        weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        return {name: metric(truth, predicted, weights) for name, metric in self.metrics.items()}

    def _score_each(
        self,
        fold: ScoredFold,
        part: str,
        values: FloatArray,
        params: Mapping[str, Any],
        make_model: Callable[[int], Any],
    ) -> dict[str, FloatArray]:
        scores = []
        y = fold.given_targets(part)
        for k in range(len(values)):
            if self.needs_values_only:
                X, model = fold.rows_of(part), fold.model
            else:
                X, model = fold.given_rows(part), make_model(k)
            if isinstance(model, Pipeline):
                scores.append(_score(model, X, y, self.scorer, params, self.error_score))
                continue
            with knowing(model, [(X, values[k])]):
                scores.append(_score(model, X, y, self.scorer, params, self.error_score))
        return as_columns(scores, self.error_score)


def check_scorers(scorer: Any, scoring: Any) -> None:
    """Refuse scorers that ask for probabilities: every score would be nan."""
    own = scorer._scorers if isinstance(scorer, _MultimetricScorer) else {None: scorer}
    for name, one in own.items():
        asked = getattr(one, "_response_method", ())
        methods = {asked} if isinstance(asked, str) else set(asked)
        if methods and methods <= PROBABILITIES:
            raise ValueError(
                f"The scorer {scoring if name is None else name!r} asks for predict_proba, which "
                f"an SVM does not have; take one that is made of decision values or predictions, "
                f"such as 'roc_auc' or 'accuracy', or calibrate the chosen model afterwards by "
                f"CalibratedClassifierCV."
            )


def as_columns(scores: Sequence[Any], error_score: Any) -> dict[str, FloatArray]:
    """One array a metric; a scorer that failed for one C has error_score there."""
    named = next((list(score) for score in scores if isinstance(score, dict)), None)
    if named is None:
        return {"score": np.array(scores, dtype=np.float64)}
    return {
        name: np.array(
            [score.get(name, error_score) if isinstance(score, dict) else score for score in scores]
        )
        for name in named
    }


class KnownValues:
    """Takes the place of an estimator's decision values where they are known for the very rows.

    Rows are known by identity: scorers hand on the array they were given.
    """

    def __init__(self, model: BaseSVM, known: Sequence[tuple[Any, FloatArray]]) -> None:
        self.model = model
        self.known = known

    def __call__(self, X: Any) -> FloatArray:
        for rows, values in self.known:
            if X is rows:
                return values.copy()
        return type(self.model)._decision_values(self.model, X)


@contextmanager
def knowing(model: BaseSVM, known: Sequence[tuple[Any, FloatArray]]) -> Iterator[BaseSVM]:
    """`model` with decision values known in advance, one column a problem, inside the context."""
    model.__dict__["_decision_values"] = KnownValues(model, known)
    try:
        yield model
    finally:
        del model.__dict__["_decision_values"]
