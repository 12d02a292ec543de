"""
Four labels and 357 rows without
================================

Ones and sevens from scikit-learn's digits, two labels of each: the unlabelled rows help.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from alphapath import SVC, TransductiveSVC

X, digit = load_digits(return_X_y=True)
is_chosen = (digit == 1) | (digit == 7)
X, y = X[is_chosen] / 16.0, (digit[is_chosen] == 7).astype(int)
labels = np.full(len(y), -1)
known = [*np.flatnonzero(y == 0)[:2], *np.flatnonzero(y == 1)[:2]]
labels[known] = y[known]

plain = SVC(C=10, gamma=0.05).fit(X[known], y[known])
model = TransductiveSVC(C=10, C_unlabelled=1, gamma=0.05).fit(X, labels)
print(f"four labels alone {plain.score(X, y):.3f}")
print(f"with {np.sum(labels == -1)} rows without a label {np.mean(model.transduction_ == y):.3f}")

# The rows that four labels alone get wrong.
wrong = np.flatnonzero(plain.predict(X) != y)[:8]
figure, axes = plt.subplots(1, len(wrong), figsize=(9, 1.9), layout="constrained", squeeze=False)
for k, ax in zip(wrong, axes[0], strict=True):
    ax.imshow(X[k].reshape(8, 8), cmap="gray_r")
    alone, both = (7 if one else 1 for one in (plain.predict(X[[k]])[0], model.transduction_[k]))
    ax.set_title(f"{alone}, then {both}", fontsize=10)
    ax.axis("off")
plt.show()
