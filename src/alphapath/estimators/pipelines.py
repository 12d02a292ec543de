"""Pipelines that end with an SVM: their last step, and what comes before it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def last_step(estimator: Any) -> tuple[str, Any]:
    """Name and estimator of the SVM, alone or in a pipeline."""
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return name, step
    return "", estimator


def replace_last(estimator: Any, step: Any) -> Any:
    """The same pipeline with another last step, or the step itself."""
    if not isinstance(estimator, Pipeline):
        return step
    estimator.steps[-1] = (estimator.steps[-1][0], step)
    return estimator


def with_head(head: Pipeline, last: tuple[str, Any]) -> Any:
    """The fitted preprocessing with a fitted last step; of the same kind, since a Pipeline with
    samplers leaves them out in `predict`."""
    return type(head)([*head.steps, last])


def has_preprocessing(estimator: Any) -> bool:
    """Whether something is done to the rows before they come to the SVM."""
    if not isinstance(estimator, Pipeline):
        return False
    return any(step is not None and step != "passthrough" for _, step in estimator.steps[:-1])


def has_sampler(head: Pipeline) -> bool:
    """Whether a step resamples training rows, as the samplers of imbalanced-learn do."""
    return any(hasattr(step, "fit_resample") for _, step in head.steps)
