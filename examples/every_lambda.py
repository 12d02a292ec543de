"""
The error for every lambda
==========================

The exact error curve over lambda, its minimum, and the model chosen by it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from alphapath import QuadraticLossSVC
from alphapath.model_selection import cross_validate_path
from alphapath.report import ValidationPathDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

model = QuadraticLossSVC(loss="modified_huber", gamma=0.02)
result = cross_validate_path(model, X_train, y_train, cv=5, lam_to=1e-3)
low, high = result.curve.starts[0], result.curve.end
print(f"{sum(result.n_events)} set changes between lambda = {high:.3g} and {low:.3g}")
ValidationPathDisplay.from_cross_validation(result)
plt.show()
print(f"least error {result.best_score:.4f}, taken on {result.curve.best_ranges}")

model.set_params(lam=result.best_lam).fit(X_train, y_train)
print(f"lambda = {result.best_lam:.4g}, test accuracy {model.score(X_test, y_test):.4f}")
print(model.certify(X_train, y_train))
