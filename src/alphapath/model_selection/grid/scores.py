"""Scores of the models of a chain, from decision values that are already there.

The default scorers are computed for all C at once. Other scorers of scikit-learn ask an estimator
for its decision values or predictions, and get those of the solution. Only a scorer that is a
function of its own gets a completely fitted estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from ...estimators.common.base import BaseSVM
from ...problem.box_problem import FloatArray
from ..folds.dual import knowing
from ..folds.scores import asks_for_values, index_rows, take_rows
from ..folds.training_sets import FoldSets
from ..scoring import breaks_rules, find_metrics
from .rows import SearchData, SearchRows, has_sampler

#: What an SVM can not be asked for.
PROBABILITIES = {"predict_proba", "predict_log_proba"}


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
        self, fold: FoldOfRows, values: Mapping[str, FloatArray], make_model: Callable[[int], Any]
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
        self, fold: FoldOfRows, part: str, values: FloatArray, params: Mapping[str, Any]
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
        fold: FoldOfRows,
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


class FoldOfRows:
    """One fold of a set of rows, as scorers see it.

    Parameters
    ----------
    data : SearchData
    rows : SearchRows
    sets : FoldSets
    model : BaseSVM
        With the parameters of the cell and the classes of the fold; not fitted.
    fold : int
        Its number in the search.
    local : int
        Its number on these rows.
    """

    def __init__(
        self,
        data: SearchData,
        rows: SearchRows,
        sets: FoldSets,
        model: BaseSVM,
        fold: int,
        local: int,
    ) -> None:
        self.data, self.rows, self.model, self.fold, self.local = data, rows, model, fold, local
        self.is_classifier = model._targets == "labels"
        self.codes = sets.codes[local]

    def index(self, part: str) -> Any:
        train, test = self.rows.splits[self.local]
        return test if part == "test" else train

    def given_index(self, part: str) -> Any:
        train, test = self.data.splits[self.fold]
        return test if part == "test" else train

    def predict(self, values: FloatArray) -> FloatArray:
        """Numbers of classes among those of all data, or predicted values."""
        if self.is_classifier:
            return np.asarray(self.codes[self.model._codes_of(values)])
        return np.asarray(self.model._predictions_of(values))

    def targets(self, part: str) -> FloatArray:
        """What `predict` should give."""
        if self.model._targets == "ignored":
            return np.asarray(self.given_targets(part))
        return np.asarray(self.rows.rows.targets[self.index(part)])

    def rows_of(self, part: str) -> Any:
        """The rows that the SVM itself is given; only their identity counts."""
        return self.rows.rows.X[self.index(part)]

    def given_rows(self, part: str) -> Any:
        """The rows as the user gave them."""
        train = self.data.splits[self.fold][0]
        if self.rows.head is not None:
            return index_rows(self.data.X, self.given_index(part))
        return take_rows(self.model, self.data.X, self.given_index(part), train)

    def given_targets(self, part: str) -> Any:
        y = self.data.y
        return None if y is None else index_rows(y, self.given_index(part))

    def take_params(self, params: Mapping[str, Any], part: str) -> Mapping[str, Any]:
        if not params:
            return params
        taken: Mapping[str, Any] = _check_method_params(
            self.data.X, params=params, indices=self.given_index(part)
        )
        return taken


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
