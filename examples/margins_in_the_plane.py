"""
Margins in the plane
====================

What a larger C does: fewer rows inside the margin, and a boundary that follows single rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from alphapath import SVC
from alphapath.report import MarginDisplay

X, y = make_moons(120, noise=0.25, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, C in zip(axes, (1.0, 1000.0), strict=True):
    model = SVC(C=C, gamma=1.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"C = {C:g}: {int(display.is_inside.sum())} of {len(y)} rows at their bound")
    print(C, len(model.support_), "support vectors")
