"""Validation of a record, field by field, since files may come from untrusted sources.

Further fields are accepted; pages ignore them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .displays.validation import SCORE_NAMES

#: Beyond this the arithmetic of scales and sums overflows.
LARGEST = 1e150


@dataclass(frozen=True)
class Field:
    """A value of a record, and its position."""

    value: Any
    place: str

    def fail(self, needed: str) -> ValueError:
        return ValueError(f"{self.place} is {shown(self.value)}; it must be {needed}.")

    def __getitem__(self, key: str) -> Field:
        if key not in self.fields():
            raise ValueError(f"{self.place} has no {shown(key)}.")
        return self.fields()[key]

    def get(self, key: str) -> Field | None:
        """The field of that name; None if it is missing or null."""
        found = self.fields().get(key)
        return None if found is None or found.value is None else found

    def fields(self) -> dict[str, Field]:
        if not isinstance(self.value, dict):
            raise self.fail("an object")
        return {
            key: Field(one, f"{self.place}.{key if key.isidentifier() else shown(key)}")
            for key, one in self.value.items()
        }

    def items(self, n: int | None = None) -> list[Field]:
        if not isinstance(self.value, list):
            raise self.fail("a list")
        if n is not None and len(self.value) != n:
            raise ValueError(f"{self.place} has {len(self.value)} values; it must have {n}.")
        return [Field(one, f"{self.place}[{k}]") for k, one in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fail("a text")
        return self.value

    def plain(self) -> None:
        """A text, a number or null."""
        if not (self.value is None or isinstance(self.value, str | bool)):
            self.number()

    def number(self, low: float = -LARGEST, high: float = LARGEST) -> float:
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or not low <= self.value <= high:
            raise self.fail(f"a number from {low:g} to {high:g}")
        return float(self.value)

    def number_or_none(self, low: float = -LARGEST) -> None:
        if self.value is not None:
            self.number(low)

    def position(self, n: int) -> int:
        if type(self.value) is not int or not 0 <= self.value < n:
            raise self.fail(f"a whole number from 0 to {n - 1}")
        return self.value


def shown(value: Any) -> str:
    """The value on one line, truncated."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def check_fields(record: Mapping[str, Any], name: str) -> None:
    """Reject a record that cannot be shown as a page, in one sentence."""
    whole = Field(dict(record), name)
    try:
        datetime.fromisoformat(whole["created"].text())
    except ValueError:
        raise whole["created"].fail("a date and time such as 2026-01-31T12:00:00") from None
    whole["version"].text()
    metric = whole["metric"].text()
    each(whole["search"], Field.plain)
    check_data(whole["data"])
    check_results(whole["cv_results"], metric, "best" in record)
    needed = {"best", "simplest"} if "best" in record else set()
    for key in ("best", "simplest", "chosen"):
        if key in record or key in needed:
            check_candidate(whole[key], whole["cv_results"], f"mean_test_{metric}")
    if "best_so_far" in record:
        best = whole["best_so_far"]
        check_candidate(best, whole["cv_results"], f"partial_mean_test_{metric}")
        best["n_splits"].number(0)
    for key in ("seconds", "tol", "n_iter_cold"):
        if (found := whole.get(key)) is not None:
            found.number(0.0)
    if record.get("n_iter_cold"):
        whole["cv_results"]["n_iter"]
    if (found := whole.get("certificate")) is not None:
        found["kkt_violation"].number(0.0)
        each(found, Field.number)
    if (found := whole.get("files")) is not None:
        each(found, Field.plain)
    if "path" in record:
        check_curve(whole["path"])
    for tree in [] if (found := whole.get("trees")) is None else found.items():
        check_tree(tree)


def each(field: Field, check: Callable[[Field], object]) -> None:
    for one in field.fields().values():
        check(one)


def check_data(data: Field) -> None:
    data["name"].text()
    if "rows" in data.fields():
        each(data["rows"], Field.plain)
    if "warnings" in data.fields():
        for one in data["warnings"].items():
            one.text()


def check_results(results: Field, metric: str, has_scores: bool) -> None:
    """Check that columns have the same length and the types that pages show."""
    params = results["params"].items()
    n = len(params)
    if n == 0:
        raise results["params"].fail("a list of at least one candidate")
    for one in params:
        for value in one.fields().values():
            if isinstance(value.value, int | float):
                value.plain()
    needed = [f"mean_test_{metric}", f"std_test_{metric}", "mean_fit_time"] if has_scores else []
    for key in needed:
        results[key]
    for key, column in results.fields().items():
        if key.startswith(("mean_", "std_", "split", "rank_", "n_iter", "duality_gap")):
            for one in column.items(n):
                one.number_or_none(0.0 if key == "n_iter" else -LARGEST)
        elif key in ("seed", "status"):
            for one in column.items(n):
                one.text()
    if "n_iter" in results.fields():
        results["seed"]
    if has_scores and not any(one.value is not None for one in results[needed[0]].items()):
        raise results[needed[0]].fail("a list with at least one score, since there is a best")


def check_candidate(own: Field, results: Field, column: str) -> None:
    """Check that a candidate is the one that its index names."""
    params = results["params"].items()
    index = own["index"].position(len(params))
    if own["params"].value != params[index].value:
        raise own["params"].fail(f"{shown(params[index].value)}, as in {params[index].place}")
    known = results[column].items(len(params))[index]
    if own["mean"].number() != known.value:
        raise own["mean"].fail(f"{shown(known.value)}, as in {known.place}")
    if not column.startswith("partial"):
        own["error"].number(0.0)


def check_curve(curve: Field) -> None:
    """An exact validation curve, as `record_curve` gives it."""
    curve["name"].text()
    if curve["metric"].text() not in SCORE_NAMES:
        raise curve["metric"].fail(f"one of {', '.join(map(repr, SCORE_NAMES))}")
    if not isinstance(curve["is_exact"].value, bool):
        raise curve["is_exact"].fail("true or false")
    edges = [one.number(1.0 / LARGEST) for one in curve["edges"].items()]
    n = len(edges) - 1
    is_rising = all(a < b for a, b in itertools.pairwise(edges))
    if n < 1 or not is_rising or edges[0] * (1.0 + 1e-9) > edges[-1]:
        raise ValueError(f"{curve.place}.edges must be at least two rising numbers.")
    for key in ("first", "last"):
        for one in curve[key].items(n):
            one.number()
    errors = [one.value for one in curve["error"].items(n)]
    for one in curve["error"].items():
        one.number_or_none(0.0)
    for key in ("best", "simplest"):
        curve[key]["t"].number(edges[0], edges[-1])
        curve[key]["value"].number()
    curve["best"]["error"].number_or_none(0.0)
    if curve["best"]["error"].value is None and any(one is not None for one in errors):
        raise curve["best"]["error"].fail("a number, since the curve has standard errors")
    if (found := curve.get("seconds")) is not None:
        found.number(0.0)
    if (found := curve.get("fixed")) is not None:
        each(found, Field.plain)


def check_tree(tree: Field) -> None:
    """The solves of a kernel and fold, as `record_trees` gives them."""
    tree["label"].text()
    tree["fold"].position(2**31)
    for step in tree["steps"].items():
        step["C"].number()
        step["seed"].text()
        if "from" in step.fields():
            step["from"].text()
        step["work"].number_or_none(0.0)
