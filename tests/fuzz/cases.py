"""How one case ends: it passes, is skipped, or fails with a sentence."""

from __future__ import annotations

import contextlib
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

Outcome = Literal["passed", "skipped", "failed", "hung", "crashed"]

TESTS = Path(__file__).parent


class Skip(Exception):
    """The seed made nothing to test: the data were refused by the library in a sentence, say."""


class CaseError(AssertionError):
    """A check that did not hold; the message says which and by how much."""


@dataclass(frozen=True)
class Result:
    """What became of the case of one seed, and the processor time it took."""

    seed: int
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0

    @property
    def is_failure(self) -> bool:
        return self.outcome not in ("passed", "skipped")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """For references of other libraries: their warnings say nothing about ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_ours(warning: warnings.WarningMessage) -> bool:
    """Whether the library meant to warn: in a sentence, by a category that says of what."""
    is_sentence = str(warning.message).rstrip().endswith((".", ")"))
    return issubclass(warning.category, (ConvergenceWarning, FitFailedWarning)) and is_sentence


def describe(error: BaseException) -> str:
    """The exception and where it came from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-4:]]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]} [{' > '.join(places)}]"


def run(run_case: Callable[[int], str | None], seed: int) -> tuple[Outcome, str]:
    """One case in this process; whatever is raised or warned is part of the answer."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            message = run_case(seed)
        except Skip as skip:
            return "skipped", str(skip)
        except CaseError as error:
            message = str(error)
        except Exception as error:
            message = describe(error)
    if message is not None:
        return "failed", message
    strange = [warning for warning in seen if not is_ours(warning)]
    if strange:
        first = strange[0]
        place = f"{Path(first.filename).name}:{first.lineno}"
        return "failed", f"warned {first.category.__name__}: {first.message} [{place}]"
    return "passed", ""
