"""How a search is run: limits, interrupts, journals, progress; the answers stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from alphapath import SVC
from alphapath.errors import JournalError
from alphapath.model_selection import SearchProgress, SVMSearchCV
from alphapath.search.journal import Journal
from search_cases import GRID, generated, same_results, searches


class TestLimits:
    def test_time_limit(self):
        X, y = generated(1600)
        search = SVMSearchCV(
            SVC(), {"C": [1e-3, 1.0, 1e5], "gamma": [1.0, 0.01]}, cv=3, time_limit=1e-4
        )
        with pytest.warns(ConvergenceWarning, match="not run"):
            search.fit(X, y)
        results = search.cv_results_
        is_missing = results["status"] == "not_run"
        assert is_missing.any()
        assert np.isnan(results["mean_test_score"][is_missing]).all()

    def test_no_cell_in_time(self):
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, time_limit=1e-9)
        with pytest.warns(ConvergenceWarning, match="12 of 12 candidates were not run"):
            search.fit(X, y)
        assert set(search.cv_results_["status"]) == {"not_run"}
        assert not hasattr(search, "best_estimator_")

    def test_enough_time_changes_nothing(self):
        X, y = generated()
        limited = SVMSearchCV(SVC(), GRID, time_limit=1e4).fit(X, y)
        same_results(limited.cv_results_, SVMSearchCV(SVC(), GRID).fit(X, y).cv_results_)

    @pytest.mark.parametrize("backend", ["sequential", "threading"])
    def test_interrupt_keeps_what_is_done(self, backend):
        X, y = generated()
        progress = SearchProgress()
        counter = InterruptAfter(30, progress)
        search = SVMSearchCV(SVC(), GRID, cv=KFold(22), scoring=counter, n_jobs=2)
        search.set_callbacks(progress)
        with (
            pytest.raises(KeyboardInterrupt),
            joblib.parallel_config(backend=backend),
            pytest.warns(ConvergenceWarning, match="not run"),
        ):
            search.fit(X, y)
        full = SVMSearchCV(SVC(), GRID, cv=KFold(22)).fit(X, y).cv_results_
        statuses = search.cv_results_["status"]
        assert "not_run" in statuses
        done = [~np.isnan(search.cv_results_[f"split{h}_test_score"]) for h in range(22)]
        assert sum(mask.sum() for mask in done) >= 4
        for h, mask in enumerate(done):
            key = f"split{h}_test_score"
            np.testing.assert_array_equal(search.cv_results_[key][mask], full[key][mask])

    def test_memory_limit_gives_the_same_winner(self):
        X, y = generated(400)
        roomy = SVMSearchCV(SVC(), GRID).fit(X, y)
        tight = SVMSearchCV(SVC(), GRID, memory_limit=500_000).fit(X, y)
        np.testing.assert_allclose(
            tight.cv_results_["mean_test_score"], roomy.cv_results_["mean_test_score"], atol=0.013
        )
        with pytest.raises(ValueError, match="memory_limit"):
            SVMSearchCV(SVC(), GRID, memory_limit=1000, error_score="raise").fit(X, y)


class InterruptAfter:
    """A scorer that sends Ctrl-C to this process after some calls, once results are collected."""

    def __init__(self, n_calls: int, progress: SearchProgress) -> None:
        self.n_left, self.progress = n_calls, progress

    def __call__(self, estimator, X, y):
        self.n_left -= 1
        if self.n_left == 0:
            deadline = time.monotonic() + 30
            while self.progress.fraction < 0.02 and time.monotonic() < deadline:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return float(np.mean(estimator.predict(X) == y))


class TestJournal:
    def test_resumed_search_gives_the_same_results(self, tmp_path):
        for i, (search, X, y) in enumerate(searches()):
            plain = clone(search).fit(X, y).cv_results_
            path = tmp_path / f"{i}.db"
            first = clone(search).set_params(journal=path).fit(X, y)
            same_results(first.cv_results_, plain)
            with Journal(path) as journal:
                assert len(journal) == len(first.plan_.chains)
            work = clone(search).set_params(journal=path, scoring=None).fit(X, y)
            same_results(work.cv_results_, plain)
            for key in ("mean_fit_time", "mean_score_time"):  # not even measured again
                np.testing.assert_array_equal(work.cv_results_[key], first.cv_results_[key])

    def test_another_search_is_refused(self, tmp_path):
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, journal=str(tmp_path / "search.db")).fit(X, y)
        with pytest.raises(JournalError, match="data"):
            search.fit(X + 1e-9, y)
        with pytest.raises(JournalError, match="grid"):
            clone(search).set_params(param_grid={"C": [1.0]}).fit(X, y)
        with pytest.raises(JournalError, match="estimator"):
            clone(search).set_params(estimator__tol=1e-4).fit(X, y)
        with pytest.raises(JournalError, match="splits"):
            clone(search).set_params(cv=3).fit(X, y)

    def test_cut_chains_are_not_remembered(self, tmp_path):
        X, y = generated(1600)
        path = tmp_path / "search.db"
        grid = {"C": [1e-3, 1.0, 1e5], "gamma": [1.0, 0.01]}
        search = SVMSearchCV(SVC(), grid, cv=3, time_limit=0.02, journal=path, refit=False)
        with pytest.warns(ConvergenceWarning):
            search.fit(X, y)
        whole = SVMSearchCV(SVC(), grid, cv=3, refit=False)
        resumed = clone(search).set_params(time_limit=None).fit(X, y)
        same_results(resumed.cv_results_, whole.fit(X, y).cv_results_)

    def test_killed_search_goes_on(self, tmp_path):
        script = textwrap.dedent(
            """
            import sys, numpy as np
            from sklearn.datasets import make_classification
            from sklearn.model_selection import KFold
            from alphapath import SVC
            from alphapath.model_selection import SVMSearchCV
            X, y = make_classification(160, 6, n_informative=4, n_redundant=0, flip_y=0.1,
                                       random_state=0)
            grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.02, 0.2, 2.0]}
            print("ready", flush=True)
            SVMSearchCV(SVC(), grid, cv=KFold(22), refit=False, journal=sys.argv[1]).fit(X, y)
            """
        )
        path = tmp_path / "search.db"
        process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=-1)
        assert process.stdout is not None
        process.stdout.readline()
        n_done = 0
        while process.poll() is None and n_done < 3:
            time.sleep(0.002)
            if path.exists():
                with Journal(path) as journal:
                    n_done = len(journal)
        process.kill()
        process.wait()
        process.stdout.close()
        X, y = generated()
        search = SVMSearchCV(SVC(), GRID, cv=KFold(22), refit=False)
        resumed = clone(search).set_params(journal=path).fit(X, y)
        same_results(resumed.cv_results_, search.fit(X, y).cv_results_)


class Recorder:
    """A callback that writes down the tasks it is told of."""

    def __init__(self):
        self.begun, self.ended = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, depth(context), context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.task_name, depth(context), context.max_subtasks))


def depth(context):
    return 0 if context.parent is None else 1 + depth(context.parent)


class TestProgress:
    @pytest.mark.parametrize("n_jobs", [None, 2])
    def test_task_tree(self, n_jobs):
        X, y = generated()
        recorder = Recorder()
        search = SVMSearchCV(SVC(), GRID, cv=3, n_jobs=n_jobs).set_callbacks(recorder)
        with joblib.parallel_config(backend="threading"):
            search.fit(X, y)
        assert sorted(recorder.begun) == sorted(recorder.ended)
        names = [name for name, _, _ in recorder.begun]
        assert names.count("C") == 36
        assert names.count("fold") == 9
        assert names.count("rbf gamma=0.2") == 1
        assert {d for name, d, _ in recorder.begun if name == "C"} == {4}
        assert names[:2] == ["fit", "search"]
        assert names[-1] == "refit-with-best-params"

    def test_silent_by_default(self, capfd):
        X, y = generated()
        SVMSearchCV(SVC(), GRID).fit(X, y)
        SVMSearchCV(SVC(), GRID, verbose=1).fit(X, y)  # no terminal: nothing either
        assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_memory_stays_within_the_limit():
    """Ten thousand rows and 200 MB: 400 MB even in single precision."""
    script = textwrap.dedent(
        """
        import resource, sys
        from sklearn.datasets import make_classification
        from alphapath import SVC
        from alphapath.model_selection import SVMSearchCV
        limit = sys.argv[1]
        X, y = make_classification(10_000, 10, n_informative=6, flip_y=0.05, class_sep=2.0,
                                   random_state=0)
        SVMSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(X[:500], y[:500])
        import numpy as np, scipy.linalg
        K = np.eye(1000) + 1e-3 * (X[:1000] @ X[:1000].T)
        scipy.linalg.cholesky(K) @ K  # the BLAS libraries allocate their own buffers once
        del K
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        search = SVMSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": [0.01, 0.1]}, cv=3,
                             memory_limit=None if limit == "none" else limit, refit=False)
        search.fit(X, y)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print((after - before) * 1024 / 1e6, search.best_params_)
        """
    )
    found = {}
    for limit in ("200MB", "none"):
        done = subprocess.run(
            [sys.executable, "-c", script, limit], capture_output=True, text=True, check=True
        )
        megabytes, _, best = done.stdout.partition(" ")
        found[limit] = float(megabytes), best
    assert found["200MB"][0] < 200.0
    assert found["200MB"][1] == found["none"][1]
