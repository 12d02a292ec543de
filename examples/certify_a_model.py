"""
Certify a model
===============

Fit, then check the answer without trusting the solver.
"""

from sklearn.datasets import load_diabetes

from alphapath import SVR

X, y = load_diabetes(return_X_y=True, scaled=True)
model = SVR(C=100.0, gamma=5.0, epsilon=5.0).fit(X, y)

certificate = model.certify(X, y)
print(certificate)
print("optimal to 1e-3:", certificate.is_optimal(1e-3))
