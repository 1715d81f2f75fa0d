"""A city: cells of a map, how people moved between them, and sequences to release.

As in the paper the chain is learned from all sequences, the ones released included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.data import read_positions, sequences
from discreet.errors import DataError, DiscreetError
from discreet.listener import Progress
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.counts import divided, steps_of
from discreet.numerics import FloatArray, IntArray
from discreet.places import Grid, Plane
from discreet_experiments.shared.people import existing, spread
from discreet_experiments.shared.positions import Recording

KILOMETRE = 1000.0
HOUR = 3600.0


@dataclass(frozen=True, eq=False)
class City:
    """Cells and how people moved between them: small enough to be sent to a process."""

    recording: Recording
    grid: Grid
    contexts: tuple[str, ...]
    visits: IntArray  # (n,)
    rows: IntArray  # (m,): of the steps that occurred
    columns: IntArray
    counts: IntArray
    tracks: IntArray  # (sequences, slots): the ones to release, as numbers of cells
    found: int  # sequences of that length in the data

    @property
    def query(self) -> FloatArray:
        """(n, 2): the cells' centres east and north, in sides of a cell: halves, which the noise's lattice holds
        exactly.

        In other units centres would be rounded, and cells on a hull's border, which are many in a grid, would fall in
        or out.
        """
        return self.grid.corners(self.contexts) / self.grid.side + 0.5

    @property
    def side(self) -> float:
        """Of a cell, in kilometres."""
        return self.grid.side / KILOMETRE

    def transition(self) -> FloatArray:
        """(n, n)."""
        steps = np.zeros((len(self.contexts), len(self.contexts)), dtype=np.int64)
        steps[self.rows, self.columns] = self.counts
        return divided(steps)

    def chain(self, slots: int) -> MarkovChain:
        """What an observer knows who does not know where a sequence starts."""
        return MarkovChain.homogeneous(self.contexts, self.visits / self.visits.sum(), self.transition(), slots)

    def described(self) -> str:
        """The city in a few words."""
        cells = f"{len(self.contexts)} cells of {self.recording.side / KILOMETRE:g} km"
        count, slots = self.tracks.shape
        return f"{self.recording.name}: {cells}, {count} of {self.found} sequences of {slots} slots"


def read_city(folder: Path, recording: Recording, count: int, slots: int, progress: Progress | None = None) -> City:
    """Learn from everybody; take so many sequences, evenly spread over all that are long enough, cut to length."""
    if count < 1 or slots < 2:
        raise DiscreetError(f"{count} sequences of {slots} slots cannot be released; give 1 or more, of 2 or more")
    read = read_positions(existing(folder, recording.file), progress=progress)
    grid = Grid(recording.side, Plane.around(read.all))
    speed = None if recording.fastest is None else recording.fastest * KILOMETRE / HOUR
    moved = sequences(read.people.values(), grid, gap=recording.gap, fastest=speed)
    contexts, visits, steps = steps_of(moved)
    long = [walk[k : k + slots] for walk in moved for k in range(0, len(walk) - slots + 1, slots)]
    if not long:
        raise DataError(f"{folder / recording.file}: no sequence has {slots} slots; lower --slots")
    kept = spread(long, count)
    number = {label: k for k, label in enumerate(contexts)}
    tracks = np.array([[number[label] for label in walk] for walk in kept], dtype=np.int64)
    rows, columns = np.nonzero(steps)
    return City(recording, grid, contexts, visits, rows, columns, steps[rows, columns], tracks, len(long))
