"""A model published together with what was released under it (MaskIt, Section 6)."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.contracts import DayModel
from discreet.errors import DiscreetError, FileFormatError
from discreet.files import refuse_address, written_whole
from discreet.given import as_date
from discreet.models.arrays import require_chain
from discreet.models.chain.markov import MarkovChain
from discreet.models.routine.routine import Routine
from discreet.models.store import load_days, save
from discreet.outputs import Output, from_wire, to_wire

MODEL_FILE = "model.npz"
RELEASES_FILE = "releases.jsonl"


@dataclass(frozen=True)
class Published:
    """A model and what was released under it, published together for an adversary who knows frequencies (Theorem 6).

    Such an adversary has the same prior as one who knows the habits. With the habits in hand the posterior is the same
    too, so a mechanism that is private against those who know them is private here: the releases teach nothing more.
    `releases` holds one sequence of outputs a day. The model is published without the counts that it was learned from.

    Of habits without end the model is a `Routine`, and the days follow each other from the date `start` on, so that
    each but the last one is whole: the reader goes on believing over midnight, and so does the mechanism.
    """

    model: MarkovChain | Routine
    releases: tuple[tuple[Output, ...], ...]
    start: dt.date | None = None
    """The first date, of a routine."""

    def __init__(
        self, model: DayModel | Routine, releases: Iterable[Sequence[Output]], *, start: dt.date | str | None = None
    ) -> None:
        days = tuple(tuple(day) for day in releases)
        for number, day in enumerate(days):
            if len(day) > model.slots:
                raise DiscreetError(f"day {number} has {len(day)} outputs, the model's day {model.slots} slots")
        bare: MarkovChain | Routine
        if isinstance(model, Routine):
            if start is None:
                raise DiscreetError("a routine is of dates; give start, the date of the first day")
            for number, day in enumerate(days[:-1]):
                if len(day) < model.slots:
                    raise DiscreetError(
                        f"day {number} has {len(day)} outputs of {model.slots}, and days without end have no gaps; "
                        "give Skipped() for slots in which nothing was decided"
                    )
            kinds = {kind: _bare(model.day(kind)) for kind in model.kinds}
            bare = Routine(kinds, model.nights, kind_of=model.rule)
        else:
            if start is not None:
                raise DiscreetError("start is for a routine; days of a chain have no dates, leave it out")
            require_chain(model, "Published")
            bare = _bare(model)
        object.__setattr__(self, "model", bare)
        object.__setattr__(self, "releases", days)
        object.__setattr__(self, "start", None if start is None else as_date(start))

    def write(self, path: str | Path) -> None:
        """Write the bundle to a new folder, or to one file if the name ends in .zip; whole or not at all."""
        refuse_address(path, written=True)
        path = Path(path)
        if path.suffix != ".zip" and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise DiscreetError(f"{path}: exists and is not an empty folder; choose another name")
        try:
            parent = tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        except OSError as error:
            raise DiscreetError(
                f"{path}: cannot be written: {error.strerror}; choose a folder you can write to"
            ) from None
        try:
            folder = Path(parent) / "bundle"
            folder.mkdir()
            save(folder / MODEL_FILE, self.model)
            with written_whole(folder / RELEASES_FILE) as file:
                file.write("".join(self._lines()).encode())
            if path.suffix == ".zip":
                with written_whole(path) as file, zipfile.ZipFile(file, "w") as bundle:
                    for name in (MODEL_FILE, RELEASES_FILE):
                        bundle.write(folder / name, name)
            else:
                folder.replace(path)
        finally:
            shutil.rmtree(parent)

    def _lines(self) -> list[str]:
        first = [] if self.start is None else [json.dumps({"start": self.start.isoformat()}) + "\n"]
        return first + [
            json.dumps({"day": number, "slot": slot, **to_wire(output)}, ensure_ascii=False) + "\n"
            for number, day in enumerate(self.releases)
            for slot, output in enumerate(day)
        ]

    @classmethod
    def read(cls, path: str | Path) -> Published:
        """Read what `write` wrote, from a folder or a zip."""
        path = Path(path)
        if path.is_dir():
            return cls._read(path, path)
        with tempfile.TemporaryDirectory() as folder:
            try:
                with zipfile.ZipFile(path) as bundle:
                    for name in (MODEL_FILE, RELEASES_FILE):
                        (Path(folder) / name).write_bytes(bundle.read(name))
            except (OSError, KeyError, zipfile.BadZipFile) as error:
                raise FileFormatError(f"{path}: not a published bundle, or damaged ({error})") from None
            return cls._read(Path(folder), path)

    @classmethod
    def _read(cls, folder: Path, path: Path) -> Published:
        model = load_days(folder / MODEL_FILE)
        if not isinstance(model, MarkovChain | Routine):
            raise FileFormatError(f"{path}: holds a model that is not a Markov chain; it was not written by Published")
        days: list[list[Output]] = []
        number, start = 0, None
        try:
            for line in (folder / RELEASES_FILE).read_text("utf-8").splitlines():
                number += 1
                message = json.loads(line)
                if number == 1 and isinstance(model, Routine):
                    start = dt.date.fromisoformat(message["start"])
                    continue
                if message["day"] == len(days):
                    days.append([])
                if message["day"] != len(days) - 1 or message["slot"] != len(days[-1]):
                    raise KeyError("day and slot out of order")
                days[-1].append(from_wire(message))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: {RELEASES_FILE}, line {number}: cannot be read ({error})") from None
        return cls(model, days, start=start)


def _bare(model: DayModel) -> MarkovChain:
    """The chain without the counts that it was learned from."""
    clock = model.clock if isinstance(model, MarkovChain) else None
    return MarkovChain(model.contexts, model.initial, model.transitions, clock=clock)
