"""Import and export of models: scikit-learn estimators and LIBSVM model files."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ...errors import ModelFileError
from ...kernels.base import libsvm_kernels
from . import libsvm_file, libsvm_model, sklearn_bridge
from .libsvm_file import ModelTarget


class ModelExchange:
    """Methods that export and import a fitted model."""

    def as_sklearn(self) -> Any:
        """Return the equivalent fitted scikit-learn estimator, with the same predictions.

        Examples
        --------
        >>> SVC().fit(X, y).as_sklearn().predict(X)                  # doctest: +SKIP
        """
        check_is_fitted(self, "dual_coef_")
        return sklearn_bridge.to_sklearn(self)

    @classmethod
    def from_sklearn(cls, estimator: Any) -> Self:
        """Return an estimator with the parameters (and the model, if fitted) of scikit-learn's.

        Parameters without meaning here are dropped: shrinking, cache_size, verbose, random_state.

        Examples
        --------
        >>> SVC.from_sklearn(sklearn.svm.SVC(C=10, cache_size=500))  # doctest: +SKIP
        SVC(C=10)
        """
        own = cls()
        sklearn_bridge.from_sklearn(own, estimator)
        return own

    def save_libsvm(self, path: ModelTarget) -> None:
        """Write the model as a LIBSVM model file; class labels must be integers.

        Examples
        --------
        >>> SVC().fit(X, y).save_libsvm("model.txt")                 # doctest: +SKIP
        """
        check_is_fitted(self, "dual_coef_")
        libsvm_file.write_model(libsvm_model.to_libsvm(self), path)

    @classmethod
    def load_libsvm(cls, path: str | PathLike[str], *, n_features: int | None = None) -> Self:
        """Read a LIBSVM model file; a damaged file raises ModelFileError.

        The file does not record the number of features (for a precomputed kernel, of training
        samples) nor C, epsilon or nu. Pass `n_features` if the last features may be zero in all
        support vectors; the other parameters keep their defaults.

        Examples
        --------
        >>> SVC.load_libsvm("model.txt", n_features=13)              # doctest: +SKIP
        """
        model = libsvm_file.read_model(path)
        wanted = cls._declaration.libsvm.name  # type: ignore[attr-defined]
        if model.svm_type != wanted:
            raise ModelFileError(
                f"{path}: svm_type is {model.svm_type}; {cls.__name__} reads {wanted}."
            )
        return cls._from_libsvm(model, n_features)

    @classmethod
    def _from_libsvm(cls, model: libsvm_file.LibsvmModel, n_features: int | None) -> Self:
        """The estimator of a model file's content, which is of its type."""
        names = {theirs.name: ours for ours, theirs in libsvm_kernels().items()}
        parameters: dict[str, Any] = {"kernel": names[model.kernel_type]}
        for name in libsvm_file.KERNEL_NUMBERS[model.kernel_type]:
            parameters[name] = getattr(model, name)
        estimator = cls(**parameters)
        libsvm_model.set_from_libsvm(estimator, model, n_features)
        return estimator
