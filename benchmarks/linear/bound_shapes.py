"""What the shape of a bound on the change in the margin would spare, counted on one descent.

Each row keeps a reference of its own, as in lazy bounds, and is computed anew where the bound can
not say on which segment it is. The shapes differ in what bounds the change since then:

    sphere              |x| times the length of the path of w
    centre              that of the mean c exactly, and |x - c| times the path
    clusters            the same with the nearest of 64 centres
    plane               along the last two steps at the last rebuild exactly, |x| times the path
                        aside (bounds="lazy")
    plane and clusters  the path aside as in clusters (bounds="clusters" has 16 of them)

Counts only, by numpy: a shape must at least spare margins before it can spare time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.linear.data import load_linear

WIDTH = 0.01
N_CLUSTERS = 64
#: The paper's rule: a rebuild when as many margins as there are rows were computed beyond the best.
REBUILD = 1.0


def walk(X: Any, y: np.ndarray, lam: float, n_steps: int) -> Iterator[np.ndarray]:
    """theta at every step of the descent of the paper."""
    from alphapath import _core
    from alphapath.solvers.primal.rows import read_rows

    n = len(y)
    task = _core.MarginTask(read_rows(X), y, np.full(n, 1.0 / n), _core.MarginLoss.huber(WIDTH))
    sums = _core.MarginSums(task, "lazy")
    theta, step, last = np.zeros(X.shape[1] + 1), 100.0, np.inf
    for _ in range(n_steps):
        yield theta
        value, gradient = sums.evaluate(theta)
        value += 0.5 * lam * theta[:-1] @ theta[:-1]
        gradient[:-1] += lam * theta[:-1]
        step *= 0.5 if value > last else 1.0
        theta, last = theta - step * gradient, value


def nearest_centres(X: Any, n_clusters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, the one of each row, and how far it is from it; no clusters: the origin for all."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    if n_clusters == 0:
        return np.zeros((1, X.shape[1])), np.zeros(X.shape[0], dtype=int), np.sqrt(squares)
    if n_clusters == 1:
        centres = np.asarray(X.mean(axis=0)).reshape(1, -1)
    else:
        from sklearn.cluster import MiniBatchKMeans

        means = MiniBatchKMeans(n_clusters, n_init=1, random_state=0, batch_size=4096).fit(X)
        centres = means.cluster_centers_
    centres = centres.astype(np.float64)
    aside = squares[:, None] - 2.0 * (X @ centres.T) + np.square(centres).sum(axis=1)
    own = aside.argmin(axis=1)
    return centres, own, np.sqrt(np.maximum(aside[np.arange(X.shape[0]), own], 0.0))


class Shape:
    """Rows with references, under one shape; counts the margins it leaves to compute."""

    def __init__(self, X: Any, y: np.ndarray, n_clusters: int, has_plane: bool) -> None:
        self.X, self.y, self.has_plane = X, y, has_plane
        self.centres, self.own, self.radius = nearest_centres(X, n_clusters)
        n, d = X.shape
        self.slack = np.full(n, -np.inf)  # what is left at the reference, less what is known since
        self.side = np.ones(n)
        self.plane, self.along = np.zeros((2, d)), np.zeros((n, 2))
        self.steps, self.last = np.zeros((2, d)), np.zeros(d)
        self.path, self.run, self.aside, self.bias = 0.0, np.zeros(2), np.zeros(d), 0.0
        self.n_computed, self.excess, self.best = 0, 0.0, n

    def move(self, theta: np.ndarray, values: np.ndarray) -> None:
        """theta moved; `values` are the decision values there, looked at where no bound helps."""
        step = theta[:-1] - self.last
        self.steps = np.stack([step, self.steps[0]])
        self.last, self.bias = theta[:-1], theta[-1]
        run = self.plane @ step
        aside = step - run @ self.plane
        self.run, self.aside = self.run + run, self.aside + aside
        self.path += float(np.linalg.norm(aside))
        unproven = np.flatnonzero(self.slack + self.known() <= self.radius * self.path)
        self.best = min(self.best, unproven.size)
        self.excess += unproven.size - self.best
        if self.excess > REBUILD * self.y.size:
            self.rebuild()
            unproven = np.arange(self.y.size)
        self.n_computed += unproven.size
        self.refer(unproven, self.y[unproven] * values[unproven])

    def known(self) -> np.ndarray:
        """What is known of the change of every margin, counted away from its kink."""
        change = (self.centres @ self.aside)[self.own] + self.along @ self.run + self.bias
        return self.side * self.y * change

    def refer(self, rows: np.ndarray, m: np.ndarray) -> None:
        """New references for rows with these margins; the parabola has none."""
        is_flat, is_line = m > 1.0 + WIDTH, m < 1.0 - WIDTH
        self.side[rows] = np.where(is_line, -1.0, 1.0)
        distance = np.where(is_flat, m - 1.0 - WIDTH, np.where(is_line, 1.0 - WIDTH - m, -np.inf))
        self.slack[rows] = distance + self.radius[rows] * self.path - self.known()[rows]

    def rebuild(self) -> None:
        self.excess, self.best = 0.0, self.y.size
        self.path, self.run, self.aside = 0.0, np.zeros(2), np.zeros(self.last.size)
        if self.has_plane:
            self.plane = np.linalg.qr(self.steps.T)[0].T
            self.along = np.asarray(self.X @ self.plane.T)


def count_all(name: str, folder: str, lam: float, n_steps: int) -> list[dict[str, Any]]:
    """Job: the share of margins that every shape leaves to compute on one data set."""
    X, y = load_linear(name, folder, "float64")
    shapes = {
        "sphere": Shape(X, y, 0, False),
        "centre": Shape(X, y, 1, False),
        "clusters": Shape(X, y, N_CLUSTERS, False),
        "plane": Shape(X, y, 0, True),
        "plane and clusters": Shape(X, y, N_CLUSTERS, True),
    }
    for theta in walk(X, y, lam, n_steps):
        values = X @ theta[:-1] + theta[-1]
        for shape in shapes.values():
            shape.move(theta, values)
    return [
        {
            "data": name,
            "what": f"bound: {title}",
            "setting": f"{n_steps} iterations",
            "examined": shape.n_computed / (n_steps * y.size),
        }
        for title, shape in shapes.items()
    ]
