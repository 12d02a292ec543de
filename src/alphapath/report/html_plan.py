"""The plan of a search as a tree of HTML lists: kernels, their folds, and the solves along C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .score_grid import power_texts, value_text
from .svg import colour_of

#: Solves beyond which only the first trees are drawn; the JSON file has all.
MAX_SOLVES = 3000


def plan_tree(trees: Sequence[Mapping[str, Any]]) -> str:
    """Nested lists: what is on one kernel stands together, arrows lead from parent to child."""
    shown, n_solves = [], 0
    for tree in trees:
        n_solves += len(tree["steps"])
        if n_solves > MAX_SOLVES:
            break
        shown.append(tree)
    work = [step["work"] or 0.0 for tree in shown for step in tree["steps"]]
    top = math.log1p(max(work, default=0.0)) or 1.0
    parts = [
        "<p class='soft'>Each solve begins from the one its arrow comes from. The colour at its "
        "left is its counted work, from dark (little) to light, on a logarithmic scale.</p>"
    ]
    parts.append('<ul class="tree">')
    kernels: dict[str, list[Mapping[str, Any]]] = {}
    for tree in shown:
        kernels.setdefault(tree["label"], []).append(tree)
    for label, group in kernels.items():
        folds = "".join(
            f"<li>fold {tree['fold']}{step_list(tree['steps'], top)}</li>" for tree in group
        )
        parts.append(f"<li><b>{escape(label or 'all')}</b><ul>{folds}</ul></li>")
    parts.append("</ul>")
    if len(shown) < len(trees):
        parts.append(f"<p>{len(trees) - len(shown)} more chains are in the JSON results.</p>")
    return "".join(parts)


def step_list(steps: Sequence[Mapping[str, Any]], top: float) -> str:
    items = []
    values = [step["C"] for step in steps]
    for step, text in zip(steps, power_texts(values) or map(value_text, values), strict=True):
        colour = colour_of(math.log1p(step["work"] or 0.0) / top)
        words = f"C = {text}"
        if "from" in step:
            words = f"{step['seed']} from {step['from']}: {words}"
        elif step["seed"] == "cold":
            words = f"cold: {words}"
        items.append(f'<li style="border-color:{colour}">{escape(words)}</li>')
    return f'<ol class="steps">{"".join(items)}</ol>'
