"""
Every weighting of pairs, and its NDCG
======================================

Patients of one age group are a query. Between equal weights of all pairs and weights by gain,
NDCG@10 on other groups is known for every t.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from alphapath import RankSVM
from alphapath.paths import rank_weight_path

X, y = load_diabetes(return_X_y=True)
qid = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0.0, 1.0, 13)[1:-1]))
relevance = np.digitize(y, [110.0, 200.0])
train, valid = qid < 8, qid >= 8

path = rank_weight_path(RankSVM(C=0.1), X[train], relevance[train], qid=qid[train])
curve = path.validate(X[valid], relevance[valid], qid[valid])
print(f"{path.problem.n} pairs, {path.n_pieces} pieces; best NDCG@10 {curve.best_value:.3f}")

_, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.5))
path.plot(ax=left)
curve.plot(ax=right)
plt.tight_layout()
