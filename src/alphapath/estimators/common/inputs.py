"""Validation of the rows, labels and weights of a fit."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from ...problem.box_problem import FloatArray

#: More classes than that, of fewer rows each on average, may be targets of a regression.
MANY_CLASSES, FEW_ROWS = 20, 5

#: What becomes double without a question.
PLAIN_TYPES = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32)))


def encode_labels(y: Any, sample_weight: FloatArray) -> tuple[NDArray[Any], FloatArray]:
    """The classes (at least two, each with a positive weight) and the class number of each row."""
    is_whole = has_whole_numbers(y)
    if not is_whole:
        check_classification_targets(y)
    classes, codes = split_in_two(y) if is_whole else (None, None)
    if classes is None or codes is None:
        classes, codes = np.unique(y, return_inverse=True)
    if is_whole and 2 * len(classes) > len(y):  # it has a warning for so many
        check_classification_targets(y)
    elif is_whole and y.dtype.kind == "f" and are_like_numbers(len(classes), len(y)):
        warnings.warn(
            f"y has {len(classes)} different numbers in {len(y)} rows, each taken as a class; for "
            f"regression use SVR, for classes pass integers or words.",
            UserWarning,
            stacklevel=2,
        )
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]}; a classifier needs at least two classes."
        )
    is_used = np.bincount(codes, weights=sample_weight) > 0.0
    if not is_used.all():
        raise ValueError(
            f"All rows of class {classes[np.argmin(is_used)]} have sample_weight 0; give a "
            f"row of each class a positive weight, or leave the class out of y."
        )
    return classes, codes.astype(np.float64)


def are_like_numbers(n_classes: int, n_rows: int) -> bool:
    """Whether there are so many classes with so few rows that y may hold regression targets."""
    return n_classes > MANY_CLASSES and n_rows < FEW_ROWS * n_classes


def split_in_two(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | tuple[None, None]:
    """Both classes and who is of the second, where there are two: without the sort of np.unique,
    which takes half the time and a third of the memory of a large linear fit."""
    low, high = y.min(), y.max()
    is_high = y == high
    if low == high or not (is_high | (y == low)).all():
        return None, None
    return np.array([low, high], dtype=y.dtype), is_high.astype(np.intp)


def has_whole_numbers(y: Any) -> bool:
    """Whether y is a plain array that can only be labels: no need for scikit-learn's check, which
    takes longer than a small fit."""
    if type(y) is not np.ndarray or y.ndim != 1:
        return False
    return y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool((y == np.floor(y)).all()))


def check_labels_of(class_weight: Any, classes: NDArray[Any]) -> None:
    """Reject weights that omit classes and name unknown labels, most likely by mistake."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    missing = [label for label in labels if label not in class_weight]
    if unknown and missing:
        raise ValueError(
            f"The classes {missing} are not in class_weight, which has weights for {unknown}; the "
            f"classes are {labels}."
        )


def weigh_classes(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[Any], sample_weight: FloatArray
) -> FloatArray:
    """One positive weight per class; rows are counted by their sample weight."""
    if class_weight is None:
        return np.ones(len(classes))
    weights = np.ones(len(classes))
    if isinstance(class_weight, str):
        counts = np.bincount(codes.astype(np.intp), weights=sample_weight, minlength=len(classes))
        is_used = counts > 0.0  # an update may leave a class without rows
        weights[is_used] = counts.sum() / (np.count_nonzero(is_used) * counts[is_used])
    else:
        check_labels_of(class_weight, classes)
        weights[:] = [class_weight.get(label, 1.0) for label in classes.tolist()]
    is_valid = np.isfinite(weights) & (weights > 0.0)
    if not is_valid.all():
        i = int(np.argmin(is_valid))
        raise ValueError(
            f"The class_weight of class {classes[i]} is {weights[i]}; it must be positive and "
            f"finite."
        )
    return weights


def is_clean(X: Any, *y: Any) -> bool:
    """Whether scikit-learn's checks, which take longer than a small fit, would leave both as they
    are, but for the layout of X and its conversion to double.

    Where it says no, they may still find nothing to object to. y, where it is given, is to be one
    array of numbers.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in PLAIN_TYPES:
        return False
    if any(type(own) is not np.ndarray or own.shape != X.shape[:1] for own in y):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        if not math.isfinite(np.add.reduce(X, axis=None)):
            return False
        return all(
            own.dtype.kind in "iu" or (own.dtype.kind == "f" and math.isfinite(np.add.reduce(own)))
            for own in y
        )


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Finite, nonnegative weights, one per row and not all zero; None means 1 for every row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, allow_all_zero_weights=False
    )
    if weights.min() < 0.0:
        i = int(np.argmax(weights < 0.0))
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]}; every weight must be zero (the row is left "
            f"out) or positive."
        )
    return weights
