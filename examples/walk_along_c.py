"""
Walk along C
============

Solve for growing C, each time from the last solution scaled to the new box.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from alphapath import Problem, Start, certify
from alphapath.kernels import KernelStore, Rbf
from alphapath.solvers import smo

X, labels = load_breast_cancer(return_X_y=True)
y = np.where(labels == 1, 1.0, -1.0)
kernel = KernelStore(minmax_scale(X, (-1.0, 1.0))).view(Rbf(gamma=0.1))

start, last = None, 1.0
for C in (1.0, 10.0, 100.0, 1000.0):
    problem = Problem.classification(kernel, y, np.full(len(y), C))
    if start is not None:
        start = Start(start.beta * (C / last), None)
    cold = smo.solve(problem)
    warm = smo.solve(problem, start)
    gap = certify(problem, warm.beta, warm.bias).duality_gap
    print(f"C={C:<6g} cold {cold.info.n_iter:5d}  warm {warm.info.n_iter:5d}  gap {gap:.2e}")
    start, last = warm.as_start(), C
