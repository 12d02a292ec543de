"""Settings that must be made before the libraries are imported."""

from __future__ import annotations

import os

# scikit-learn's estimator checks leave out array-API input without it.
os.environ["SCIPY_ARRAY_API"] = "1"
