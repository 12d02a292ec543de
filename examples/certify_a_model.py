"""Fit, then check the answer without trusting the solver."""

import numpy as np
from sklearn.datasets import load_diabetes

from alphapath import SVR, certify

X, y = load_diabetes(return_X_y=True, scaled=True)
model = SVR(C=100.0, gamma=5.0, epsilon=5.0).fit(X, y)

beta = np.zeros(len(y))
beta[model.support_] = model.dual_coef_[0]
certificate = certify(model.to_problem(X, y), beta, float(model.intercept_[0]))
print(certificate)
print("optimal to 1e-3:", certificate.is_optimal(1e-3))
