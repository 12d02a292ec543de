"""scikit-learn's own checks, with no expected failures, metadata routing off and on."""

from __future__ import annotations

import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from alphapath import (
    SVC,
    SVR,
    LinearSVC,
    OneClassMaxMinOver,
    QuadraticLossSVC,
    RankSVM,
    SmoothSVC,
)
from alphapath.estimators.common.declaration import MODELS
from alphapath.model_selection import SVMSearchCV

#: The transductive model has labels that are missing, which no check gives.
PLAIN = [model() for name, model in sorted(MODELS.items()) if name != "TransductiveSVC"]
ESTIMATORS = [
    *PLAIN,
    OneClassMaxMinOver(solver="maxminover"),
    SVC(kernel="linear", class_weight="balanced"),
    SVC(kernel="precomputed"),
    SVR(kernel="precomputed"),
    QuadraticLossSVC(loss="huber", kernel="precomputed"),
    SVMSearchCV(SVC(), {"C": [0.5, 1.0]}, cv=2, error_score="raise"),
    SVMSearchCV(SVR(), {"C": [0.5, 1.0]}, cv=2, error_score="raise"),
    SVMSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.5, 1.0]}, cv=2, error_score="raise"
    ),
    SmoothSVC(kernel="rbf", class_weight="balanced"),
    SmoothSVC(kernel="precomputed"),
    LinearSVC(class_weight="balanced", penalise_intercept=False),
    RankSVM(kernel="rbf", pair_weights="gain"),
    RankSVM(kernel="precomputed"),
]


@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([*PLAIN, SVMSearchCV(SVC(), {"C": [1.0]}, cv=2)])
def test_scikit_learn_checks_with_metadata_routing(estimator, check):
    with config_context(enable_metadata_routing=True):
        check(estimator)


def test_sample_weight_can_be_routed():
    with config_context(enable_metadata_routing=True):
        request = SVC().set_fit_request(sample_weight=True).get_metadata_routing()
    assert request.fit.requests["sample_weight"] is True
