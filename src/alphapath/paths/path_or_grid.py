"""Which costs less: the exact path along C or a grid over it."""

from __future__ import annotations

import numpy as np

from ..problem.solution import Status
from ..solvers.sequence.sequence import SequenceSolution

#: Cost of an event in kernel rows: a share of each member's row (its solves, and its part of the
#: instances that are examined now and then), plus a constant; and an iteration of SMO beside it
#: (values of the margin set are used again soon).
MEMBER_ROWS, EVENT_ROWS, ITERATION_ROWS = 0.4, 16.0, 4.0
#: What a bound costs that a solve of the free set meets: values of its factor, of each of them.
HIT_ROWS = 0.8
#: Events for each move between 0, the inside of the box and its end that a grid shows: some
#: instances come and go between two of its points.
EVENTS_A_MOVE = 2.0
#: Events a training row, over ten octaves or more, at most.
EVENTS_PER_ROW = 1.4


def most_iterations(n_rows: int) -> int:
    """Iterations per solve on a grid beyond which a path with small margin sets is cheaper."""
    return int(EVENTS_PER_ROW * n_rows * 4.0 * EVENT_ROWS / ITERATION_ROWS) + 1000


def prefers_path(chain: SequenceSolution) -> bool:
    """Whether the whole path along C is likely to cost less than `chain`, a grid over it.

    Counted, not timed: the path's events and for each of them a share of the margin set's kernel
    rows, as large as it is on the grid; the grid's iterations, two rows each and the work around,
    and the bounds that its solves of free sets met.
    """
    if any(status is not Status.SOLVED for status in chain.status):
        return True
    rows = MEMBER_ROWS * float(np.mean(chain.n_free)) + EVENT_ROWS
    path = EVENTS_A_MOVE * count_moves(chain) * rows
    n_rows = np.count_nonzero(chain.weights[chain.steps.rows[0]])
    hits = HIT_ROWS * float(np.sum(chain.n_bound_hits * np.square(chain.n_free))) / n_rows
    return bool(path <= ITERATION_ROWS * float(np.sum(chain.n_iter)) + hits)


def count_moves(chain: SequenceSolution) -> int:
    """How often, from one C to the next, an instance went on from 0 inside its box to its end."""
    weights = chain.steps.factors[:, np.newaxis] * chain.weights[chain.steps.rows]
    size = np.abs(chain.beta)
    places = np.where(size == 0.0, 0, np.where(size < weights, 1, 2))
    return int(np.abs(np.diff(places, axis=0)).sum())
