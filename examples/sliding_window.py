"""
A model on a moving window
==========================

Rows arrive ten at a time and the oldest ten are forgotten; the model is that of a fresh fit after
every step.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from alphapath import SVC

X, y = make_classification(900, 10, n_informative=5, flip_y=0.05, random_state=0)
model = SVC(C=10, gamma=0.1, window=600).partial_fit(X[:600], y[:600])
seconds, largest, scores = [], 0.0, []
for begin in range(600, 900, 10):
    new = slice(begin, begin + 10)
    scores.append(model.score(X[new], y[new]))  # before it has seen them
    clock = time.perf_counter()
    model.partial_fit(X[new], y[new])
    seconds.append(time.perf_counter() - clock)
    rows = slice(begin - 590, begin + 10)
    largest = max(largest, model.certify(X[rows], y[rows]).kkt_violation)
print(f"{len(seconds)} steps, {1000 * np.median(seconds):.1f} ms each")
print(f"largest KKT violation, recomputed from raw data: {largest:.1e}")

figure, axes = plt.subplots(2, 1, figsize=(6, 4), layout="constrained", sharex=True)
axes[0].step(range(600, 900, 10), scores, where="post")
axes[0].set(ylabel="accuracy on the next ten", ylim=(0, 1.05))
axes[1].plot(range(600, 900, 10), 1000 * np.array(seconds), ".-")
axes[1].set(xlabel="rows that have arrived", ylabel="ms a step", ylim=(0, None))
plt.show()
