"""The plan of a search as a tree of HTML lists: kernels, their folds, and the solves along C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..score_grid import power_texts, value_text
from .markup import Markup, element, join
from .svg import shade_of

#: Solves beyond which only the first trees are drawn; the JSON file has all.
MAX_SOLVES = 3000


def plan_tree(trees: Sequence[Mapping[str, Any]]) -> Markup:
    """Nested lists: what is on one kernel stands together, arrows lead from parent to child."""
    shown, n_solves = [], 0
    for tree in trees:
        n_solves += len(tree["steps"])
        if n_solves > MAX_SOLVES:
            break
        shown.append(tree)
    work = [step["work"] or 0.0 for tree in shown for step in tree["steps"]]
    top = math.log1p(max(work, default=0.0)) or 1.0
    note = (
        "Each solve is warm-started from the one its arrow comes from. The colour at its left is "
        "its counted work, from dark (little) to light, on a logarithmic scale."
    )
    kernels: dict[str, list[Mapping[str, Any]]] = {}
    for tree in shown:
        kernels.setdefault(tree["label"], []).append(tree)
    items = [
        element("li", element("b", label or "all"), element("ul", fold_items(group, top)))
        for label, group in kernels.items()
    ]
    n_left = len(trees) - len(shown)
    rest = element("p", f"{n_left} more chains are in the JSON results.") if n_left else ""
    return join(element("p", note, class_="soft"), element("ul", items, class_="tree"), rest)


def fold_items(trees: Sequence[Mapping[str, Any]], top: float) -> list[Markup]:
    return [element("li", f"fold {tree['fold']}", step_list(tree["steps"], top)) for tree in trees]


def step_list(steps: Sequence[Mapping[str, Any]], top: float) -> Markup:
    items = []
    values = [step["C"] for step in steps]
    for step, text in zip(steps, power_texts(values) or map(value_text, values), strict=True):
        shade = shade_of(math.log1p(step["work"] or 0.0) / top)
        words = f"C = {text}"
        if "from" in step:
            words = f"{step['seed']} from {step['from']}: {words}"
        elif step["seed"] == "cold":
            words = f"cold: {words}"
        items.append(element("li", words, class_=shade))
    return element("ol", items, class_="steps")
