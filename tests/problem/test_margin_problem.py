"""MarginProblem and its certificate: losses, slopes, moves, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath.errors import InfeasibleStart, InvalidProblem
from alphapath.problem import MarginProblem, certify_margin
from alphapath.problem.margin_problem import LOSSES, MARGIN_LOSSES, OFFSETS
from alphapath.solvers.primal import dual_descent as margin_dual
from alphapath.solvers.primal import gradient, pegasos
from alphapath.solvers.primal import newton as margin_newton
from alphapath.solvers.primal.gap import measure_point
from alphapath.solvers.primal.rows import read_rows

WIDTHS = {"huber": 0.3, "squared_epsilon_insensitive": 0.2}


def make(loss="squared_hinge", **changes):
    rng = np.random.default_rng(0)
    options = {
        "X": rng.normal(size=(30, 4)),
        "targets": np.sign(rng.normal(size=30)),
        "weights": rng.uniform(0.1, 2.0, size=30),
        "loss": loss,
        "width": WIDTHS.get(loss, 0.0),
    }
    return MarginProblem(**{**options, **changes})


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_those_of_the_losses(loss):
    problem = make(loss)
    values = np.random.default_rng(1).normal(size=30) * 2.0
    step = 1e-6
    slopes = (problem.losses(values + step) - problem.losses(values - step)) / (2.0 * step)
    np.testing.assert_allclose(problem.slopes(values), slopes, atol=1e-5)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", ["huber", "squared_hinge", "squared_epsilon_insensitive"])
def test_the_certificate_has_the_gradient_of_its_objective(loss, offset):
    problem = make(loss, offset=offset)
    rng = np.random.default_rng(2)
    w, b = rng.normal(size=4), 0.0 if offset == "none" else 0.4

    def objective(w, b):
        return certify_margin(problem, w, b).objective

    step = 1e-6
    slopes = [(objective(w + step * e, b) - objective(w - step * e, b)) / 2e-6 for e in np.eye(4)]
    if offset != "none":
        slopes.append((objective(w, b + step) - objective(w, b - step)) / 2e-6)
    certificate = certify_margin(problem, w, b)
    assert certificate.gradient_norm == pytest.approx(np.linalg.norm(slopes), rel=1e-6)
    if offset == "penalised":
        assert certificate.duality_gap <= 0.5 * certificate.gradient_norm**2 * (1.0 + 1e-9)


def test_sparse_rows_give_the_same_certificate():
    problem = make()
    sparse = make(X=sp.csr_array(problem.X))
    w = np.linspace(-1.0, 1.0, 4)
    ours, theirs = certify_margin(problem, w, 0.3), certify_margin(sparse, w, 0.3)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-14)
    assert ours.gradient_norm == pytest.approx(theirs.gradient_norm, rel=1e-12)


def test_moves_share_the_data():
    problem = make()
    mask = np.arange(30) < 3
    dropped = np.array([True, False, False, False])
    fold = problem.with_held_out(mask, dropped)
    assert fold.X is problem.X
    assert not fold.weights[mask].any()
    assert (fold.weights[~mask] == problem.weights[~mask]).all()
    assert fold.with_held_out(~mask).dropped.tolist() == dropped.tolist()
    assert fold.with_held_out(mask, ~dropped).dropped.all()
    dropped[:] = mask[:] = False  # the fold has masks of its own
    assert fold.dropped.tolist() == [True, False, False, False]
    assert not fold.weights[:3].any()
    assert problem.with_weights(np.ones(30)).weights.sum() == 30.0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"X": [[1.0]]}, "X is a list; it must be a two-dimensional array or a CSR"),
        ({"X": np.ones((30, 4), dtype=int)}, "X has dtype int64; it must be float64 or float32"),
        ({"targets": np.ones(29)}, "targets has 29 values, but X has 30 rows"),
        ({"targets": np.zeros(30)}, r"targets\[0\] is 0.0; it must be \+1 or -1"),
        ({"weights": -np.ones(30)}, r"weights\[0\] is -1.0; every weight must be zero"),
        ({"weights": np.full(30, np.inf)}, r"weights\[0\] is inf; every weight"),
        ({"loss": "cubic"}, "loss is 'cubic'; it must be one of hinge"),
        ({"offset": "maybe"}, "offset is 'maybe'; it must be one of penalised"),
        ({"width": 0.5}, "width is 0.5; for the squared_hinge loss it is 0"),
        ({"loss": "huber", "width": 0.0}, "width is 0.0; for the huber loss it is finite and"),
        ({"dropped": np.ones(3, dtype=bool)}, r"dropped has dtype bool and shape \(3,\)"),
    ],
)
def test_refusals(changes, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        make(**changes)


def test_a_bad_mask_and_a_bad_model_are_refused():
    problem = make()
    with pytest.raises(InvalidProblem, match="must be boolean with shape"):
        problem.with_held_out(np.zeros(30))
    with pytest.raises(InfeasibleStart, match=r"coef has shape \(3,\)"):
        certify_margin(problem, np.zeros(3), 0.0)
    with pytest.raises(InfeasibleStart, match="without an offset"):
        certify_margin(make(offset="none"), np.zeros(4), 1.0)
    dropped = make(dropped=np.array([True, False, False, False]))
    with pytest.raises(InfeasibleStart, match="dropped features"):
        certify_margin(dropped, np.ones(4), 0.0)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_one_weight_and_byte_signs_are_no_other_problem(loss):
    plain = make(loss, weights=np.full(30, 0.7))
    signs = plain.targets.astype(np.int8)
    signs.flags.writeable = False
    compact = make(loss, weights=np.broadcast_to(0.7, 30), targets=signs)
    assert compact.weights.strides == (0,)
    assert compact.targets is signs
    values = np.random.default_rng(1).normal(size=30)
    for of in ("losses", "slopes"):
        np.testing.assert_array_equal(getattr(compact, of)(values), getattr(plain, of)(values))
    assert compact.slopes(values).dtype == np.float64
    ours, theirs = (certify_margin(p, np.ones(4), 0.5) for p in (compact, plain))
    assert ours.duality_gap == pytest.approx(theirs.duality_gap, rel=1e-12)
    solvers = [margin_newton.solve, gradient.solve]
    solvers += [margin_dual.solve, pegasos.solve] if loss == "hinge" else []
    for solve in solvers:
        ours, theirs = solve(compact), solve(plain)
        np.testing.assert_array_equal(ours.coef, theirs.coef)
        assert ours.bias == theirs.bias
        assert ours.info.objective == theirs.info.objective


@pytest.mark.parametrize("offset", OFFSETS)
def test_the_gap_of_the_hinge_is_that_of_its_dual_point(offset):
    rng = np.random.default_rng(3)
    problem = make("hinge", offset=offset)
    C, width, theta = 1.7, 0.4, rng.normal(size=5)
    theta[-1] *= offset != "none"
    found = measure_point(problem, read_rows(problem.X), theta, C, width=width)
    objective, gap = found.objective, found.gap
    w, b = theta[:-1], theta[-1]
    values, c = problem.X @ w + b, C * problem.weights
    # The Huber loss falls from slope 1 at 1 - width to 0 at 1 + width.
    alpha = c * np.clip((1.0 + width - problem.targets * values) / (2.0 * width), 0.0, 1.0)
    if offset == "free":
        totals = {sign: alpha[problem.targets == sign].sum() for sign in (-1.0, 1.0)}
        alpha *= [min(totals.values()) / totals[sign] for sign in problem.targets]
    u = problem.X.T @ (alpha * problem.targets)
    at_bias = (alpha @ problem.targets) ** 2 if offset == "penalised" else 0.0
    primal = 0.5 * (w @ w + (b * b if offset == "penalised" else 0.0))
    primal += c @ np.maximum(1.0 - problem.targets * values, 0.0)
    assert objective == pytest.approx(primal, rel=1e-12)
    dual = max(alpha.sum() - 0.5 * (u @ u + at_bias), 0.0)
    assert gap == pytest.approx(primal - dual, rel=1e-10)
