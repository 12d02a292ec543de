"""`python -m alphapath`: train on embedded data, certify the answer, compare with scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from . import SVC, Status

C, GAMMA, TOL = 100.0, 0.5, 1e-3
N_TIMED_FITS = 15


def time_in_turn(*fits: Callable[[], Any]) -> list[float]:
    """Median seconds of each fit; they take turns, so that both see the same machine."""
    seconds: list[list[float]] = [[] for _ in fits]
    for _ in range(N_TIMED_FITS):
        for fit, own in zip(fits, seconds, strict=True):
            start = perf_counter()
            fit()
            own.append(perf_counter() - start)
    return [median(own) for own in seconds]


def main() -> int:
    """Print the table; 0 when the certificate holds and every label agrees."""
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X, (-1.0, 1.0))
    ours = SVC(C=C, gamma=GAMMA, tol=TOL).fit(X, y)
    theirs = sklearn.svm.SVC(C=C, gamma=GAMMA, tol=TOL).fit(X, y)
    certificate = ours.certify(X, y)
    n_equal = int(np.sum(ours.predict(X) == theirs.predict(X)))
    our_seconds, their_seconds = time_in_turn(
        lambda: SVC(C=C, gamma=GAMMA, tol=TOL).fit(X, y),
        lambda: sklearn.svm.SVC(C=C, gamma=GAMMA, tol=TOL).fit(X, y),
    )
    rows = [
        ("data", f"breast_cancer, {X.shape[0]} x {X.shape[1]}, scaled to [-1, 1]"),
        ("model", f"SVC(kernel='rbf', C={C:g}, gamma={GAMMA:g}, tol={TOL:g})"),
        ("status", Status(ours.fit_status_).name.lower()),
        ("iterations", f"{int(np.sum(ours.n_iter_))} (scikit-learn {int(np.sum(theirs.n_iter_))})"),
        ("support vectors", f"{certificate.n_support} (scikit-learn {len(theirs.support_)})"),
        ("training accuracy", f"{ours.score(X, y):.4f}"),
        ("equal labels", f"{n_equal} of {len(y)} are scikit-learn's"),
        ("seconds a fit", f"{our_seconds:.5f} (scikit-learn {their_seconds:.5f})"),
        ("time ratio", f"{their_seconds / our_seconds:.1f} x as fast as scikit-learn"),
    ]
    print("\n".join(f"{name:<18} {value}" for name, value in rows))
    print("\nCertificate, recomputed from the raw data outside the solver:")
    print(certificate)
    is_certified = certificate.is_optimal(TOL)
    print(f"\n{'Optimal' if is_certified else 'NOT optimal'} to a KKT violation of {TOL:g}.")
    return 0 if is_certified and n_equal == len(y) else 1


if __name__ == "__main__":
    sys.exit(main())
