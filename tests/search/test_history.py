"""What a chain or a kernel gives depends on its problem alone, not on what was computed before."""

from __future__ import annotations

import itertools

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from alphapath import SVC
from alphapath.kernels import KernelStore, Poly, Rbf, policy
from alphapath.model_selection import SVMSearchCV, cross_validate, search_cv
from search_cases import same_results

#: Chains that need float64 kernels (at C = 2e4) beside others on float32, of three kinds.
GRID = [
    {"kernel": ["rbf"], "C": [0.1, 100.0], "gamma": [0.02, 0.2]},
    {"kernel": ["rbf"], "C": [0.1, 2e4], "gamma": [2.0]},
    {"kernel": ["poly"], "C": [0.1], "gamma": [0.05, 0.1]},
    {"kernel": ["linear"], "C": [0.1]},
]


@pytest.fixture(scope="module")
def data():
    """More than the rows up to which every kernel is in float64."""
    return make_classification(2100, 6, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)


def make_search(**options):
    return SVMSearchCV(SVC(), GRID, cv=3, refit=False, **options)


@pytest.fixture(scope="module")
def serial(data):
    return make_search().fit(*data).cv_results_


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_chains_in_any_order(data, serial, seed, monkeypatch):
    run_chains = search_cv.run_chains

    def run_shuffled(work, chains, **options):
        order = np.random.default_rng(seed).permutation(len(chains))
        return run_chains(work, [chains[k] for k in order], **options)

    monkeypatch.setattr(search_cv, "run_chains", run_shuffled)
    same_results(make_search().fit(*data).cv_results_, serial)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("threading", 4), ("loky", 2)])
def test_any_number_of_workers(data, serial, backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        same_results(make_search().fit(*data).cv_results_, serial)


@pytest.mark.parametrize("limit", ["4GB", "400MB", "130MB"])
def test_limits_that_hold_every_matrix(data, serial, limit):
    same_results(make_search(memory_limit=limit).fit(*data).cv_results_, serial)


def test_the_memory_of_a_worker_does_not_matter(data, serial, monkeypatch):
    # The first asks are those of the caller; a worker would then find little memory.
    sizes = itertools.chain([policy.default_memory_limit()], itertools.repeat(20_000_000))
    monkeypatch.setattr(policy, "default_memory_limit", lambda: next(sizes))
    same_results(make_search().fit(*data).cv_results_, serial)


def values_of(store, kernel, **options):
    return store.view(kernel, **options).rows(np.arange(0, store.n, 7))


@pytest.mark.parametrize(
    ("kernel", "before"),
    [
        (Rbf(0.3), [(Rbf(0.5), "float64")]),
        (Rbf(0.3), [(Rbf(0.3), "float64")]),
        (Rbf(0.3), [(Poly(0.1, 2, 1.0), "float32")]),
        (Poly(0.1, 2, 1.0), [(Rbf(0.5), "float64"), (Rbf(0.5), "float32")]),
    ],
)
@pytest.mark.parametrize("limit", [None, 1_100_000, 700_000, 300_000])
def test_kernels_of_kept_products_have_no_history(kernel, before, limit):
    # 300 rows: products in float32 take 365 kB, in float64 730 kB.
    X = np.random.default_rng(0).normal(size=(300, 9))
    fresh, used = (KernelStore(X, memory_limit=limit) for _ in range(2))
    for store in (fresh, used):
        store.keep_products()
    for other, precision in before:
        used.view(other, precision=precision)
    for precision in ("float32", "float64"):
        found = values_of(used, kernel, precision=precision)
        np.testing.assert_array_equal(found, values_of(fresh, kernel, precision=precision))


def test_a_matrix_that_gave_way_to_float32_is_not_handed_out_as_float64():
    X = np.random.default_rng(0).normal(size=(300, 9))
    store = KernelStore(X, memory_limit=500_000)
    shrunk = store.view(Rbf(0.3))
    assert shrunk.gram.precision == "float32"
    kept = KernelStore(X, memory_limit=500_000)
    kept.keep_products()
    luxury = kept.view(Rbf(0.3))
    for options in ({"tol": 1e-8}, {"precision": "float64"}):
        view = kept.view(Rbf(0.3), **options)
        assert view is not luxury
        assert view.gram.precision == "float64"


def test_folds_with_kernels_of_their_own_in_threads(data):
    X, y = data
    model = SVC(C=10.0, memory_limit="60MB")
    alone = cross_validate(model, X, y, cv=4, seeding="none")
    together = cross_validate(clone(model), X, y, cv=4, seeding="none", n_jobs=3)
    for name in ("n_iter", "test_score", "decision_function"):
        np.testing.assert_array_equal(alone[name], together[name])
    for name, values in alone["certificate"].items():
        np.testing.assert_array_equal(values, together["certificate"][name])
