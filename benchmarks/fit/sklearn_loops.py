"""Small fits inside scikit-learn's own loops: our estimators against scikit-learn's, in turn.

Here a fit takes a millisecond, and what surrounds the solve (checks, copies, attributes) decides.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "loop": "loop",
    "data": "data",
    "model": "model",
    "seconds": "seconds of processor time",
    "peer_seconds": "seconds, scikit-learn",
    "ratio": "ratio",
    "n_rounds": "rounds",
    "difference": "largest difference of the answers",
    "n_different": "answers that differ",
    "n_answers": "answers",
}

#: Data sets by name, and what is kept of them.
DATA = {
    "heart_scale": DataSpec("heart_scale"),
    "australian_scale": DataSpec("australian_scale"),
    "ionosphere": DataSpec("ionosphere"),
    "leukemia": DataSpec("leukemia"),
    "colon-cancer": DataSpec("colon-cancer"),
}
QUICK = ("iris", "heart_scale")

#: Answers further apart than this are counted: labels, scores and selected features by one step,
#: numbers of models by what both tolerances leave.
APART = 2e-3


def run(options: Options) -> Report:
    report = Report("sklearn_loops", COLUMNS)
    names = [*BUNDLED, *DATA] if not options.is_quick else list(QUICK)
    for name in names:
        given = {"name": name, "folder": options.data, "repeats": options.repeats}
        given["only"] = options.only
        for row in options.runner.call("benchmarks.fit.sklearn_loops:run_loops", given, pin=True):
            report.rows.append(row)
            print(f"{row['loop']}, {name}, {row['model']}: {row['ratio']:.3g}x", flush=True)
    report.failures += [
        f"{row['loop']}, {row['data']}, {row['model']}: {row['ratio']:.3g}x"
        for row in report.rows
        if row["ratio"] < 1.0 and not options.is_quick
    ]
    report.failures += [
        f"{row['loop']}, {row['data']}, {row['model']}: {row['n_different']} of "
        f"{row['n_answers']} answers differ."
        for row in report.rows
        if row["n_different"] > 0.02 * row["n_answers"]
    ]
    report.notes.append(
        "One thread on one core, both libraries in turn in one process, the least processor time "
        "of all rounds; the loops are scikit-learn's own. Answers are scores, labels, selected "
        "features or decision values."
    )
    return report


def load_bundled(name: str) -> tuple[Any, np.ndarray]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        X, y = X[:500], y[:500]
    if name in ("breast_cancer", "wine"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X), y


BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def run_loops(name: str, folder: str, repeats: int, only: str | None) -> list[dict[str, Any]]:
    """Job: every loop on one data set by both libraries."""
    import sklearn.svm

    import alphapath

    X, y = load_bundled(name) if name in BUNDLED else load(DATA[name], Path(folder))
    rows = []
    for title, loop, models in loops_for(name, X, y):
        for kind, parameters in models:
            label = f"{kind}({', '.join(f'{k}={v!r}' for k, v in parameters.items())})"
            if only is not None and only not in f"{title}, {name}, {label}":
                continue
            own = getattr(alphapath, kind)(**parameters)
            peer = getattr(sklearn.svm, kind)(**parameters)
            rows.append(time_both(loop, own, peer, repeats))
            rows[-1] |= {"loop": title, "data": f"{name} {X.shape[0]} x {X.shape[1]}"}
            rows[-1]["model"] = label
    return rows


def time_both(
    loop: Callable[[Any], Any], own: Any, peer: Any, repeats: int, at_least: float = 0.7
) -> dict[str, Any]:
    """Rounds of both in turn until the shorter has had its time."""
    answers = [np.asarray(loop(model), dtype=float).ravel() for model in (own, peer)]
    taken: list[list[float]] = [[], []]
    while len(taken[0]) < repeats or (min(map(sum, taken)) < at_least and len(taken[0]) < 300):
        for model, seconds in zip((own, peer), taken, strict=True):
            begin = process_time()
            loop(model)
            seconds.append(process_time() - begin)
    away = np.abs(answers[0] - answers[1]) / np.maximum(1.0, np.abs(answers[1]))
    return {
        "seconds": min(taken[0]),
        "peer_seconds": min(taken[1]),
        "ratio": min(taken[1]) / min(taken[0]),
        "n_rounds": len(taken[0]),
        "difference": float(away.max()),
        "n_different": int(np.sum(away > APART)),
        "n_answers": int(away.size),
    }


Model = tuple[str, dict[str, Any]]
Loop = tuple[str, Callable[[Any], Any], list[Model]]

LINEAR: Model = ("SVC", {"kernel": "linear"})
RBF: Model = ("SVC", {})


def loops_for(name: str, X: Any, y: np.ndarray) -> list[Loop]:
    """(name, what is called with an estimator and returns answers, the estimators)."""
    if name == "diabetes":
        return regression_loops(X, (y - y.mean()) / y.std())
    wide = X.shape[1] > 1000
    found = plain_loops(X, y)
    found += wide_loops(X, y) if wide else selection_loops(X, y)
    if len(np.unique(y)) > 2:
        found += many_class_loops(X, y)
    return found


def plain_loops(X: Any, y: np.ndarray) -> list[Loop]:
    from sklearn.model_selection import cross_val_predict, cross_val_score, learning_curve
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import OneClassSVM

    K = X @ X.T
    single = ("predict of one row", 1), ("predict of ten rows", 10)

    def predict(model: Any, n: int) -> Any:
        return [model.predict(X[i : i + n]) for i in range(0, 200, n) if i + n <= len(X)]

    def outliers(model: Any) -> Any:
        return model.fit(X).decision_function(X)

    assert OneClassSVM  # both libraries have it under this name
    found: list[Loop] = [
        ("fit", lambda m: m.fit(X, y).decision_function(X[:1]), [LINEAR, RBF]),
        ("cross_val_score", lambda m: cross_val_score(m, X, y), [LINEAR, RBF]),
        ("cross_val_predict", lambda m: cross_val_predict(m, X, y), [LINEAR]),
        (
            "cross_val_score of a scaler and the model",
            lambda m: cross_val_score(make_pipeline(StandardScaler(), m), X, y),
            [LINEAR],
        ),
        (
            "learning_curve",
            lambda m: np.concatenate(
                learning_curve(m, X, y, train_sizes=(0.4, 0.7, 1.0), shuffle=True, random_state=0)[
                    1:3
                ]
            ),
            [LINEAR],
        ),
        (
            "cross_val_score, precomputed",
            lambda m: cross_val_score(m, K, y),
            [("SVC", {"kernel": "precomputed", "C": 0.1 / np.trace(K) * len(K)})],
        ),
        ("fit and decision_function", outliers, [("OneClassSVM", {"nu": 0.1, "tol": 1e-5})]),
    ]
    for title, n in single:
        found.append((title, FittedLoop(predict, X, y, n), [LINEAR, RBF]))
    return found


class FittedLoop:
    """A loop over predictions of a model that was fitted before the clock runs."""

    def __init__(self, loop: Callable[[Any, int], Any], X: Any, y: Any, n: int) -> None:
        self.loop, self.data, self.n = loop, (X, y), n

    def __call__(self, model: Any) -> Any:
        if not hasattr(model, "dual_coef_"):
            model.fit(*self.data)
        return self.loop(model, self.n)


def selection_loops(X: Any, y: np.ndarray) -> list[Loop]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import BaggingClassifier
    from sklearn.feature_selection import RFECV, SelectFromModel
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import permutation_test_score

    def importances(model: Any) -> Any:
        return permutation_importance(model.fit(X, y), X, y, n_repeats=2, random_state=0)[
            "importances"
        ]

    def calibrate(model: Any) -> Any:
        found = CalibratedClassifierCV(model, cv=3).fit(X, y)
        return found.predict_proba(X)

    few = X[:, :20]
    return [
        ("SelectFromModel", lambda m: SelectFromModel(m).fit(X, y).get_support(), [LINEAR]),
        ("RFECV", lambda m: RFECV(m, cv=3).fit(few, y).ranking_, [LINEAR]),
        (
            "permutation_test_score",
            lambda m: permutation_test_score(m, X, y, n_permutations=10, random_state=0, cv=3)[1],
            [LINEAR],
        ),
        ("permutation_importance", importances, [LINEAR]),
        (
            "BaggingClassifier",
            lambda m: BaggingClassifier(m, n_estimators=10, random_state=0).fit(X, y).predict(X),
            [LINEAR],
        ),
        ("CalibratedClassifierCV", calibrate, [LINEAR]),
    ]


def wide_loops(X: Any, y: np.ndarray) -> list[Loop]:
    from sklearn.feature_selection import SelectFromModel
    from sklearn.model_selection import permutation_test_score

    few = np.ascontiguousarray(X[:, :2000])
    return [
        ("SelectFromModel", lambda m: SelectFromModel(m).fit(X, y).get_support(), [LINEAR]),
        (
            "permutation_test_score, 2,000 columns",
            lambda m: permutation_test_score(m, few, y, n_permutations=10, random_state=0)[1],
            [LINEAR],
        ),
    ]


def many_class_loops(X: Any, y: np.ndarray) -> list[Loop]:
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier

    return [
        (
            wrapper.__name__,
            lambda m, wrapper=wrapper: wrapper(m).fit(X, y).predict(X),
            [LINEAR, RBF],
        )
        for wrapper in (OneVsRestClassifier, OneVsOneClassifier)
    ] + [
        (
            "OutputCodeClassifier",
            lambda m: OutputCodeClassifier(m, random_state=0).fit(X, y).predict(X),
            [LINEAR],
        )
    ]


def regression_loops(X: Any, y: np.ndarray) -> list[Loop]:
    from sklearn.ensemble import BaggingRegressor
    from sklearn.feature_selection import RFECV, SelectFromModel
    from sklearn.model_selection import cross_val_score
    from sklearn.multioutput import MultiOutputRegressor

    few = X[:200], y[:200]
    linear: Model = ("SVR", {"kernel": "linear"})
    two = np.column_stack([few[1], -few[1]])
    return [
        ("fit", lambda m: m.fit(X, y).predict(X[:1]), [linear, ("SVR", {})]),
        ("cross_val_score", lambda m: cross_val_score(m, *few), [linear, ("SVR", {})]),
        ("SelectFromModel", lambda m: SelectFromModel(m).fit(*few).get_support(), [linear]),
        ("RFECV", lambda m: RFECV(m, cv=3).fit(*few).ranking_, [linear]),
        (
            "BaggingRegressor",
            lambda m: BaggingRegressor(m, random_state=0).fit(*few).predict(few[0]),
            [linear],
        ),
        (
            "MultiOutputRegressor",
            lambda m: MultiOutputRegressor(m).fit(few[0], two).predict(few[0]),
            [linear],
        ),
    ]
