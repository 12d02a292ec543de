"""Jobs of the benchmark `smooth`: our strategies, and the peers, on one case each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.smooth.cases import Case, find_case, load_case

#: Refits from which the time of all is estimated.
N_REFITS = 20
WHOLE_CALL = "10 folds, whole call"
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def least(
    call: Callable[..., Any], repeats: int, prepare: Callable[[], Any] | None = None
) -> tuple[float, Any]:
    """Least seconds of `repeats` calls, of more where they are short, and the value.

    What `prepare` makes, untimed and anew for each call, is handed to it: a model on all rows keeps
    the products that its folds have computed.
    """
    seconds: list[float] = []
    value: Any = None
    while len(seconds) < repeats or (sum(seconds) < 1.0 and len(seconds) < 100):
        given = () if prepare is None else (prepare(),)
        start = perf_counter()
        value = call(*given)
        seconds.append(perf_counter() - start)
        if sum(seconds) > 20.0:
            break
    return min(seconds), value


def row(task: str, who: str, seconds: float | None, **more: Any) -> dict[str, Any]:
    return {"task": task, "who": who, "seconds": seconds, "note": "", **more}


def accuracy(values: np.ndarray, y: np.ndarray) -> float:
    return float(100.0 * np.mean((values >= 0.0) == (y > 0.0)))


def off_by(found: Any, fresh: Any) -> float:
    """Distance of two thetas over the length of the second."""
    ours, theirs = np.append(found.coef, found.bias), np.append(fresh.coef, fresh.bias)
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


def strategies_of(case: Case, n: int, d: int) -> Iterator[str]:
    """All of them, but for one that would take minutes: a d x d Hessian of a wide problem."""
    for strategy in ("none", "feature", "instance", "auto"):
        width = n if case.gamma is not None else d
        if strategy == "feature" and width > 5000:
            continue
        yield strategy


def time_ours(title: str, folder: str, repeats: int) -> list[dict[str, Any]]:
    """Job: fit, leave-one-out, 10 folds and another c, by every strategy."""
    from alphapath import SmoothSVC

    case = find_case(title)
    X, y = load_case(case, folder)
    model = SmoothSVC() if case.gamma is None else SmoothSVC(kernel="rbf", gamma=case.gamma)
    seconds, problem = least(lambda: model.to_problem(X, y), repeats)
    rows = [row("checks and kernel", "all", seconds)]
    fresh: dict[int, Any] = {}
    for strategy in strategies_of(case, *X.shape):
        rows += time_strategy(case, problem, y, strategy, repeats, fresh)
    del problem, fresh
    return [*rows, time_whole_call(model, X, y, repeats)]


def time_whole_call(model: Any, X: Any, y: np.ndarray, repeats: int) -> dict[str, Any]:
    """Checks, kernel, the model on all rows and the folds: what a user waits for."""
    from alphapath.model_selection import cross_validate

    seconds, found = least(lambda: cross_validate(model, X, y, cv=FOLDS), 3 * repeats)
    right = float(100.0 * np.mean(found["test_score"]))
    return row(WHOLE_CALL, "auto", seconds, n_solves=int(found["n_iter"].sum()), accuracy=right)


def fold_problems(case: Case, problem: Any, y: np.ndarray) -> list[Any]:
    found = []
    for _, test in FOLDS.split(y, y):
        mask = np.zeros(problem.n, dtype=bool)
        mask[test] = True
        found.append(problem.with_held_out(mask, None if case.gamma is None else mask))
    return found


def time_strategy(
    case: Case, problem: Any, y: np.ndarray, strategy: str, repeats: int, fresh: dict[int, Any]
) -> list[dict[str, Any]]:
    from alphapath.solvers.smooth import newton as smooth_newton

    def fit() -> Any:
        return smooth_newton.solve(problem, strategy=strategy)

    seconds, full = least(fit, repeats)
    rows = [row("fit", strategy, seconds, n_solves=full.info.n_iter)]
    moved = problem.with_weights(1.1 * problem.weights)
    seconds, found = least(
        lambda full: smooth_newton.solve(moved, full, strategy=strategy), repeats, fit
    )
    apart = smooth_newton.solve(moved, strategy="none")
    rows.append(
        row("c * 1.1", strategy, seconds, n_solves=found.info.n_iter, error=off_by(found, apart))
    )
    rows += time_folds(case, problem, y, strategy, repeats, (fit, fresh))
    rows.append(time_leave_one_out(case, full, y, strategy, repeats))
    return rows


def time_folds(
    case: Case, problem: Any, y: np.ndarray, strategy: str, repeats: int, known: tuple[Any, Any]
) -> list[dict[str, Any]]:
    from alphapath.solvers.smooth import newton as smooth_newton

    fit, fresh = known
    folds = fold_problems(case, problem, y)
    tests = [test for _, test in FOLDS.split(y, y)]

    def summary(found: list[Any]) -> dict[str, Any]:
        right = [accuracy(s.decision_values[t], y[t]) for s, t in zip(found, tests, strict=True)]
        return {"accuracy": float(np.mean(right)), "n_solves": sum(s.info.n_iter for s in found)}

    if not fresh:  # the first strategy is "none"
        fresh.update(enumerate(smooth_newton.solve(fold, strategy="none") for fold in folds))
    # One by one: more of these would not fit side by side.
    is_huge = strategy == "feature" and problem.d > 3000

    def from_full(full: Any) -> list[Any]:
        if is_huge:
            return [smooth_newton.solve(fold, full, strategy=strategy) for fold in folds]
        return smooth_newton.solve_side_by_side(folds, full, strategy=strategy)

    seconds, found = least(from_full, repeats, fit)
    error = max(off_by(ours, fresh[k]) for k, ours in enumerate(found))
    rows = [row("10 folds", strategy, seconds, error=error, is_ours=True, **summary(found))]
    if not is_huge and not (strategy == "instance" and case.gamma is None and problem.n > 3000):
        seconds, found = least(
            lambda: [smooth_newton.solve(fold, strategy=strategy) for fold in folds], 1
        )
        rows.append(row("10 folds", f"{strategy}, cold", seconds, is_ours=True, **summary(found)))
    return rows


def time_leave_one_out(
    case: Case, full: Any, y: np.ndarray, strategy: str, repeats: int
) -> dict[str, Any]:
    from alphapath.solvers.smooth import newton as smooth_newton
    from alphapath.solvers.smooth.leave_one_out import leave_out

    n, drops = full.problem.n, case.gamma is not None
    few = np.linspace(0, n - 1, N_REFITS).astype(np.intp)[:: 5 if drops and n > 2000 else 1]
    if strategy == "none":
        # Rows without a loss need no refit of a linear model.
        seconds, _ = least(lambda: leave_out(full, few, strategy="none", drops_features=drops), 1)
        is_refit = drops | (full.decision_values * y < 1.0)
        scale = np.sum(is_refit) / max(1, np.sum(is_refit[few] if not drops else len(few)))
        note = f"estimated from {len(few)} rows"
        return row("leave-one-out", strategy, seconds * float(scale), note=note, is_ours=True)
    seconds, found = least(
        lambda: leave_out(full, np.arange(n), strategy=strategy, drops_features=drops), repeats
    )
    error = 0.0
    for i in few:
        mask = np.zeros(n, dtype=bool)
        mask[i] = True
        problem = full.problem.with_held_out(mask, mask if drops else None)
        value = smooth_newton.solve(problem, strategy="none").decision_values[i]
        error = max(error, abs(float(value - found.values[i])) / max(1.0, abs(float(value))))
    return row(
        "leave-one-out",
        strategy,
        seconds,
        n_solves=int(found.n_iter.sum()),
        accuracy=accuracy(found.values, y),
        error=error,
        is_ours=True,
        note=f"{len(found.refits)} refits by Newton steps" if found.refits else "",
    )


def time_in_turn(title: str, folder: str, repeats: int) -> list[dict[str, Any]]:
    """Job: "auto" and the other strategies, call after call."""
    from alphapath import SmoothSVC
    from alphapath.solvers.smooth import newton as smooth_newton
    from alphapath.solvers.smooth.leave_one_out import leave_out

    case = find_case(title)
    X, y = load_case(case, folder)
    model = SmoothSVC() if case.gamma is None else SmoothSVC(kernel="rbf", gamma=case.gamma)
    problem: Any = model.to_problem(X, y)
    folds, everybody = fold_problems(case, problem, y), np.arange(problem.n)
    moved = problem.with_weights(1.1 * problem.weights)
    names = [name for name in strategies_of(case, *X.shape) if name != "none"]

    def fit(name: str, _: Any = None) -> Any:
        return smooth_newton.solve(problem, strategy=name)

    tasks: dict[str, Callable[[str, Any], Any]] = {
        "fit": fit,
        "c * 1.1": lambda name, full: smooth_newton.solve(moved, full, strategy=name),
        "10 folds": lambda name, full: smooth_newton.solve_side_by_side(folds, full, strategy=name),
        "leave-one-out": lambda name, full: leave_out(
            full, everybody, strategy=name, drops_features=case.gamma is not None
        ),
    }
    rows = []
    for task, call in tasks.items():
        other, seconds = alternate(call, names, 3 * repeats, fit)
        ratio = float(np.median(seconds["auto"]) / np.median(seconds[other]))
        note = f"{len(seconds['auto'])} turns, medians {ratio:.3g}"
        rows.append(row(f"{task}, in turn", "auto", min(seconds["auto"]), note=note))
        rows.append(row(f"{task}, in turn", f"the better: {other}", min(seconds[other])))
    return rows


def alternate(
    call: Callable[[str, Any], Any],
    names: list[str],
    repeats: int,
    prepare: Callable[[str], Any],
) -> tuple[str, dict[str, list[float]]]:
    """The better strategy, and the seconds of "auto" and of it by turns.

    The others only have a first turn: a slow one leaves the caches cold for who comes next. Who
    begins changes from turn to turn.
    """
    seconds: dict[str, list[float]] = {name: [] for name in names}

    def take_turn(name: str) -> float:
        given = prepare(name)
        start = perf_counter()
        call(name, given)
        seconds[name].append(perf_counter() - start)
        return seconds[name][-1]

    rest = [name for name in names if name != "auto"]
    best = {name: min(take_turn(name) for _ in range(2)) for name in rest}
    other = min(rest, key=best.__getitem__)
    seconds[other] = []
    spent, n_turns = 0.0, 0
    while n_turns < repeats or (spent < 1.0 and n_turns < 200):
        pair = ("auto", other) if n_turns % 2 else (other, "auto")
        spent += sum(take_turn(name) for name in pair)
        n_turns += 1
        if spent > 15.0:
            break
    return other, seconds


def time_peers(title: str, folder: str, repeats: int) -> list[dict[str, Any]]:
    """Job: scikit-learn's models, refitted for leave-one-out and the folds; LIBLINEAR's model."""
    from sklearn.svm import SVC, LinearSVC

    case = find_case(title)
    X, y = load_case(case, folder)
    peers: dict[str, Any] = {"SVC": SVC(kernel="linear", cache_size=2000)}
    if case.gamma is None:
        peers = {"LinearSVC": LinearSVC(C=0.5, dual=False)} | peers
    else:
        peers = {"SVC": SVC(gamma=case.gamma, cache_size=2000)}
    rows = []
    for who, model in peers.items():
        folds = time_peer_folds(who, model, X, y)
        rows += [folds, folds | {"task": WHOLE_CALL}, time_peer_refits(who, model, X, y)]
    if case.gamma is None and find_spec("liblinear") is None:
        rows.append(row("model", "LIBLINEAR", None, note="not installed"))
    elif case.gamma is None:
        rows.append(compare_liblinear(X, y))
    return rows


def time_peer_folds(who: str, model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    start = perf_counter()
    right = []
    for train, test in FOLDS.split(X, y):
        right.append(accuracy(model.fit(X[train], y[train]).decision_function(X[test]), y[test]))
    return row("10 folds", who, perf_counter() - start, accuracy=float(np.mean(right)))


def time_peer_refits(who: str, model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """At least three refits, at most N_REFITS, for at most 30 seconds."""
    n, n_done, spent = len(y), 0, 0.0
    for i in np.random.default_rng(0).permutation(n)[:N_REFITS]:
        rest = np.delete(np.arange(n), i)
        X_rest, y_rest = X[rest], y[rest]
        start = perf_counter()
        model.fit(X_rest, y_rest).decision_function(X[[i]])
        spent += perf_counter() - start
        n_done += 1
        if n_done >= 3 and spent > 30.0:
            break
    note = f"estimated from {n_done} refits"
    return row("leave-one-out", who, spent * n / n_done, note=note)


def compare_liblinear(X: Any, y: np.ndarray) -> dict[str, Any]:
    """Our model on all rows against LIBLINEAR's L2-loss primal at C = c/2 with a penalised bias."""
    from liblinear.liblinearutil import train

    from alphapath import SmoothSVC

    ours = SmoothSVC().fit(X, y)
    start = perf_counter()
    model = train(y, X, "-s 2 -c 0.5 -B 1 -e 1e-10 -q")
    seconds = perf_counter() - start
    # LIBLINEAR's positive class is the label it met first.
    sign = 1.0 if model.get_labels()[0] > 0 else -1.0
    theirs = sign * np.array([*model.get_decfun()[0], model.get_decfun()[1]])
    theta = np.append(ours.coef_[0], ours.intercept_[0])
    error = float(np.linalg.norm(theta - theirs) / np.linalg.norm(theirs))
    return row("model", "LIBLINEAR, tolerance 1e-10", seconds, error=error)
