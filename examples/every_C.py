"""
The error for every C
=====================

The exact cross-validation error over all C instead of a grid, and the coefficients of a linear SVM
along C.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from alphapath import SVC
from alphapath.report import CoefficientPathDisplay, ValidationPathDisplay

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target

curve = ValidationPathDisplay.from_estimator(SVC(gamma=0.01), X, y, cv=5, C_min=2**-3, C_max=2**10)
print("least error:", curve.best, "within one standard error:", curve.simplest)

# %%
# Coefficients of a linear SVM; the ticks below are the breakpoints, where the margin set changes.

lines = CoefficientPathDisplay.from_estimator(
    SVC(kernel="linear"),
    X[:, :10],
    y,
    C_min=0.01,
    C_max=100,
    feature_names=data.feature_names[:10],
)
print(lines.breakpoints.size, "breakpoints")

# %%
# With any other kernel the duals: rows at their bound are at 1 or -1, the margin set between.

CoefficientPathDisplay.from_estimator(SVC(gamma=0.02), X, y, C_min=0.1, C_max=1000)
