"""SVMSearchCV: scikit-learn's GridSearchCV for SVMs, the whole grid on shared kernels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures
from sklearn.utils import assert_all_finite, indexable
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_method_params, _num_samples

from ..estimators.common.problems import DEVICES
from ..estimators.pipelines import last_step, replace_last
from ..estimators.registry import as_searched, is_peer
from ..kernels import parse_memory_limit
from ..kernels.samples import check_sparse
from ..problem.solution import Status
from ..search.journal.digest import digest_facts, fingerprint
from ..search.journal.journal import Journal
from ..search.journal.outline import describe_search, write_outline
from ..search.plan import Plan, make_plan
from ..search.runner import run_chains
from ..search.table import SearchTable, find_best_so_far
from ..search.time_shares import TimeShares
from .folds.preprocessing import SearchData
from .grid.candidates import Grid, goes_by_fold, make_groups, searched_kind
from .grid.chain import Setting
from .grid.primal import PrimalWork, plan_primal
from .grid.progress import Progress
from .grid.work import SearchWork
from .scoring import Judge, check_scorers

#: Reserve 1 / this number of a memory limit for solutions, fold weights and factors.
SHARE_OF_SOLUTIONS = 12

#: What is set only where a candidate was found.
FROM_BEST = (
    "best_index_",
    "best_params_",
    "best_score_",
    "best_estimator_",
    "refit_time_",
    "feature_names_in_",
)


class SVMSearchCV(BaseSearchCV):
    """Exhaustive search over the parameters of an SVM: GridSearchCV's results, much faster.

    Kernel matrices are computed once and shared by all folds, values of C, class weights and
    epsilons; solves are warm-started along C.

    Parameters
    ----------
    estimator : SVC, SVR or OneClassSVM, or a Pipeline that ends with one
        Or LinearSVC, from this library or scikit-learn; or SmoothSVC or SmoothSVR, warm-started
        along c. Preprocessing is fitted on the training rows of each fold, which then has its own
        kernels.
    param_grid : dict or list of dicts
        As in GridSearchCV.
    scoring, refit, cv, error_score, return_train_score
        As in GridSearchCV.
    n_jobs : int or None, default=None
        Number of joblib workers: processes, or the backend set by `joblib.parallel_config`
        (threads, Dask, Ray). The results are bitwise independent of it. On a GPU, the workers are
        threads; None uses one for each kernel that fits in its memory, but at most eight.
    seeding : {"auto", "none", "keep", "lift", "scale"}, default="auto"
        How to warm-start a solve from the solution at the next smaller C. "none" starts every solve
        from zero.
    plan : {"auto", "along_c", "linked_folds", "linked_kernels", "independent"}, default="auto"
        Order in which cells are solved. "along_c" warm-starts each cell from the next smaller C in
        the same fold. "linked_folds" also warm-starts the smallest C of a fold from another fold.
        "linked_kernels" also links neighbouring gammas, choosing what was cheaper so far; "auto"
        does so when there are few values of C.
    journal : path or None, default=None
        File that records finished work. Running the same search again resumes from it.
    memory_limit : int, str or None, default=None
        Memory limit for kernels in bytes (or "200MB"), per process. None uses the estimator's limit
        or a share of the RAM.
    time_limit : float or None, default=None
        Time limit for the search in seconds, excluding the refit. The folds of a kernel share it,
        smallest C first, so that candidates are completed early; candidates that do not finish in
        time are not run, or run on some folds only. With a journal, folds are finished one after
        the other. The time limit of a single solve is the estimator's `time_limit`.
    verbose : int, default=0
        1 shows progress.
    device : {"cpu", "cuda", "auto"} or None, default=None
        Where kernels are computed and cells are solved; None uses the estimator's device. On a GPU,
        all folds and all values of C of a kernel are solved at once, and `memory_limit` refers to
        the memory of the device.

    Attributes
    ----------
    cv_results_ : dict
        All keys of GridSearchCV and, for each candidate, `n_iter` (iterations of all folds),
        `seed` (the seeds used), `duality_gap` (the largest over the folds) and `status`
        ("solved"). If the time limit or Ctrl-C ended the search, the status of an unfinished
        candidate is "partial" if it was run on some folds (their scores are in
        `split<k>_test_<metric>`) or "not_run" otherwise. Its mean score is nan, so it is not
        ranked. Such a search also has `n_splits_done` and `partial_mean_test_<metric>`, the mean
        over the finished folds.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, \
multimetric_, classes_, n_features_in_, feature_names_in_
        As in GridSearchCV.
    plan_ : Plan
        Which solution each cell was warm-started from, and how much work that took;
        `print(search.plan_)` shows it.

    Notes
    -----
    After Ctrl-C, `cv_results_` holds the finished work and, if a cell was completed, `best_params_`
    the best parameters so far. A scorer that is a function receives an estimator of this library
    that is fitted on the fold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import SVMSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVMSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]}, cv=3)
    >>> search.fit(X, y).best_params_
    {'C': 10.0, 'gamma': 0.1}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in BaseSearchCV._parameter_constraints.items() if k != "pre_dispatch"},
        "param_grid": [dict, list],
        "seeding": [str],
        "plan": [str],
        "journal": [None, str, PathLike],
        "memory_limit": [None, str, Interval(Integral, 1, None, closed="left")],
        "time_limit": [None, Interval(Real, 0.0, None, closed="neither")],
        "device": [None, StrOptions(set(DEVICES))],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        seeding: str = "auto",
        plan: str = "auto",
        journal: Any = None,
        memory_limit: Any = None,
        time_limit: float | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
        device: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.seeding = seeding
        self.plan = plan
        self.journal = journal
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.device = device

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Run the search and refit the best candidate on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of all samples.
        y : array-like of shape (n_samples,), default=None
        **params : dict
            As in GridSearchCV: sample_weight, groups and routed metadata.
        """
        for name in FROM_BEST:  # of an earlier fit, where this one finds nothing
            self.__dict__.pop(name, None)
        scorers, refit_metric = self._get_scorers()
        check_scorers(scorers, self.scoring)
        check_sparse(X)
        X, y = indexable(X, y)
        if isinstance(y, np.ndarray) and y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        self._fingerprint = fingerprint(X, y)
        progress = Progress(self, X, y, params.get("sample_weight"))
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError("param_grid is empty; give each parameter at least one value.")
        given = searched_kind(self.estimator, candidates)
        grid = Grid(given, candidates, self.device)
        splits = self._split(X, y, routed.splitter.split)
        judge = Judge(
            scorers, given, routed.scorer.score, self.error_score, self.return_train_score
        )
        table = SearchTable(len(candidates), len(splits))
        try:
            self._search(
                SearchData(X, y, routed.estimator.fit, splits, self._find_limit(grid, X), given),
                grid,
                judge,
                table,
                progress,
            )
        except KeyboardInterrupt:
            self._finish(candidates, table, scorers, refit_metric, is_cut=True)
            raise
        self._finish(candidates, table, scorers, refit_metric, is_cut=not table.is_complete)
        if self.refit and hasattr(self, "best_index_"):  # nothing to fit where no cell was run
            with progress.refit() as context:
                self._refit(X, y, routed.estimator.fit, context)
        progress.end()
        return self

    # -- the parts of fit

    def _split(self, X: Any, y: Any, split_params: Mapping[str, Any]) -> list[Any]:
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self.n_splits_ = splitter.get_n_splits(X, y, **split_params)
        everybody = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
        splits = [
            (everybody[np.asarray(train)], everybody[np.asarray(test)])
            for train, test in splitter.split(X, y, **split_params)
        ]
        if len(splits) != self.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits returned inconsistent results: "
                f"{len(splits)} splits where {self.n_splits_} were announced."
            )
        if not splits:
            raise ValueError(f"The splitter {self.cv!r} gave no folds; at least one is needed.")
        return splits

    def _find_limit(self, grid: Grid, X: Any) -> int | None:
        """Bytes for kernels, the same for workers of any memory; None for the default of a GPU."""
        limit = self.memory_limit
        if limit is None:
            limit = getattr(grid.last[1], "memory_limit", None)
        if limit is None:
            n = _num_samples(X)
            uses_gpu = any(model.is_on_gpu(n) for model in grid.models)
            return None if uses_gpu else parse_memory_limit(None)
        n_bytes = parse_memory_limit(limit)
        return n_bytes - n_bytes // SHARE_OF_SOLUTIONS

    def _search(
        self, data: SearchData, grid: Grid, judge: Judge, table: SearchTable, progress: Progress
    ) -> None:
        """Run all chains; what they give is in `table` at any time."""
        for row, error in grid.errors.items():
            if self.error_score == "raise":
                raise ValueError(error)
            table.refuse(row, error)
        by_fold = goes_by_fold(grid, data)
        groups = make_groups(grid, data.splits, by_fold)
        if grid.in_primal:
            plan = plan_primal(groups, grid.models, self.plan, self.seeding)
        else:
            plan = make_plan(groups, self.plan, self.seeding)
        shares = self._share_time(len(data.splits), by_fold)
        setting = Setting(data, grid.heads, grid.last, grid.models, judge, shares)
        self.plan_ = plan
        progress.begin(plan)
        work: Any = PrimalWork(setting, self.seeding) if grid.in_primal else SearchWork(setting)
        journal = self._open_journal(data, grid, plan)
        try:
            for chain, arrays in run_chains(
                work,
                plan.chains,
                n_jobs=self.n_jobs,
                n_threads=work.n_threads,
                journal=journal,
                on_begin=None if progress.is_silent else progress.on_begin,
            ):
                table.add(chain, arrays)
                progress.on_end(chain)
        finally:
            self.plan_ = plan.with_work(table.work, table.edges)
            if journal is not None:
                journal.close()
        progress.end_search()

    def _share_time(self, n_folds: int, by_fold: bool) -> TimeShares:
        """The time limit, for all folds alike.

        With a journal chains are finished one after the other: it keeps none that were cut, and the
        next run of the search goes on behind those that are finished.
        """
        deadline = None if self.time_limit is None else time.time() + self.time_limit
        n_shared = n_folds if self.journal is None else 1
        return TimeShares(deadline, n_shared, effective_n_jobs(self.n_jobs), by_fold)

    def _open_journal(self, data: SearchData, grid: Grid, plan: Plan) -> Journal | None:
        """The journal, bound to this very search; None where none is wanted."""
        if self.journal is None:
            return None
        is_table = sp.issparse(data.X) or hasattr(data.X, "columns")
        how = (self.plan, self.seeding, self.return_train_score, self.memory_limit, self.device)
        facts = digest_facts(
            {
                "data": (
                    data.X if is_table else np.asarray(data.X),
                    np.asarray(data.y),
                    dict(data.fit_params),
                ),
                "splits": (list(data.splits),),
                "estimator": (self.estimator,),
                "grid": (grid.candidates,),
                "scoring": (self.scoring,),
                "plan": (how,),
            }
        )
        journal = Journal(self.journal)
        try:
            journal.reserve()
            outline = write_outline(describe_search(self), grid.candidates, len(data.splits), plan)
            journal.bind(facts, outline)
        except BaseException:
            journal.close()
            raise
        return journal

    def _finish(
        self,
        candidates: Sequence[dict[str, Any]],
        table: SearchTable,
        scorers: Any,
        refit_metric: str,
        is_cut: bool,
    ) -> None:
        """Set cv_results_ and what is best."""
        self._report(table, candidates)
        names = [name.removeprefix("test_") for name in table.scores if name.startswith("test_")]
        names = names or list(getattr(scorers, "_scorers", ["score"]))
        self.multimetric_ = names != ["score"] or isinstance(scorers, _MultimetricScorer)
        out = as_out(table, names, self.multimetric_, self.error_score, self.return_train_score)
        with warnings.catch_warnings():
            if is_cut:  # the status reports the missing scores
                warnings.filterwarnings("ignore", "One or more of the", UserWarning)
            results = self._format_results(list(candidates), table.shape[1], out, table.columns())
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(names)
            refit_metric = self.refit
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.cv_results_ = results
        means = [values for name, values in results.items() if name.startswith("mean_test_")]
        # Where all is done and nothing has a score, the first candidate is chosen as elsewhere.
        is_known = not is_cut or not np.isnan(np.array(means, dtype=float)).all()
        if (self.refit or not self.multimetric_) and is_known:
            self._choose(results, refit_metric)

    def _choose(self, results: dict[str, Any], refit_metric: str) -> None:
        self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _report(self, table: SearchTable, candidates: Sequence[dict[str, Any]]) -> None:
        """Warn of what failed, was not run or did not converge; raise where all failed."""
        if table.errors:
            n = table.shape[0] * table.shape[1]
            cells: list[dict[str, Any]] = [{"fit_error": error} for error in table.errors.values()]
            cells += [{"fit_error": None}] * (n - len(cells))
            _warn_or_raise_about_fit_failures(cells, self.error_score)
        if not table.is_complete:
            warnings.warn(describe_cut(table, candidates), ConvergenceWarning, stacklevel=3)
        unsolved = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.STALLED)
        n_unsolved = int(np.isin(table.status, [int(s) for s in unsolved]).sum())
        if n_unsolved:
            warnings.warn(
                f"{n_unsolved} of {table.status.size} solves stopped before the tolerance was met "
                f"(see 'status' in cv_results_); raise max_iter or time_limit, or scale the "
                f"features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _refit(self, X: Any, y: Any, fit_params: Mapping[str, Any], context: Any) -> None:
        """Fit the best candidate on all rows; scikit-learn's estimators by way of our own."""
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        given = last_step(best)[1]
        was_peer = is_peer(given)
        fitted = best
        if was_peer or self.device is not None:
            fitted = replace_last(best, as_searched(given, self.device))
        begin = time.time()
        with context(fitted):
            fitted.fit(X, *(() if y is None else (y,)), **fit_params)
        if was_peer:
            peer = last_step(fitted)[1].as_sklearn().set_params(**given.get_params(deep=False))
            fitted = replace_last(fitted, peer)
        self.refit_time_ = time.time() - begin
        self.best_estimator_ = fitted
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_


def describe_cut(table: SearchTable, candidates: Sequence[dict[str, Any]]) -> str:
    """What a search that was cut has not run, and what is best so far where nothing is complete."""
    text = (
        f"{np.count_nonzero(~table.is_done)} of {table.shape[0]} candidates were not run on every "
        f"fold; their status is 'partial' or 'not_run' and their mean score nan."
    )
    means = table.partial_means()
    if table.is_done.any() or len(means) != 1:
        return text
    (mean,) = means.values()
    best = find_best_so_far(table.n_done, mean)
    if best is None:
        return text
    return (
        f"{text} No candidate is complete; best so far is {candidates[best]}, with a mean score of "
        f"{mean[best]:.4g} on {table.n_done[best]} of {table.shape[1]} folds."
    )


def as_out(
    table: SearchTable, names: Sequence[str], is_multi: bool, error_score: Any, wants_train: bool
) -> list[dict[str, Any]]:
    """The table as the list of cells that scikit-learn's formatting takes."""
    missing = np.nan if error_score == "raise" else error_score
    is_refused = np.zeros(table.shape, dtype=bool)
    for row, fold in table.errors:
        is_refused[row, fold] = True

    def fill(part: str) -> list[Any]:
        columns = []
        for name in names:
            values = table.scores.get(f"{part}_{name}")
            values = np.full(table.shape, np.nan) if values is None else values
            columns.append(np.where(is_refused, missing, values).ravel().tolist())
        if not is_multi:
            return columns[0]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    parts = {"test_scores": fill("test")}
    if wants_train:
        parts["train_scores"] = fill("train")
    parts["fit_time"] = table.fit_time.ravel().tolist()
    parts["score_time"] = table.score_time.ravel().tolist()
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
