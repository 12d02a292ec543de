"""G = A H^-1 A': how decision values answer to a pull at an instance, without the inverse of H.

Given: the optimum with its Hessian weights D. Offered: blocks of G between any instances, and, for
features that are to be forced to 0, between these and instances.

Feature space: H = LL', Z = L^-1 A', G = Z'Z.
Instance space: with B = D_S^-1 + K_SS on the active set S and T = K[:, S] B^-1, G = K - T K[S, :].
A column s of S is T[:, s] / D_s, and G_ss - 1/D_s = -(B^-1)_ss / D_s^2, which is how the diagonal
of a removal keeps all its digits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotri, dtrtri

from ...problem.box_problem import FloatArray
from .design_rows import DesignRows, Indices
from .feature_hessian import FeatureHessian
from .instance_hessian import InstanceHessian
from .strategy import KINDS, ChosenHessian, find_smaller


class Answers(Protocol):
    """Blocks of G. `removal` is G_ii - 1/D_i where D_i > 0, to full precision."""

    squared_norms: FloatArray  # G_ii
    removal: FloatArray

    def block(self, rows: Indices, columns: Indices) -> FloatArray: ...

    def feature_facts(self, features: Indices) -> tuple[FloatArray, FloatArray]:
        """G_ee of the features, and G_ie with the instance of the same number."""

    def feature_block(self, features: Indices, columns: Indices) -> FloatArray: ...


class FeatureAnswers:
    """G from the factor of H, d x d."""

    def __init__(self, rows: DesignRows, weights: FloatArray, hessian: FeatureHessian) -> None:
        self.factor = hessian.factor_at(weights)
        self.Z: FloatArray = dtrsm(
            1.0, self.factor, rows.take(np.arange(rows.n)).T, lower=1
        ).T  # n x d
        self.squared_norms = np.einsum("ij,ij->i", self.Z, self.Z)
        active = np.flatnonzero(weights)
        self.removal = np.zeros(rows.n)
        self.removal[active] = self.squared_norms[active] - 1.0 / weights[active]
        self.inverse_factor: FloatArray | None = None

    def block(self, rows: Indices, columns: Indices) -> FloatArray:
        left = self.Z[rows]
        # With one array on both sides numpy does half the work.
        return np.asarray(left @ (left if rows is columns else self.Z[columns]).T)

    def _columns(self, features: Indices) -> FloatArray:
        """L^-1 e for each feature, one a row."""
        if self.inverse_factor is None:
            inverse, _ = dtrtri(self.factor, lower=1)
            self.inverse_factor = np.tril(inverse)
        return self.inverse_factor.T[features]

    def feature_facts(self, features: Indices) -> tuple[FloatArray, FloatArray]:
        own = self._columns(features)
        return np.einsum("ij,ij->i", own, own), np.einsum("ij,ij->i", own, self.Z[features])

    def feature_block(self, features: Indices, columns: Indices) -> FloatArray:
        return np.asarray(self._columns(features) @ self.Z[columns].T)


class InstanceAnswers:
    """G from the inverse on the active set S."""

    def __init__(self, rows: DesignRows, weights: FloatArray, hessian: InstanceHessian) -> None:
        self.rows = rows
        self.active, factor = hessian.factor_at(weights)
        n_active = self.active.size
        D = weights[self.active]
        lower = dpotri(factor, lower=1)[0] if n_active else factor  # LAPACK complains of nothing
        inverse = np.tril(lower) + np.tril(lower, -1).T  # B^-1
        self.inverse = inverse
        self.K_nS = rows.products(rows.X, rows.gather(self.active))
        self.T = self.K_nS @ inverse
        self.T[self.active] = -inverse / D[:, np.newaxis]
        self.T[self.active, np.arange(n_active)] += 1.0
        self.D = D
        self.place = np.full(rows.n, -1)
        self.place[self.active] = np.arange(n_active)
        own = rows.squared_norms()
        rest = own - np.einsum("ij,ij->i", self.T, self.K_nS)
        # Rounding may leave nothing of a norm that is small beside |a|^2; it then counts as that.
        norms = np.maximum(rest, 1e-14 * own)
        diagonal = np.diagonal(inverse)
        norms[self.active] = np.maximum(1.0 - diagonal / D, 1e-14) / D
        self.squared_norms = norms
        self.removal = np.zeros(rows.n)
        self.removal[self.active] = -diagonal / D**2

    def block(self, rows: Indices, columns: Indices) -> FloatArray:
        place = self.place[columns]
        is_active = place >= 0
        G = np.empty((rows.size, columns.size))
        inside = place[is_active]
        G[:, is_active] = self.T[rows][:, inside] / self.D[inside]
        others = columns[~is_active]
        if others.size == 0:
            return G
        row_place = self.place[rows]
        by_active = np.flatnonzero(row_place >= 0)
        part = np.empty((rows.size, others.size))
        inside = row_place[by_active]
        part[by_active] = self.T[others][:, inside].T / self.D[inside, np.newaxis]
        rest = np.flatnonzero(row_place < 0)
        if rest.size:
            free = rows[rest]
            left = self.rows.gather(free)
            # With one array on both sides numpy does half the work.
            right = left if rows is columns else self.rows.gather(others)
            part[rest] = self.rows.products(left, right)
            part[rest] -= self.T[free] @ self.K_nS[others].T
        G[:, ~is_active] = part
        return G

    def feature_facts(self, features: Indices) -> tuple[FloatArray, FloatArray]:
        A_S = self.rows.X[self.active][:, features]  # l x m
        own = 1.0 - np.einsum("ij,ij->j", A_S, self.inverse @ A_S)
        G_ie = self.rows.X[features, features] - np.einsum("ij,ji->i", self.T[features], A_S)
        place = self.place[features]
        inside = np.flatnonzero(place >= 0)
        for i in inside:  # a column of S, to full precision
            G_ie[i] = (A_S[:, i] @ self.inverse[:, place[i]]) / self.D[place[i]]
        return own, G_ie

    def feature_block(self, features: Indices, columns: Indices) -> FloatArray:
        A_S = self.rows.X[self.active][:, features]
        G = self.rows.X[columns][:, features].T - A_S.T @ self.T[columns].T
        place = self.place[columns]
        inside = np.flatnonzero(place >= 0)
        G[:, inside] = (A_S.T @ self.inverse[:, place[inside]]) / self.D[place[inside]]
        return np.ascontiguousarray(G)


def make_answers(
    rows: DesignRows, weights: FloatArray, hessian: ChosenHessian, strategy: str
) -> Answers:
    """G by the strategy named, or by the cheaper one for "auto"."""
    kind = KINDS.get(strategy) or find_smaller(rows, weights)
    if kind is None:
        n, d = float(rows.n), float(rows.n_kept)
        size = float(np.count_nonzero(weights))
        feature, instance = hessian.find(FeatureHessian, rows), hessian.find(InstanceHessian, rows)
        by_feature = feature.predict_cost(weights) + n * d * d
        by_instance = instance.predict_cost(weights) + size**3 + 2.0 * n * size * (d + size)
        kind = FeatureHessian if by_feature <= by_instance else InstanceHessian
    if kind is FeatureHessian:
        return FeatureAnswers(rows, weights, hessian.find(FeatureHessian, rows))
    return InstanceAnswers(rows, weights, hessian.find(InstanceHessian, rows))
