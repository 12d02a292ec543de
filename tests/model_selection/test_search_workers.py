"""Workers of a search: backends, processes that die; the answers are the same, bit for bit."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC as PeerSVC

from alphapath import SVC
from alphapath.model_selection import SVMSearchCV
from alphapath.search import runner
from search_cases import GRID, generated, same_results, searches


class TestWorkers:
    @pytest.mark.parametrize("backend", ["threading", "loky"])
    def test_any_number_of_workers(self, backend):
        for search, X, y in searches():
            serial = clone(search).fit(X, y).cv_results_
            with joblib.parallel_config(backend=backend, n_jobs=2):
                same_results(clone(search).fit(X, y).cv_results_, serial)

    def test_threads_share_the_limit_of_the_memory(self):
        X, y = generated(300)
        search = SVMSearchCV(SVC(tol=1e-6), GRID, cv=3, refit=False, memory_limit="1MB")
        serial = clone(search).fit(X, y).cv_results_
        with joblib.parallel_config(backend="threading", n_jobs=3):
            same_results(clone(search).fit(X, y).cv_results_, serial)

    def test_dask_with_a_worker_that_dies(self, tmp_path):
        distributed = pytest.importorskip("distributed")
        X, y = generated(n_classes=3)
        search = SVMSearchCV(SVC(), GRID, cv=KFold(22), refit=False)  # a chain a fold
        serial = clone(search).fit(X, y).cv_results_
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        )
        with cluster, distributed.Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))
            killer = KillLater(victim)
            with joblib.parallel_config(backend="dask", n_jobs=2):
                same_results(clone(search).set_params(scoring=killer).fit(X, y).cv_results_, serial)
        assert killer.has_struck()

    @pytest.mark.filterwarnings("ignore")  # Ray's own
    def test_ray_with_a_worker_that_dies(self, tmp_path, monkeypatch):
        ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray.")
        from ray.util.joblib import register_ray

        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, cv=KFold(22), refit=False)
        serial = clone(search).fit(X, y).cv_results_
        deadly = DieOnce(str(tmp_path / "died"), os.getpid())
        register_ray()
        here = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=here)
        try:
            with joblib.parallel_config(backend="ray", n_jobs=2):
                found = clone(search).set_params(scoring=deadly).fit(X, y).cv_results_
        finally:
            ray.shutdown()
        same_results(found, serial)
        assert Path(deadly.mark).exists()

    def test_a_process_that_dies(self, tmp_path):
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, cv=KFold(22), refit=False)
        serial = clone(search).fit(X, y).cv_results_
        deadly = DieOnce(str(tmp_path / "died"), os.getpid())
        with joblib.parallel_config(backend="loky", n_jobs=2):
            found = clone(search).set_params(scoring=deadly).fit(X, y).cv_results_
        same_results(found, serial)
        assert Path(deadly.mark).exists()

    def test_errors_of_the_work_are_not_deaths(self):
        X, y = generated()

        def fails(estimator, X, y):
            raise ZeroDivisionError("no")

        search = SVMSearchCV(SVC(), GRID, scoring=fails, error_score="raise", n_jobs=2)
        with pytest.raises(ZeroDivisionError), joblib.parallel_config(backend="threading"):
            search.fit(X, y)
        assert not runner.is_death(ZeroDivisionError())

    def test_pickle_and_clone(self):
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID).fit(X, y)
        again = pickle.loads(pickle.dumps(search))
        np.testing.assert_array_equal(again.predict(X), search.predict(X))
        assert clone(search).get_params()["param_grid"] == GRID


class KillLater:
    """A scorer that has accuracy as its value, and kills a process in the middle of the search."""

    def __init__(self, victim: int) -> None:
        self.victim = victim

    def __call__(self, estimator, X, y):
        if os.getpid() == self.victim:
            os.kill(self.victim, signal.SIGKILL)
        return float(np.mean(estimator.predict(X) == y))

    def has_struck(self) -> bool:
        try:
            os.kill(self.victim, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{self.victim}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return status == "Z"


class DieOnce:
    """A scorer that ends the first worker process that calls it."""

    def __init__(self, mark: str, parent: int) -> None:
        self.mark, self.parent = mark, parent

    def __call__(self, estimator, X, y):
        if os.getpid() != self.parent:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return float(np.mean(estimator.predict(X) == y))


def test_peers_agree_on_parallel_runs():
    X, y = generated()
    ours = SVMSearchCV(SVC(), GRID, n_jobs=2).fit(X, y)
    theirs = GridSearchCV(PeerSVC(), GRID).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.007
    )
