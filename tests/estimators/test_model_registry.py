"""Every listing of models comes from what their classes declare: a new model is one class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import BaseEstimator
from sklearn.datasets import dump_svmlight_file

from alphapath import SVC, SmoothSVC, estimators
from alphapath.cli import main, options
from alphapath.cli.commands.compare import make_peer
from alphapath.errors import ModelFileError
from alphapath.estimators.common.declaration import (
    MODELS,
    Declaration,
    LibsvmType,
    declares,
    models_by_command,
    models_by_file_type,
)
from alphapath.estimators.registry import (
    as_own,
    as_searched,
    declaration_of,
    is_peer,
    on_device,
    weight_of,
)
from alphapath.model_selection import (
    SVMSearchCV,
    cross_validate,
    cross_validate_path,
    leave_one_out,
)
from nu_svc import DECLARATION, NuSVC

RNG = np.random.default_rng(8)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0.0).astype(int)


class HeavyPeer(svm.SVC):
    """Stands for a model of scikit-learn that the package does not know yet."""


@pytest.fixture
def heavy() -> Iterator[type[SVC]]:
    """A model registered for one test: an SVC under another name."""

    @declares(
        Declaration(
            targets="labels",
            family="dual",
            peer=HeavyPeer,
            libsvm=LibsvmType(9, "heavy_svc"),
            command="heavy-svc",
            abilities=frozenset({"folds", "path", "updates", "gpu", "file"}),
        )
    )
    class HeavySVC(SVC):
        pass

    yield HeavySVC
    del MODELS["HeavySVC"]


def test_every_public_estimator_declares_what_it_is() -> None:
    public = [getattr(estimators, name) for name in estimators.__all__]
    models = {kind.__name__: kind for kind in public if issubclass(kind, BaseEstimator)}
    assert models == MODELS


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_declarations_are_true(model: Any) -> None:
    declared = model._declaration
    parameters = model().get_params()
    assert ("device" in parameters) == ("gpu" in declared.abilities)
    assert hasattr(model, "partial_fit") == ("updates" in declared.abilities)
    assert hasattr(model, "load_libsvm") == ("file" in declared.abilities)
    assert hasattr(model, "save_libsvm") == (declared.libsvm is not None)
    assert hasattr(model, "from_sklearn") == (declared.peer is not None)
    assert hasattr(model, "as_sklearn") == (declared.peer is not None)
    assert declared.weight is None or declared.weight in parameters
    assert declared.command is None or declared.libsvm is not None
    if declared.peer is not None:
        assert type(model.from_sklearn(declared.peer())) is model
        assert is_peer(declared.peer())
        assert declaration_of(declared.peer()) is declared


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_abilities_with_folds_and_paths_are_true(model: Any) -> None:
    declared = model._declaration
    targets = X[:, 1] if declared.targets == "numbers" else Y
    if "folds" in declared.abilities:
        results = cross_validate(model(), X, targets, cv=3, scoring=share_of_ones)
        assert np.isfinite(results["test_score"]).all()
        assert type(as_searched(model())) is model
    else:
        with pytest.raises(TypeError, match=r"can ?not be begun from another solution"):
            cross_validate(model(), X, targets)
    if "path" in declared.abilities:
        path = cross_validate_path(model(), X, targets, cv=3, C_min=0.5, C_max=1.0)
        assert np.isfinite(path.best_score)
    elif model.__name__ != "QuadraticLossSVC":  # whose path goes along lambda
        with pytest.raises(TypeError):
            cross_validate_path(model(), X, targets)


def share_of_ones(model: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(model.predict(X) == 1))


def test_no_two_models_share_a_name() -> None:
    assert len(models_by_command()) == sum(
        model._declaration.command is not None for model in MODELS.values()
    )
    assert len(models_by_file_type()) == sum(
        "file" in model._declaration.abilities for model in MODELS.values()
    )
    assert options.model_kinds() == {"0": "c-svc", "2": "one-class", "3": "epsilon-svr"}
    with_folds = options.model_kinds(ability="folds", is_supervised=True)
    assert with_folds == {"0": "c-svc", "3": "epsilon-svr"}


def test_a_new_model_is_converted(heavy: type[SVC]) -> None:
    assert type(as_searched(HeavyPeer(C=3.0))) is heavy
    assert as_own(HeavyPeer(C=3.0)).get_params()["C"] == 3.0
    assert type(on_device(HeavyPeer(), "cpu")) is heavy
    assert type(heavy().fit(X, Y).as_sklearn()) is HeavyPeer
    assert type(make_peer(heavy(C=2.0))) is HeavyPeer
    assert type(as_own(svm.SVC())) is SVC
    with pytest.raises(TypeError, match="HeavySVC"):
        as_own(svm.NuSVC())
    with pytest.raises(ValueError, match="a model called HeavySVC already"):
        declares(heavy._declaration)(type("HeavySVC", (SVC,), {}))


def test_searches_and_folds_take_a_new_model(heavy: type[SVC]) -> None:
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    expected = SVMSearchCV(SVC(), grid, cv=3).fit(X, Y).cv_results_["mean_test_score"]
    for estimator in (heavy(), HeavyPeer()):
        search = SVMSearchCV(estimator, grid, cv=3).fit(X, Y)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected)
        assert type(search.best_estimator_) is type(estimator)
        found = cross_validate(estimator, X, Y, cv=3)["test_score"]
        np.testing.assert_array_equal(found, cross_validate(SVC(), X, Y, cv=3)["test_score"])
        assert leave_one_out(estimator, X, Y).score_ == leave_one_out(SVC(), X, Y).score_


def test_files_and_commands_take_a_new_model(heavy: type[SVC], tmp_path: Path) -> None:
    model = heavy(C=2.0, gamma=0.5).fit(X, Y)
    file = tmp_path / "heavy.model"
    model.save_libsvm(file)
    assert file.read_text().startswith("svm_type heavy_svc\n")
    loaded = heavy.load_libsvm(file)
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(ModelFileError, match="svm_type is heavy_svc; SVC reads c_svc"):
        SVC.load_libsvm(file)
    assert options.model_kinds()["9"] == "heavy-svc"
    data, trained, found = (tmp_path / name for name in ("rows.svm", "trained", "found"))
    dump_svmlight_file(X, Y, str(data))
    for kind in ("9", "heavy-svc"):
        arguments = ["-s", kind, "-g", "0.5", "-c", "2", "--model", str(trained)]
        assert main(["fit", str(data), *arguments]) == 0
    assert trained.read_text().startswith("svm_type heavy_svc\n")
    assert main(["predict", str(data), str(trained), str(found)]) == 0
    predicted = [int(line) for line in found.read_text().split()]
    assert np.mean(np.array(predicted) == model.predict(X)) == 1.0


@pytest.fixture
def nu_svc() -> Iterator[type[NuSVC]]:
    """NuSVC, registered for one test; no file of the package knows of it."""
    yield declares(DECLARATION)(NuSVC)
    del MODELS["NuSVC"]


def test_the_dry_run_of_nu_svc_needs_no_listing(nu_svc: type[NuSVC], tmp_path: Path) -> None:
    peer = svm.NuSVC(nu=0.4, gamma=0.5, tol=1e-8)
    model = nu_svc.from_sklearn(peer).fit(X, Y)
    values = peer.fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-4)
    assert type(model.as_sklearn()) is svm.NuSVC
    np.testing.assert_allclose(model.as_sklearn().decision_function(X), values, atol=1e-4)
    data, trained, found = (tmp_path / name for name in ("rows.svm", "trained", "found"))
    dump_svmlight_file(X, Y, str(data))
    arguments = ["-s", "1", "-n", "0.4", "-g", "0.5", "-e", "1e-8", "--model", str(trained)]
    assert main(["fit", str(data), *arguments]) == 0
    assert trained.read_text().startswith("svm_type nu_svc\n")
    assert main(["predict", str(data), str(trained), str(found)]) == 0
    is_clear = np.abs(values) > 1e-3
    predicted = np.array([int(line) for line in found.read_text().split()])
    np.testing.assert_array_equal(predicted[is_clear], peer.predict(X)[is_clear])
    assert "nu-svc" not in options.model_kinds(ability="folds").values()
    with pytest.raises(TypeError, match=r"NuSVC can ?not be begun from another solution"):
        cross_validate(model, X, Y)


def test_a_model_is_gone_with_its_entry(heavy: type[SVC]) -> None:
    saved = MODELS.pop("HeavySVC")
    assert type(as_own(HeavyPeer())) is SVC  # by its base class
    assert "9" not in options.model_kinds()
    assert "heavy_svc" not in models_by_file_type()
    MODELS["HeavySVC"] = saved


def test_searches_go_along_the_declared_weight() -> None:
    assert weight_of(SmoothSVC()) == "c"
    assert weight_of(svm.LinearSVC()) == "C"
    assert weight_of(svm.OneClassSVM()) == "C"  # it has none: its one value is 1
