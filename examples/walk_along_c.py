"""
Walk along C
============

Solve for growing C, each time from the last solution scaled to the new box.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from alphapath import Problem, certify
from alphapath.kernels import KernelStore, Rbf
from alphapath.seeds import SEEDS
from alphapath.solvers import smo

X, labels = load_breast_cancer(return_X_y=True)
y = np.where(labels == 1, 1.0, -1.0)
kernel = KernelStore(minmax_scale(X, (-1.0, 1.0))).view(Rbf(gamma=0.01))

values, counts = 4.0 ** np.arange(6), []
parent = None
for C in values:
    problem = Problem.classification(kernel, y, np.full(len(y), C))
    cold = smo.solve(problem)
    warm = cold if parent is None else smo.solve(problem, SEEDS["scale"](parent, problem))
    gap = certify(problem, warm.beta, warm.bias).duality_gap
    print(f"C={C:<6g} cold {cold.info.n_iter:5d}  warm {warm.info.n_iter:5d}  gap {gap:.2e}")
    counts.append((cold.info.n_iter, warm.info.n_iter))
    parent = warm

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(values, counts, "o-", label=["from zero", "from the last C"])
ax.set(xscale="log", xlabel="C", ylabel="iterations", ylim=(0, None))
ax.legend()
plt.show()
