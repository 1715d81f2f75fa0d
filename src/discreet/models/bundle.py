"""A model published together with what was released under it (MaskIt, Section 6)."""

from __future__ import annotations

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
from discreet.models.arrays import require_chain
from discreet.models.chain.markov import MarkovChain
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
    """

    model: MarkovChain
    releases: tuple[tuple[Output, ...], ...]

    def __init__(self, model: DayModel, releases: Iterable[Sequence[Output]]) -> None:
        require_chain(model, "Published")
        days = tuple(tuple(day) for day in releases)
        for number, day in enumerate(days):
            if len(day) > model.slots:
                raise DiscreetError(f"day {number} has {len(day)} outputs, the model's day {model.slots} slots")
        clock = model.clock if isinstance(model, MarkovChain) else None
        bare = MarkovChain(model.contexts, model.initial, model.transitions, clock=clock)
        object.__setattr__(self, "model", bare)
        object.__setattr__(self, "releases", days)

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
        return [
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
        if not isinstance(model, MarkovChain):
            raise FileFormatError(f"{path}: holds a model that is not a Markov chain; it was not written by Published")
        days: list[list[Output]] = []
        number = 0
        try:
            for line in (folder / RELEASES_FILE).read_text("utf-8").splitlines():
                number += 1
                message = json.loads(line)
                if message["day"] == len(days):
                    days.append([])
                if message["day"] != len(days) - 1 or message["slot"] != len(days[-1]):
                    raise KeyError("day and slot out of order")
                days[-1].append(from_wire(message))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: {RELEASES_FILE}, line {number}: cannot be read ({error})") from None
        return cls(model, days)
