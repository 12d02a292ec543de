"""How fits run: starts, limits, interrupts, threads, memory, and life inside scikit-learn."""

from __future__ import annotations

import gc
import pickle
import resource
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, OneClassSVM, Start, Status, certify
from alphapath.errors import InfeasibleStart
from alphapath.estimators.common import problems as problems_module
from alphapath.kernels import KernelStore
from alphapath.solvers import smo
from datasets import CLASSIFICATION, REGRESSION


def problems():
    X, y = CLASSIFICATION["breast_cancer"]()
    Z, r = REGRESSION["diabetes"]()
    return {
        "svc": SVC(C=10.0, gamma=0.1).to_problem(X, y),
        "svc_linear": SVC(kernel="linear").to_problem(X, y),
        "svc_large_C": SVC(C=1e5, gamma=0.05).to_problem(X, y),
        "svr": SVR(C=10.0).to_problem(Z, r / r.std()),
        "one_class": OneClassSVM(nu=0.2).to_problem(X),
    }


NAMES = ["svc", "svc_linear", "svc_large_C", "svr", "one_class"]


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("name", NAMES)
def test_own_optimum_takes_at_most_one_iteration(name, tol):
    problem = problems()[name]
    solution = smo.solve(problem, tol=tol)
    assert solution.info.status is Status.SOLVED
    again = smo.solve(problem, solution.as_start(), tol=tol)
    assert again.info.n_iter <= 1
    assert again.info.objective == pytest.approx(solution.info.objective, rel=1e-12)
    without_gradient = smo.solve(problem, Start(solution.beta), tol=tol)
    assert without_gradient.info.n_iter <= 1


@pytest.mark.parametrize("name", ["svc", "svc_linear", "svc_large_C", "svr"])
def test_zero_start_is_the_cold_start(name):
    problem = problems()[name]
    cold = smo.solve(problem)
    zero = smo.solve(problem, Start(np.zeros(problem.n)))
    assert zero.info.n_iter == cold.info.n_iter
    assert np.array_equal(zero.beta, cold.beta)


@pytest.mark.parametrize("name", NAMES)
def test_a_solve_at_its_iteration_limit_resumes(name):
    problem = problems()[name]
    start, n_rounds = None, 0
    while n_rounds < 10_000:
        solution = smo.solve(problem, start, max_iter=200)
        problem.check_feasible(solution.beta)
        start, n_rounds = solution.as_start(), n_rounds + 1
        if solution.info.status is Status.SOLVED:
            break
        assert solution.info.status is Status.ITERATION_LIMIT
        assert solution.info.n_iter <= 200
    assert certify(problem, solution.beta, solution.bias).is_optimal(1.05e-3)


def test_an_infeasible_start_is_refused():
    problem = problems()["svc"]
    with pytest.raises(InfeasibleStart, match=r"beta\[0\]"):
        smo.solve(problem, Start(np.full(problem.n, 1e9)))


def test_limits_of_a_fit_warn_and_leave_a_valid_model():
    X, y = CLASSIFICATION["digits"]()
    model = SVC(max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=3: the KKT violation"):
        model.fit(X, y)
    assert model.fit_status_ is Status.ITERATION_LIMIT
    assert (model.n_iter_ <= 3).all()
    assert model.predict(X).shape == y.shape
    model = SVC(time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit=1e-06 seconds"):
        model.fit(X, y)
    assert model.fit_status_ is Status.TIME_LIMIT
    assert model.objective_.shape == (45,)
    for certificate in model.certify(X, y):
        assert certificate.box_violation == 0.0
        assert certificate.sum_violation < 1e-9


def hard_data():
    X, y = make_classification(
        3000, 20, n_informative=10, n_clusters_per_class=6, flip_y=0.3, random_state=2
    )
    return StandardScaler().fit_transform(X), y


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
def test_ctrl_c_leaves_a_model(monkeypatch):
    X, y = hard_data()
    model = SVC(C=1e7, gamma=0.001, tol=1e-9, time_limit=60.0)
    run = smo.run

    def run_and_ring(*args):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        return run(*args)

    monkeypatch.setattr(smo, "run", run_and_ring)
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    assert model.fit_status_ is Status.INTERRUPTED  # and not the time limit's
    assert model.predict(X[:5]).shape == (5,)
    certificate = model.certify(X, y)
    assert certificate.box_violation == 0.0
    assert certificate.sum_violation <= 1e-9 * (1.0 + abs(certificate.objective))


def test_an_interrupt_leaves_the_other_pairs_unsolved(monkeypatch):
    monkeypatch.setattr(problems_module, "MOST_INSTANCES", 0)  # small pairs are solved in one call
    X, y = CLASSIFICATION["iris"]()
    solve = smo.solve

    def interrupted(problem, *args, **options):
        solution = solve(problem, *args, max_iter=2)
        object.__setattr__(solution.info, "status", Status.INTERRUPTED)
        return solution

    monkeypatch.setattr(smo, "solve", interrupted)
    model = SVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.fit_status_ is Status.INTERRUPTED
    assert model.n_iter_.tolist() == [2, 0, 0]
    assert model.predict(X).shape == y.shape


def test_threads_on_one_store_give_the_same_bits():
    X, y = CLASSIFICATION["digits"]()
    pairs = SVC(C=5.0).to_problem(X, y)
    assert len({id(problem.kernel) for problem in pairs}) == 1
    alone = [smo.solve(problem) for problem in pairs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(smo.solve, pairs))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.beta, other.beta)
        assert np.array_equal(one.gradient, other.gradient)
        assert one.bias == other.bias


def test_a_fitted_model_does_not_hold_the_kernel(monkeypatch):
    stores = []

    class WatchedStore(KernelStore):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            stores.append(weakref.ref(self))

    monkeypatch.setattr(problems_module, "KernelStore", WatchedStore)
    X, y = CLASSIFICATION["iris"]()
    model = SVC().fit(X, y)
    gc.collect()
    assert len(stores) == 1
    assert stores[0]() is None
    assert model.predict(X).shape == y.shape


def test_many_fits_leave_the_memory_as_it_was():
    X, y = CLASSIFICATION["iris"]()
    Z, r = REGRESSION["generated"]()

    def fit_all(n):
        for _ in range(n):
            SVC().fit(X, y)
            SVR().fit(Z, r)
            OneClassSVM().fit(X)

    fit_all(30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fit_all(100)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4096  # kilobytes


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM()], ids=lambda m: type(m).__name__)
def test_pickle_and_clone(model):
    X, y = CLASSIFICATION["iris"]()
    model = clone(model).fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict(X), model.predict(X))
    assert not hasattr(clone(model), "dual_coef_")
    assert len(pickle.dumps(model)) < 40_000
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_life_inside_scikit_learn():
    X, y = CLASSIFICATION["wine"]()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10.0]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9
    calibrated = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    K = X @ X.T
    given = cross_val_score(SVC(kernel="precomputed"), K, y, cv=3)
    assert np.allclose(given, cross_val_score(SVC(kernel="linear"), X, y, cv=3))


def test_to_problem_leaves_the_estimator_alone():
    X, y = CLASSIFICATION["iris"]()
    model = SVC(C=3.0)
    pairs = model.to_problem(X, y, np.where(y == 2, 2.0, 1.0))
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    assert [int((p.weights > 0).sum()) for p in pairs] == [100, 100, 100]
    assert pairs[1].upper.max() == 3.0
    assert pairs[1].lower.min() == -6.0


def test_certify_needs_a_fit_on_the_same_data():
    X, y = CLASSIFICATION["iris"]()
    with pytest.raises(NotFittedError):
        SVC().certify(X, y)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"was fitted on shape \(150, 4\)"):
        model.certify(X[:140], y[:140])
    assert type(model.certify(X, y)) is list
