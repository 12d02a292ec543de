"""
Search C and gamma, then choose
===============================

The grid of LIBSVM's guide on breast cancer, 550 SVMs, and the simplest model that is as good as the
best as far as five folds can tell.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC
from alphapath.model_selection import SVMSearchCV, one_standard_error
from alphapath.report import SearchDisplay

X, y = load_breast_cancer(return_X_y=True)
grid = {
    "svc__C": [2.0**k for k in range(-5, 16, 2)],
    "svc__gamma": [2.0**k for k in range(-15, 4, 2)],
}
search = SVMSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5, refit=one_standard_error)
search.fit(X, y)
print(search.best_params_)
print(
    search.cv_results_["n_iter"].sum(),
    "iterations for",
    5 * len(search.cv_results_["params"]),
    "SVMs",
)

# %%
# A star marks the best cell, a ring the choice; the line encloses all within one standard error.

display = SearchDisplay.from_estimator(search)
