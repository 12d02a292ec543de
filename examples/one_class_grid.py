"""
A grid for one class, along a tree
==================================

A grid of C and kernel widths for one class, walked along a tree of solutions;
``python examples/one_class_grid.py tree.png`` draws the tree.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import make_moons

from alphapath import OneClassMaxMinOver
from alphapath.model_selection import OneClassSearch
from alphapath.report import GapDisplay, GridTreeDisplay

X, y = make_moons(300, noise=0.15, random_state=0)
X /= np.linalg.norm(X[y == 0], axis=1).mean()
inliers, outliers = X[y == 0], X[y == 1]
train, held_out = inliers[:100], inliers[100:]
validation = (np.vstack([held_out, outliers]), np.repeat([1, -1], [len(held_out), len(outliers)]))

grid = {"C": np.geomspace(1, 1e5, 10), "sigma": np.geomspace(0.1, 5, 10)}
for plan in ("independent", "heuristic", "learned", "arborescence"):
    model = OneClassMaxMinOver(solver="maxminover")
    search = OneClassSearch(model, grid, plan=plan, scoring="roc_auc")
    search.fit(train, validation=validation)
    gap = max(search.estimator_at(k).certify(train).relative_gap for k in range(100))
    print(
        f"{plan:13} {search.n_iter_:9,} iterations, largest gap {gap:.2e}, "
        f"best {search.best_params_}"
    )

# %%
# The tree that was walked: arrows lead from a solution to those begun from it.

display = GridTreeDisplay.from_estimator(search)
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1])

# %%
# The feasibility gap of one fit of MaxMinOver over its steps.

GapDisplay.from_estimator(OneClassMaxMinOver(C=100, sigma=0.5, solver="maxminover").fit(train))
