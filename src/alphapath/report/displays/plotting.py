"""matplotlib, asked for only when something is drawn."""

from __future__ import annotations

import re
from typing import Any


def import_pyplot() -> Any:
    """matplotlib.pyplot, or one sentence about how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'alphapath[plot]'."
        ) from None
    return plt


def math_text(text: str) -> str:
    """2^-5 with a raised exponent."""
    return re.sub(r"^(2|10)\^(-?\d+)$", r"$\1^{\2}$", text)
