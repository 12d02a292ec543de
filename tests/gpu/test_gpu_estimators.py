"""device="cuda" in estimators, folds and searches, by the NumPy reference; and without a GPU."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from alphapath import SVC, SVR, OneClassSVM, Status
from alphapath.errors import DeviceError
from alphapath.estimators.common.problems import is_on_gpu
from alphapath.gpu import cuda
from alphapath.interrupt import Stop
from alphapath.model_selection import SVMSearchCV, cross_validate
from alphapath.search.table import SearchTable
from gpu_cases import make_data


@pytest.mark.usefixtures("reference_device")
class TestEstimators:
    def test_fit_and_folds_have_the_answers_of_the_processor(self):
        X, y = load_breast_cancer(return_X_y=True)
        X, y = scale(X)[:200], y[:200]
        own = SVC(C=10.0, gamma=0.02)
        moved = SVC(C=10.0, gamma=0.02, device="cuda").fit(X, y)
        assert moved.fit_status_ is Status.SOLVED
        np.testing.assert_allclose(
            moved.decision_function(X), own.fit(X, y).decision_function(X), atol=5e-3
        )
        one = cross_validate(own, X, y, cv=4)
        other = cross_validate(own, X, y, cv=4, device="cuda")
        np.testing.assert_array_equal(one["test_score"], other["test_score"])
        assert set(other["seed"]) == {"cold"}

    @pytest.mark.parametrize(
        "model", [SVR(C=10.0, gamma=0.1), OneClassSVM(nu=0.3, gamma=0.1), SVC(gamma="scale")]
    )
    def test_other_models(self, model):
        X, y = load_iris(return_X_y=True)
        targets = X[:, 3] if isinstance(model, SVR) else y
        fitted = type(model)(**model.get_params()).fit(X[:, :3], targets)
        moved = type(model)(**model.get_params() | {"device": "cuda"}).fit(X[:, :3], targets)
        name = "predict" if isinstance(model, SVR) else "decision_function"
        found, expected = (getattr(each, name)(X[:, :3]) for each in (moved, fitted))
        np.testing.assert_allclose(found, expected, atol=5e-3)

    def test_a_search_has_the_scores_of_the_processor(self):
        X, y = load_iris(return_X_y=True)
        grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
        one = SVMSearchCV(SVC(), grid, cv=3).fit(X, y)
        other = SVMSearchCV(SVC(), grid, cv=3, device="cuda").fit(X, y)
        np.testing.assert_array_equal(
            one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )
        assert other.best_params_ == one.best_params_
        assert other.best_estimator_.device == "cuda"
        assert len(other.plan_.chains) == 3  # all folds of a kernel together

    def test_kernels_at_a_time_change_no_bit(self):
        X, y = make_data()
        grid = {"C": [1.0, 100.0], "gamma": [0.01, 0.1, 1.0, 10.0]}
        search = SVMSearchCV(SVC(), grid, cv=3, device="cuda", n_jobs=1)
        one = search.fit(X, y).cv_results_
        many = clone(search).set_params(n_jobs=None).fit(X, y).cv_results_
        for key in ("mean_test_score", "n_iter", "duality_gap"):
            np.testing.assert_array_equal(one[key], many[key])

    @pytest.mark.filterwarnings("ignore:.*tasks:UserWarning")  # joblib on what it gave up
    def test_ctrl_c_stops_the_threads_and_keeps_what_is_done(self, monkeypatch):
        X, y = make_data()
        stops = []
        add, enter = SearchTable.add, Stop.__enter__

        def interrupt(self, chain, arrays):
            add(self, chain, arrays)
            raise KeyboardInterrupt

        def entered(self):
            stops.append(self)
            return enter(self)

        monkeypatch.setattr(SearchTable, "add", interrupt)
        monkeypatch.setattr(Stop, "__enter__", entered)
        search = SVMSearchCV(SVC(), {"gamma": [0.1, 1.0, 10.0]}, cv=3, device="cuda")
        with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="not run"):
            search.fit(X, y)
        assert stops
        assert all(stop.is_set for stop in stops)
        assert sorted(search.cv_results_["status"]) == ["not_run", "not_run", "solved"]

    def test_an_estimator_of_scikit_learn_may_run_there(self):
        from sklearn.svm import SVC as Peer

        X, y = load_iris(return_X_y=True)
        search = SVMSearchCV(Peer(), {"C": [1.0, 10.0]}, cv=3, device="cuda").fit(X, y)
        assert isinstance(search.best_estimator_, Peer)


class TestChoice:
    def test_without_cupy_a_sentence_says_what_is_missing(self, monkeypatch):
        cuda.require_cupy.cache_clear()
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(DeviceError, match=r"needs CuPy, .*install alphapath\[gpu\]"):
            SVC(device="cuda").fit([[0.0], [1.0]], [0, 1])
        assert not is_on_gpu("auto", 10**6)
        cuda.require_cupy.cache_clear()

    def test_auto_stays_on_the_processor_for_little_data(self):
        assert not is_on_gpu("auto", 100)
        SVC(device="auto").fit([[0.0], [1.0]], [0, 1])

    def test_an_unknown_device_is_refused(self):
        with pytest.raises(ValueError, match="device"):
            SVC(device="tpu").fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(ValueError, match="device == 'tpu'; it must be one of cpu, cuda, auto"):
            cross_validate(SVC(), [[0.0], [1.0]] * 5, [0, 1] * 5, device="tpu")

    def test_the_cuda_source_travels_with_the_package(self):
        from importlib.resources import files

        for name, functions in {
            "smo.cu": ("select_working_set", "solve_working_set", "update_gradients"),
            "walk.cu": ("walk_free_set",),
        }.items():
            source = files("alphapath.gpu").joinpath(name).read_text()
            assert all(f"\n{function}(" in source for function in functions)
