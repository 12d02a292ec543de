"""The benchmarks by name, and the options every one of them gets."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.measure import Runner
from benchmarks.harness.report import Report


@dataclass(frozen=True)
class Options:
    data: str
    repeats: int
    out: Path
    is_quick: bool
    only: str | None
    peers: str
    skip_slow_peers: bool
    n_jobs: int
    runner: Runner

    def wants(self, title: str) -> bool:
        return self.only is None or self.only in title


@dataclass(frozen=True)
class Benchmark:
    module: str
    summary: str
    needs_data: bool

    @property
    def run(self) -> Callable[[Options], Report]:
        return importlib.import_module(f"benchmarks.{self.module}").run


BENCHMARKS = {
    "fit": Benchmark("fit.one_fit", "one SVC fit, kernel included, against the peers", True),
    "exactness": Benchmark("fit.exactness", "the optimum against an exact reference", True),
    "cross_validation": Benchmark(
        "folds.cross_validation", "folds from every seed, cold and by scikit-learn", True
    ),
    "leave_one_out": Benchmark(
        "folds.leave_one_out", "exact leave-one-out against scikit-learn's refits", True
    ),
    "grid_search": Benchmark(
        "search.grid_search", "whole grids against GridSearchCV(SVC()), scores compared", True
    ),
    "many_classes": Benchmark(
        "fit.many_classes", "fits, folds and grids of many classes against scikit-learn", True
    ),
    "sklearn_loops": Benchmark(
        "fit.sklearn_loops", "small fits inside scikit-learn's own loops, by both libraries", True
    ),
    "search_plans": Benchmark("search.plans", "plans of a search with one value of C", True),
    "one_class_grid": Benchmark(
        "search.one_class_grid", "a grid of OneClassMaxMinOver by every plan and solver", True
    ),
    "margin_bounds": Benchmark(
        "linear.margin_bounds", "gradient descent and Pegasos with margin bounds", True
    ),
    "linear_fit": Benchmark("linear.fit", "one linear SVM against the peers; its memory", True),
    "linear_dual": Benchmark("linear.dual", "dual descent of the hinge by margin bounds", True),
    "linear_search": Benchmark("linear.search", "the search over C against LIBLINEAR -C", True),
    "linear_quality": Benchmark(
        "linear.quality", "objectives and winners of that search, certified", True
    ),
    "incremental": Benchmark(
        "paths.incremental", "exact updates against single ones, warm SMO and refits", True
    ),
    "c_path": Benchmark("paths.c_path", "exact C paths, certified, and cross-validated", True),
    "weight_path": Benchmark(
        "paths.weight_path", "paths between weightings against warm SMO", True
    ),
    "ranking": Benchmark(
        "ranking.ohsumed", "RankSVM and its exact paths on OHSUMED, against LIBLINEAR", True
    ),
    "transduction": Benchmark(
        "paths.transduction", "transduction on spambase, against cold solves", True
    ),
    "gpu": Benchmark("gpu.batches", "whole batches on a GPU (needs one, and CuPy)", True),
    "memory": Benchmark("fit.memory", "resident memory over 10,000 fits", True),
    "row_cache": Benchmark(
        "fit.row_cache", "time and rows computed against the memory limit", False
    ),
    "smooth": Benchmark(
        "smooth.strategies",
        "smooth SVM: leave-one-out and folds by strategy, against the peers",
        True,
    ),
    "lambda_path": Benchmark(
        "paths.lambda_path",
        "the path over lambda against grids of solves, artificial sets without data",
        False,
    ),
}
