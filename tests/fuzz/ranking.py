"""RankSVM and its paths against the dual over all pairs, written out from raw data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import c_paths, data, fits, models, quality
from .cases import CaseError, Skip
from .data import FloatArray, Generator, Rows
from .quality import Dual, LongArray

IntArray = NDArray[np.int64]

#: Scores of a query that differ by no more than this share of the largest are equal, as the
#: documentation of `ndcg` has it; rounding may decide otherwise of differences not far above it.
TIE_SHARE, TIE_ROOM = 1e-9, 100.0
#: What sums of a few hundred products of gains and discounts are rounded to; curves to 12 digits.
SAME_NDCG = 1e-10


@dataclass(frozen=True)
class Case:
    """Rows with relevance, query and weight; `queries` are the labels whatever is passed."""

    rows: Rows
    relevance: FloatArray
    queries: IntArray
    told: dict[str, Any]  # how the queries are told to the library
    pair_weights: str
    k: int | None

    def pairs(self) -> IntArray:
        """(better, worse) rows of positive weight, in any order."""
        y, used = self.relevance, self.rows.unit_weights > 0.0
        is_pair = (self.queries[:, None] == self.queries) & (y[:, None] > y)
        return np.argwhere(is_pair & used[:, None] & used)

    def weigh(self, pairs: IntArray, kind: str, C: float) -> FloatArray:
        better, worse = pairs.T
        w = self.rows.unit_weights
        c = C * w[better] * w[worse]
        if kind == "gain":
            c = c * (2.0 ** self.relevance[better] - 2.0 ** self.relevance[worse])
        return np.asarray(c)


def run_case(seed: int) -> str | None:
    rng = data.generator("ranking", seed)
    case = make_case(rng)
    kind = data.pick(rng, [check_fit, check_weight_path, check_c_path], [4, 2, 2])
    return kind(rng, case)


# -- cases


def make_case(rng: Generator) -> Case:
    rows = data.make_set(rng, "numbers", n=(3, 24))
    n_levels = int(rng.integers(2, 6))
    if rng.random() < 0.6:  # by the targets, which depend on the features
        order = np.argsort(np.argsort(rows.y, kind="stable"), kind="stable")
        relevance = np.floor(order * n_levels / rows.n)
    else:
        relevance = rng.integers(n_levels, size=rows.n).astype(float)
    if rng.random() < 0.1:
        relevance = relevance * 0.5 - 1.0
    n_queries = int(data.pick(rng, [1, 2, 4, rows.n], [3, 3, 2, 1]))
    queries = rng.integers(n_queries, size=rows.n)
    told: dict[str, Any] = {}
    if rng.random() < 0.3:
        queries = np.sort(queries)
        told["group"] = np.unique(queries, return_counts=True)[1].tolist()
    elif queries.any() or rng.random() < 0.5:
        words = np.array([f"q{k}" for k in range(n_queries)])
        names = data.pick(rng, [np.arange(n_queries) * 3 - 1, words])
        told["qid"] = names[queries]
    k = data.pick(rng, [10, 1, 3, None])
    return Case(rows, relevance, queries, told, data.pick(rng, ["uniform", "gain"]), k)


def make_model(case: Case, **changes: Any) -> Any:
    from alphapath import RankSVM

    options = {"C": case.rows.C, "tol": case.rows.tol, "pair_weights": case.pair_weights}
    return RankSVM(k=case.k, **{**options, **changes}, **case.rows.kernel.parameters)


def attempt(call: Any) -> Any:
    """What the call returns; a refusal in a sentence skips the case."""
    try:
        return call()
    except Exception as error:
        models.refuse(error)


# -- the dual over pairs


def pair_dual(case: Case, pairs: IntArray, weights: FloatArray) -> tuple[Dual, LongArray]:
    """(the dual, K on the rows).

    A slope is a difference of scores, and these are sums over rows of alpha K, where alpha of a row
    is a sum over its pairs: four kernel values between rows round for each beta, however small the
    kernel between pairs is that they leave.
    """
    K, error = models.raw_gram(case.rows)
    if not np.isfinite(K.astype(float)).all():
        raise CaseError("a model was fitted on kernel values that are not finite")
    centred = K
    if case.rows.kernel.name == "linear":  # differences do not see the mean
        used = case.rows.unit_weights > 0.0
        about = case.rows.values.astype(np.longdouble)
        about = about - about[used].mean(axis=0)
        centred = about @ about.T
    better, worse = pairs.T
    K_pairs = K[better] - K[worse]
    K_pairs = K_pairs[:, better] - K_pairs[:, worse]
    coarse = 4.0 * error * float(np.abs(centred).max())
    ones = np.ones(len(pairs))
    dual = Dual(K_pairs, ones, 0.0 * ones, weights, total=None, error=error, coarse=coarse)
    # Descent over pairs may come to a stop anywhere where a kernel is ill conditioned.
    return replace(dual, made_of=np.inf), K


def order_pairs(case: Case, model: Any) -> IntArray:
    """The pairs in the order of the library, which are those that there must be."""
    used = np.flatnonzero(case.rows.unit_weights > 0.0)
    labels = np.asarray(case.told.get("qid", case.queries))
    found = used[model.pairs_of(case.relevance[used], labels[used])]
    expected = case.pairs()
    if len(found) != len(expected) or set(map(tuple, found)) != set(map(tuple, expected)):
        raise CaseError("pairs_of has other pairs than relevance and queries make")
    return found


# -- fits


def check_fit(rng: Generator, case: Case) -> str | None:
    rows, model = case.rows, make_model(case)
    weights = {} if rows.weights is None else {"sample_weight": rows.weights}
    attempt(lambda: model.fit(rows.X, case.relevance, **case.told, **weights))
    pairs = order_pairs(case, model)
    if model.n_pairs_ != len(pairs):
        raise CaseError(f"n_pairs_ is {model.n_pairs_}, there are {len(pairs)}")
    dual, K = pair_dual(case, pairs, case.weigh(pairs, case.pair_weights, rows.C))
    beta = np.asarray(model.pair_coef_)
    found = fits.judge(model, rows, dual, beta, 0.0, 0)
    room = score_rounding(case, K, beta)
    certificate = model.certify(rows.X, case.relevance, **case.told, **weights)
    # It is made of rows as they are given, about no mean.
    fits.compare_certificate(certificate, replace(found, floor=found.floor + 2.0 * room))
    fits.check_info(model, 0, found)
    scores = check_scores(case, model.decision_function(rows.X), K, pairs, beta)
    if not rows.unit_weights.all():
        return None
    score = model.score(rows.X, case.relevance, **case.told)
    expected = ndcg_by_hand(case.relevance, scores, case.queries, case.k)
    if abs(score - expected) > SAME_NDCG:
        raise CaseError(f"the score is {score:.12g}, by hand {expected:.12g}")
    return None


def check_scores(
    case: Case, scores: Any, K: LongArray, pairs: IntArray, beta: FloatArray
) -> FloatArray:
    """Scores are K alpha, where rows sum up their pairs."""
    alpha = np.zeros(case.rows.n, dtype=np.longdouble)
    np.add.at(alpha, pairs[:, 0], beta)
    np.add.at(alpha, pairs[:, 1], -beta)
    room = score_rounding(case, K, beta)
    models.check_agrees(scores, (K @ alpha).astype(float), room, "scores")
    return np.asarray(scores)


def score_rounding(case: Case, K: LongArray, beta: FloatArray) -> float:
    """Each alpha is a sum over its pairs, and K is that of rows that are not centred here."""
    _, error = models.raw_gram(case.rows)
    size = 2.0 * float(np.abs(beta).sum()) * float(np.abs(K).max())
    return quality.ULPS * quality.EPS * (error + 2.0) * size


# -- NDCG


def ndcg_by_hand(
    relevance: FloatArray, scores: FloatArray, queries: IntArray, k: int | None
) -> float:
    """The mean over queries: equal scores share their mean gain; no relevant row counts as 0."""
    values = []
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query).tolist()
        gain = {i: 2.0 ** float(relevance[i]) - 1.0 for i in rows}
        cut = len(rows) if k is None else k
        discounts = [1.0 / np.log2(p + 2.0) if p < cut else 0.0 for p in range(len(rows))]
        best = sum(
            g * d for g, d in zip(sorted(gain.values(), reverse=True), discounts, strict=True)
        )
        width = TIE_SHARE * max(abs(float(scores[i])) for i in rows)
        falling = sorted(rows, key=lambda i: -float(scores[i]))
        ties: list[list[int]] = []
        for i in falling:
            if ties and float(scores[ties[-1][-1]]) - float(scores[i]) <= width:
                ties[-1].append(i)
            else:
                ties.append([i])
        total, place = 0.0, 0
        for tie in ties:
            mean = sum(gain[i] for i in tie) / len(tie)
            total += mean * sum(discounts[place : place + len(tie)])
            place += len(tie)
        values.append(total / best if best > 0.0 else 0.0)
    return float(np.mean(values))


def is_order_sure(case: Case, scores: FloatArray, room: float) -> bool:
    """Whether no two rows of a query, if not equal, are so near that rounding tells who ties."""
    ids = np.unique(case.rows.values, axis=0, return_inverse=True)[1].ravel()
    for query in np.unique(case.queries):
        rows = np.flatnonzero(case.queries == query)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        gaps, is_other = np.diff(scores[rows]), np.diff(ids[rows]) != 0
        width = TIE_SHARE * float(np.abs(scores[rows]).max())
        near = is_other & (gaps < max(TIE_ROOM * width, 4.0 * room))
        if near.any():
            return False
    return True


# -- paths


def check_weight_path(rng: Generator, case: Case) -> str | None:
    from alphapath.paths import rank_weight_path

    case, model = plain(rng, case)
    pairs = order_pairs(case, model)
    ends = []
    for _ in range(2):
        kind = data.pick(rng, ["uniform", "gain", "any"])
        C = float(model.C)
        if kind == "any":
            own = C * 10.0 ** rng.uniform(-2, 2, len(pairs))
            own[rng.random(len(pairs)) < 0.2] = 0.0
            ends.append((own, own))
        else:
            ends.append((kind, case.weigh(pairs, kind, C)))
    (c_old, old), (c_new, new) = ends
    path = attempt(
        lambda: rank_weight_path(
            model, case.rows.X, case.relevance, **case.told, c_old=c_old, c_new=c_new
        )
    )
    points = np.concatenate([rng.uniform(0, 1, 4), rng.choice(path.breakpoints_, 2), [0.0, 1.0]])
    for t in points:
        dual, _ = pair_dual(case, pairs, np.maximum(old + t * (new - old), 0.0))
        c_paths.check_point(path, dual, float(t))
    return check_curve(rng, case, path)


def check_c_path(rng: Generator, case: Case) -> str | None:
    from alphapath.paths import rank_c_path

    case, model = plain(rng, case)
    pairs = order_pairs(case, model)
    C_min = data.power(rng, -4, 2)
    C_max = C_min * data.power(rng, 0.5, 4)
    path = attempt(
        lambda: rank_c_path(model, case.rows.X, case.relevance, C_min, C_max, **case.told)
    )
    for C in c_paths.choose_points(rng, path):
        dual, _ = pair_dual(case, pairs, case.weigh(pairs, case.pair_weights, float(C)))
        c_paths.check_point(path, dual, float(C))
    return check_curve(rng, case, path)


def plain(rng: Generator, case: Case) -> tuple[Case, Any]:
    """Without weights of rows, which paths do not take, and with a moderate C."""
    if not case.rows.kernel.is_convex:
        raise Skip("paths are for kernels that are positive semi-definite.")
    rows = case.rows
    rows = Rows(rows.X, rows.values, rows.y, None, rows.kernel, float(np.clip(rows.C, 1e-3, 1e3)))
    case = Case(rows, case.relevance, case.queries, case.told, case.pair_weights, case.k)
    if case.pairs().size == 0:
        raise Skip("there is no pair to rank.")
    return case, make_model(case)


def check_curve(rng: Generator, case: Case, path: Any) -> str | None:
    """NDCG over t is that of the scores at t, but where rounding decides which of two is higher."""
    X = case.rows.X
    K, _ = models.raw_gram(case.rows)
    curve = path.validate(X, case.relevance, **case.told, k=case.k)
    for t in rng.uniform(path.start, path.end, 4):
        if any(low <= t <= high for low, high in path.gaps):
            continue
        if np.abs(curve.starts - t).min() <= 1e-6 * abs(t):
            continue
        scores = path.decision_function(X, float(t))
        if not is_order_sure(case, scores, score_rounding(case, K, path.beta_at(float(t)))):
            continue
        expected = ndcg_by_hand(case.relevance, scores, case.queries, case.k)
        found = float(curve(float(t)))
        if abs(found - expected) > SAME_NDCG:
            raise CaseError(
                f"NDCG at {path.name} = {t:.10g}: {found:.12g}, by hand {expected:.12g}"
            )
    return None
