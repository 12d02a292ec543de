"""LinearSVC to and from scikit-learn's."""

from __future__ import annotations

from typing import Any

from sklearn import svm

from .sklearn_bridge import copy_requests

#: Parameters of both, with the same meaning.
SHARED = ("loss", "C", "tol", "fit_intercept", "class_weight", "random_state")
FITTED = ("classes_", "n_features_in_", "feature_names_in_", "n_iter_")
#: What the model knows of, with the only value that it has.
FIXED = {"penalty": "l2", "multi_class": "ovr", "intercept_scaling": 1}


def to_sklearn(estimator: Any) -> svm.LinearSVC:
    """The equivalent scikit-learn estimator, fitted if this one is."""
    if estimator.loss == "huber" or not estimator.penalise_intercept or estimator.lam is not None:
        raise ValueError(
            f"scikit-learn's LinearSVC has loss 'hinge' or 'squared_hinge', a penalised intercept "
            f"and C; here loss={estimator.loss!r}, penalise_intercept="
            f"{estimator.penalise_intercept} and lam={estimator.lam}."
        )
    peer = svm.LinearSVC(**{name: getattr(estimator, name) for name in SHARED})
    copy_requests(estimator, peer)
    if hasattr(estimator, "coef_"):
        peer.coef_, peer.intercept_ = estimator.coef_.copy(), estimator.intercept_.copy()
        for name in FITTED:
            if hasattr(estimator, name):
                setattr(peer, name, getattr(estimator, name))
    return peer


def from_sklearn(estimator: Any, peer: Any) -> None:
    """Give `estimator` the parameters of `peer` and, if that is fitted, its model.

    `dual`, `max_iter` and `verbose` are about LIBLINEAR's solvers and are left out.
    """
    if not isinstance(peer, svm.LinearSVC):
        raise TypeError(
            f"LinearSVC.from_sklearn takes a scikit-learn LinearSVC, not {type(peer).__name__}."
        )
    for name, value in FIXED.items():
        if getattr(peer, name) != value:
            raise ValueError(
                f"{name} is {getattr(peer, name)!r}; for a LinearSVC of alphapath it must be "
                f"{value!r}."
            )
    estimator.set_params(**{name: getattr(peer, name) for name in SHARED})
    copy_requests(peer, estimator)
    if hasattr(peer, "coef_"):
        estimator.coef_ = peer.coef_.copy()
        # scikit-learn keeps a plain 0.0 where there is no intercept.
        estimator.intercept_ = peer.coef_[:, 0] * 0.0 + peer.intercept_
        for name in FITTED:
            if hasattr(peer, name):
                setattr(estimator, name, getattr(peer, name))
