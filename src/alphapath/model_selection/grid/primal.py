"""The chains of a search over models trained in the primal: all C of a model, on all folds.

Without preprocessing a chain is all folds of a model. Those of a smooth SVM hang from its models
on all rows, each begun from the one at the next smaller c (smooth_folds.py); those of a LinearSVC
go along C side by side, or each as a chain of its own where they can not (linear_folds.py). A fold
with preprocessing of its own goes along C by itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from ...estimators.common.problems import overall_status
from ...estimators.linear_svc import LinearSVC
from ...estimators.pipelines import with_head
from ...search.chain import Chain
from ...search.kernel_links import Neighbour
from ...search.plan import Group, Plan, climb
from ...search.table import RANK_OF, ChainResult
from ..folds.linear import LinearFolds, check_linear_seeding
from ..folds.preprocessing import transform_fold
from ..folds.protocol import ColumnFit, PrimalFolds, Wanted
from ..folds.smooth import SmoothFolds, check_smooth_seeding
from ..scoring import as_columns, index_rows, knowing, take_rows
from .candidates import Model
from .chain import Setting


def plan_primal(
    groups: Sequence[Group], models: Sequence[Model], plan: str = "auto", seeding: str = "auto"
) -> Plan:
    """One chain a group, every fold at every C; one a fold where folds share nothing."""
    is_linear = any(isinstance(model.estimator, LinearSVC) for model in models)
    (check_linear_seeding if is_linear else check_smooth_seeding)(seeding)
    if plan not in ("auto", "along_c"):
        name = "a LinearSVC" if is_linear else "a smooth SVM"
        raise ValueError(f"plan is {plan!r}; for {name} it must be 'auto' or 'along_c'.")
    chains = []
    for group in groups:
        m, parts = len(group.factors), [group.folds]
        if is_linear and models[group.model].estimator.loss != "squared_hinge":
            parts = [(fold,) for fold in group.folds]
        for folds in parts:
            seed = "keep" if is_linear else "full"
            steps = [climb(fold, m, h * m, seed) for h, fold in enumerate(folds)]
            chains.append(group.as_chain(folds, (step for part in steps for step in part)))
    return Plan("along_c" if seeding == "auto" else "independent", tuple(chains))


@dataclass(frozen=True)
class PrimalWork:
    """Solves chains; picklable."""

    setting: Setting
    seeding: str
    #: Linear and smooth models are solved by the processor.
    n_threads: ClassVar[None] = None

    def __call__(
        self, chain: Chain, neighbour: Neighbour | None = None
    ) -> dict[str, NDArray[Any]] | None:
        """The arrays of a chain; None where the time is over. No chain has a neighbour here."""
        shares = self.setting.shares
        end = None if shares.deadline is None else shares.end_of(chain)
        if end is not None and time.time() >= end:
            return None
        result = ChainResult(chain)
        seeds = np.full(chain.shape, "", dtype=object)
        try:
            self._solve(chain, result, seeds, end)
        except Exception as error:
            if self.setting.judge.error_score == "raise":
                raise
            result.refuse(range(len(chain.folds)), error)
        return result.arrays() | {"seed": seeds.astype(str)}

    def _solve(
        self, chain: Chain, result: ChainResult, seeds: NDArray[Any], end: float | None
    ) -> None:
        setting, begin = self.setting, time.perf_counter()
        model = setting.models[chain.model].estimator
        rows = ChainRows(setting, chain, model)
        folds = rows.folds
        for h, error in folds.errors.items():
            if setting.judge.error_score == "raise":
                raise error
            result.refuse([h], error)
        good = [h for h in range(len(chain.folds)) if h not in folds.errors]
        scores: dict[int, list[Any]] = {h: [] for h in good}
        wanted = Wanted(
            is_warm=self.seeding == "auto",
            is_alone=rows.head is not None,
            has_train=setting.judge.wants_train,
            is_sign_enough=bool(setting.judge.metrics),
            deadline=end,
        )
        for k, h, fits in folds.walk(chain.factors, wanted):
            infos = [fit.info for fit in fits]
            result.n_iter[h, k] = result.work[h, k] = sum(info.n_iter for info in infos)
            result.rank[h, k] = RANK_OF[int(overall_status(infos))]
            result.duality_gap[h, k] = sum(info.duality_gap for info in infos)
            seeds[h, k] = "+".join(sorted({info.seed for info in infos}))
            start = time.perf_counter()
            scores[h].append(rows.score(h, fits))
            result.score_time[h, k] = time.perf_counter() - start
        score_time = float(result.score_time.sum())
        solve_time = time.perf_counter() - begin - score_time
        found: dict[int, dict[str, Any]] = {h: {} for h in good}
        for h in good:
            seeds[h, len(scores[h]) :] = ""
            for part in setting.judge.parts if scores[h] else ():
                own = [both[part] for both in scores[h]]
                columns = as_columns(own, setting.judge.error_score)
                found[h] |= {f"{part}_{name}": values for name, values in columns.items()}
        result.finish({h: len(scores[h]) for h in good}, found, (solve_time, None))


class ChainRows:
    """The rows of a chain's folds, and their scores as GridSearchCV would compute them."""

    def __init__(self, setting: Setting, chain: Chain, model: Any) -> None:
        data = setting.data
        self.setting, self.numbers = setting, chain.folds
        self.head: Pipeline | None = None
        head = setting.heads[chain.head]
        if head is None:
            splits = [data.splits[fold] for fold in chain.folds]
            self.X, y, weights = data.X, data.y, data.sample_weight()
        else:
            (fold,) = chain.folds
            found = transform_fold(data, head, setting.last, model, fold)
            splits, self.head = [found.split], found.head
            self.X, y, weights = found.X, found.y, found.sample_weight
        kind: Any = LinearFolds if isinstance(model, LinearSVC) else SmoothFolds
        self.folds: PrimalFolds = kind(model, self.X, y, weights, splits)

    def score(self, h: int, fits: Sequence[ColumnFit]) -> dict[str, Any]:
        """What the scorer gives for a fold, by part ("test", "train")."""
        judge, data = self.setting.judge, self.setting.data
        wants_model = judge.needs_models
        model: Any = self.folds.fitted(h, fits, for_values=not wants_model)
        scores = {}
        for part in judge.parts:
            i = 1 if part == "test" else 0
            given = data.splits[self.numbers[h]][i]
            y = None if data.y is None else index_rows(data.y, given)
            params = _check_method_params(data.X, params=judge.score_params, indices=given)
            if self.head is not None and wants_model:
                X = index_rows(data.X, given)
                whole = with_head(self.head, (self.setting.last[0], model))
                scores[part] = _score(whole, X, y, judge.scorer, params, judge.error_score)
                continue
            known: list[Any] = [fit.test_values if i else fit.train_values for fit in fits]
            values = np.stack(known, axis=1)
            if judge.metrics and isinstance(model, LinearSVC):
                scores[part] = self._score_labels(model, y, values, params)
                continue
            X = self._rows_for(model, h, i)
            with knowing(model, [(X, values)]):
                scores[part] = _score(model, X, y, judge.scorer, params, judge.error_score)
        return scores

    def _score_labels(self, model: LinearSVC, y: Any, values: Any, params: Any) -> dict[str, float]:
        """The metrics of predictions, without scikit-learn's checks of known labels."""
        predicted = model._predictions_of(values)[None]
        weights = params.get("sample_weight")
        weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        metrics = self.setting.judge.metrics
        return {
            name: float(metric(np.asarray(y), predicted, weights)[0])
            for name, metric in metrics.items()
        }

    def _rows_for(self, model: Any, h: int, i: int) -> Any:
        """The rows that a scorer hands to the model."""
        train, own = self.folds.splits[h][0], self.folds.splits[h][i]
        if not isinstance(model, LinearSVC):
            return take_rows(model, self.X, own, train)
        # Values that are known are found by the identity of the rows alone.
        return index_rows(self.X, own) if self.setting.judge.needs_models else own
