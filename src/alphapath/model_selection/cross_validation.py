"""cross_validate: scikit-learn's, with each fold warm-started from an existing solution."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ..estimators.linear_svc import LinearSVC
from ..estimators.pipelines import has_preprocessing, last_step
from ..estimators.registry import as_searched
from ..estimators.smooth import BaseSmooth
from ..kernels.samples import check_sparse
from ..search.folds.plan import check_seeding
from .folds.dual import FoldModels
from .folds.linear import LinearFolds, check_linear_seeding
from .folds.pipeline import PipelineFolds
from .folds.preprocessing import read_params
from .folds.protocol import Split
from .folds.run import DualRun, LinearRun, PairRun, Run, SequenceRun, SmoothRun
from .folds.smooth import SmoothFolds, check_smooth_seeding
from .folds.table import FoldTable
from .folds.training_sets import make_splits
from .scoring import Metric, Scoring, breaks_rules, metrics_of, own_metric

#: X, y and the parameters of fit.
Data = tuple[Any, Any, Mapping[str, Any]]


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    params: dict[str, Any] | None = None,
    seeding: str = "auto",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    device: str | None = None,
) -> dict[str, Any]:
    """Cross-validate an SVM: scikit-learn's results in a fraction of its time.

    The folds share one kernel matrix, and each is warm-started from the solution of another fold or
    of all data. The solutions equal those of a separate fit of each fold, to the estimator's `tol`.

    With gamma="scale", every training set has its own gamma, as in scikit-learn, and therefore its
    own kernel matrix (only the squared distances or dot products are shared). A numeric gamma is
    faster.

    Parameters
    ----------
    estimator : SVC, SVR or OneClassSVM, or a Pipeline that ends with one
        Or a LinearSVC, SmoothSVC or SmoothSVR; from this library or scikit-learn. The estimator is
        not changed. Preprocessing is fitted on the training rows of each fold, which then has its
        own kernel.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        For kernel="precomputed", the kernel matrix of all samples.
    y : array-like of shape (n_samples,), default=None
    groups : array-like of shape (n_samples,), default=None
        Groups for the splitter.
    scoring : str, callable, list, tuple, set or dict, default=None
        As in scikit-learn. A scorer that asks for the decision function or the predictions of the
        held-out rows gets them from the solution, without computing further kernel rows.
    cv : int, splitter or iterable of (train, test), default=None
        As in scikit-learn; None means 5 folds.
    n_jobs : int or None, default=None
        Number of threads, as joblib counts them, for kernels and for folds that do not depend on
        each other. The results do not depend on it.
    params : dict, default=None
        {"sample_weight": array of shape (n_samples,)} or nothing. For a Pipeline, pass
        "step__parameter" or use metadata routing.
    seeding : {"auto", "none", "decremental"} or a name of `alphapath.seeds.SEEDS`, default="auto"
        How folds are warm-started. "none" solves every fold from zero. "decremental" follows the
        exact path from the solution on all data (to rounding, regardless of `tol`; the kernel is in
        float64). "avg", "top" and "greedy" start from the solution on all data; the other seeds
        start from the previous fold or, where folds overlap (repeated or shuffled
        cross-validation), from the nearest fold already solved. "auto" is "greedy": it starts from
        the solution on all data for ten folds or more, otherwise from the nearest fold already
        solved (the first of them if all are equally near), and switches to zero if the first folds
        show that this is cheaper. A smooth SVM supports "auto", which starts from the model on all
        data, and "none". The folds of a LinearSVC start from zero and are solved side by side.
    return_train_score, return_estimator, return_indices : bool, default=False
        As in scikit-learn. For a scikit-learn estimator, scikit-learn estimators are returned.
    error_score : "raise" or number, default=nan
        Score of a fold whose training set is rejected (for example, one with a single class).
    device : {"cpu", "cuda", "auto"} or None, default=None
        None uses the estimator's device. On a GPU, all folds are solved at once, from zero.

    Returns
    -------
    dict
        The entries that scikit-learn returns: `fit_time`, `score_time`, `test_score` or
        `test_<name>`, `train_...`, `estimator` and `indices`. Each `fit_time` includes an equal
        part of the shared time. In addition:

        n_iter, seed_time, solve_time, seed, status : arrays of shape (n_splits,)
            Summed over the pairs of classes. `seed` is "cold" where a fold started from zero.
            `status` is a value of `alphapath.Status`, or -1 for a rejected fold.
        certificate : dict of arrays of shape (n_splits,)
            `objective`, `duality_gap` (summed over the pairs) and `kkt_violation` (the largest).
        decision_function : array of shape (n_samples,) or (n_samples, n_columns)
            Out-of-fold decision values (predictions for SVR): the mean for a row that is held out
            more than once, nan for a row that is never held out.
        shared : dict
            Work that belongs to no single fold: `n_iter` and `solve_time` of the solution on all
            data, and `setup_time` for checks and the kernel.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C. Like every exception that ends the run, it carries the results so far in its
        attribute `partial`: the same dictionary, with nan and status 3 for unfinished folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import cross_validate
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_validate(SVC(C=10, gamma=0.1), X, y, cv=3)["test_score"].round(2)
    array([0.98, 0.98, 0.96])
    """
    begin = time.perf_counter()
    model = as_searched(last_step(estimator)[1], device)
    check_seeding_of(model, seeding)
    check_sparse(X)
    X, y, groups = indexable(X, y, groups)
    splitter = check_cv(cv, y, classifier=is_classifier(model))
    routed = route_params(estimator, splitter, scoring, groups, params or {})
    splits = make_splits(splitter, X, y, routed.splitter.split)
    metric = None if routed.scorer.score else choose_metric(model, y, scoring)
    scorer = metric or check_scoring(model, scoring, raise_exc=error_score == "raise")
    given = estimator if return_estimator else None
    asked = Scoring(scorer, metric, error_score, return_train_score, given, routed.scorer.score)
    run = make_run(estimator, model, (X, y, routed.estimator.fit), splits, seeding, asked, n_jobs)
    table = FoldTable(run.folds, X, y, asked, time.perf_counter() - begin)

    def collect() -> dict[str, Any]:
        results = table.as_dict(run.full_infos())
        if return_indices:
            train, test = zip(*splits, strict=True)
            results["indices"] = {"train": train, "test": test}
        return results

    try:
        run.fill(table, n_jobs)
    except BaseException as error:
        error.partial = collect()  # type: ignore[attr-defined]
        raise
    table.report_failures()
    return collect()


def check_seeding_of(model: Any, seeding: str) -> None:
    """Refuse a seeding that the folds of the model do not know in one sentence."""
    if isinstance(model, BaseSmooth):
        check_smooth_seeding(seeding)
    elif isinstance(model, LinearSVC):
        check_linear_seeding(seeding)
    else:
        check_seeding(seeding)


def make_run(
    estimator: Any,
    model: Any,
    data: Data,
    splits: list[Split],
    seeding: str,
    asked: Scoring,
    n_jobs: int | None,
) -> Run:
    """The folds of `model`, the last step of `estimator` or the estimator itself."""
    X, y, params = data
    keep_train = asked.wants_train
    if has_preprocessing(estimator):
        if isinstance(model, (BaseSmooth, LinearSVC)):
            raise TypeError(
                f"The folds of a Pipeline that ends with {type(model).__name__} share nothing; "
                f"use SVMSearchCV with one value of C, or sklearn.model_selection."
            )
        n_threads = effective_n_jobs(n_jobs)
        folds: FoldModels = PipelineFolds(estimator, model, data, splits, n_threads)
    else:
        rows = (X, y, read_params(params, estimator) if params else None)
        if isinstance(model, BaseSmooth):
            return SmoothRun(SmoothFolds(model, *rows, splits), seeding, keep_train)
        if isinstance(model, LinearSVC):
            return LinearRun(LinearFolds(model, *rows, splits), keep_train)
        folds = FoldModels(model, *rows, splits, n_threads=effective_n_jobs(n_jobs))
    if asked.wants_metric_alone and SequenceRun.is_for(folds, seeding, n_jobs):
        return SequenceRun(folds, seeding)
    if PairRun.is_for(folds, seeding):
        return PairRun(folds, seeding, keep_train)
    return DualRun(folds, seeding, keep_train)


def choose_metric(model: Any, y: Any, scoring: Any) -> Metric | None:
    """The numbers of scikit-learn's scorer by a shorter way, where there is one."""
    if type(y) is not np.ndarray or y.ndim != 1 or breaks_rules(model):
        return None
    if y.dtype.kind not in "biuf" and not is_classifier(model):
        return None
    if scoring is None:
        return own_metric(model)
    return metrics_of(model).get(scoring) if isinstance(scoring, str) else None


def route_params(
    estimator: Any, splitter: Any, scoring: Any, groups: Any, params: Mapping[str, Any]
) -> Any:
    """What goes to the splitter, to fit and to the scorer, as in scikit-learn's cross_validate."""
    if not get_config()["enable_metadata_routing"]:
        return Bunch(
            splitter=Bunch(split={"groups": groups}),
            estimator=Bunch(fit=params),
            scorer=Bunch(score={}),
        )
    if groups is not None:
        raise ValueError(
            "groups is given beside metadata routing, which is enabled; give it as "
            "params={'groups': groups}."
        )
    router = MetadataRouter(owner="cross_validate")
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    router.add(estimator=estimator, method_mapping=to_fit)
    to_split = MethodMapping().add(caller="fit", callee="split")
    router.add(splitter=splitter, method_mapping=to_split)
    to_score = MethodMapping().add(caller="fit", callee="score")
    router.add(scorer=check_scoring(estimator, scoring), method_mapping=to_score)
    return process_routing(router, "fit", **params)
