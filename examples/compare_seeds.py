"""
What a seed saves
=================

Ten folds of one SVM, every fold begun in every way: iterations and seconds of the seeds beside
those of a cold start. The scores are the same, as they must be.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from alphapath import SVC
from alphapath.model_selection import cross_validate
from alphapath.seeds import SEEDS

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained", sharey=True)
for C, ax in zip((1.0, 100.0), axes, strict=True):
    print(f"C = {C:g}")
    ax.set(title=f"C = {C:g}", xlabel="iterations of ten folds")
    for seeding in ("none", *SEEDS, "decremental", "auto"):
        if seeding in ("zero", "keep", "scale"):  # for another C, not for folds
            continue
        folds = cross_validate(SVC(C=C, gamma=0.02), X, y, cv=10, seeding=seeding)
        seconds = folds["seed_time"].sum() + folds["solve_time"].sum()
        print(
            f"  {seeding:11} score {folds['test_score'].mean():.4f}  "
            f"iterations {folds['n_iter'].sum():5d}  {1000 * seconds:6.1f} ms"
        )
        ax.barh(seeding, folds["n_iter"].sum(), color="gray" if seeding == "none" else "tab:blue")
axes[0].invert_yaxis()
plt.show()
