"""The versioned file that holds a person's habits: a chain, a hidden Markov model of a day or without end, a week of
chains, or a routine.

No pickle.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload
from urllib.parse import quote, unquote

import numpy as np

from discreet.clock import Clock
from discreet.errors import DiscreetError, FileFormatError
from discreet.files import refuse_address, written_whole
from discreet.given import MODEL, checked_path, lacks, words_for
from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.week import Models
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.hidden.pairs import PairChain
from discreet.models.kinds import RULES, checked_by
from discreet.models.learning.calibrated import Faded, LearningState
from discreet.models.learning.counts import Counts
from discreet.models.learning.routine import Learned, counts_of
from discreet.models.pairs import Pairs
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.parts import AnyModel, AnyRoutine
from discreet.models.routine.routine import Routine

ENDING = ".model"
FORMAT = "discreet model"
VERSION = 5
"""The newest format. Version 2 holds routines, version 3 those that keep recent counts or observers, version 4 hidden
Markov models without end, version 5 habits over two contexts; other models of a day are written as version 1, which any
reader knows."""

FADED = ("initial", "transitions", "nights")
"""The arrays of recent counts."""

Kind = TypeVar("Kind")
"""What a file is expected to hold."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


def save(
    path: str | Path,
    model: AnyModel | EndlessHidden,
    truth: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> None:
    """Write habits to one file: a zip of arrays with a JSON header.

    `truth` says how true they were on held-out days (`Truth.summary`), for whoever states what is promised of them;
    `reading` how the readings were read, for whoever reads more of them.
    """
    checked_path(path, "save")
    if not isinstance(model, Mapping | AnyRoutine) and lacks(model, MODEL):
        raise DiscreetError(
            f"save: the model is {words_for(model)}; give habits: a MarkovChain, a HiddenMarkovModel, Models or a "
            "Routine, after the path"
        )
    header: dict[str, Any] = {"format": FORMAT, "version": 1, "parts": {}}
    for name, given in (("truth", truth), ("reading", reading)):
        if given is not None:
            header[name] = dict(given)
    contents: dict[str, np.ndarray[Any, Any]] = {}
    parts: Mapping[str, MarkovChain | HiddenMarkovModel | EndlessHidden]
    if isinstance(model, Routine):
        parts = {kind: model.day(kind) for kind in model.kinds}
        recent = model.learned is not None and model.learned.recent is not None
        header["version"] = 3 if recent or model.observers else 2
        header["routine"], joined = _described_routine(model, model.learned)
        contents.update(joined)
        for number, observer in enumerate(model.observers):
            contents.update(_arrays_of_observer(number, observer, model.nights))
        header["routine"]["observers"] = len(model.observers)
    elif isinstance(model, PairRoutine):
        parts = {kind: model.over.day(kind) for kind in model.kinds}
        header["version"], header["pairs"] = 5, {"contexts": list(model.contexts)}
        header["routine"], joined = _described_routine(model.over, model.learned)
        contents.update(joined, pairs=model.pairs.table)
    elif isinstance(model, EndlessHidden):
        parts, header["version"] = {"": model}, 4
    elif isinstance(model, PairChain):
        parts, header["version"] = {"": model}, 5
    elif isinstance(model, Models | MarkovChain | HiddenMarkovModel):
        parts = model if isinstance(model, Models) else {"": model}
    else:
        raise FileFormatError(
            f"a {type(model).__name__} cannot be saved; give a chain, a hidden Markov model, Models or a routine (of "
            "routine.since(date), the routine)"
        )
    for name, part in parts.items():
        described, held = _described(part)
        header["parts"][name] = described
        contents.update({f"{name}/{key}": array for key, array in held.items()})
    with written_whole(path) as file:
        np.savez_compressed(file, allow_pickle=False, header=np.array(json.dumps(header)), **contents)


def files_for(out: Path, people: Sequence[str]) -> dict[str, Path]:
    """The file of each person: `out` itself for one, files in the folder `out` for several."""
    if len(people) == 1 and not out.is_dir():
        return {people[0]: out}
    if out.exists() and not out.is_dir():
        raise FileFormatError(
            f"{out}: is a file, and there are {len(people)} people; give a folder, or choose one person"
        )
    return {name: out / f"{quote(name, safe=' @+,')}{ENDING}" for name in people}


def files_in(folder: Path) -> dict[str, Path]:
    """The file of each person in a folder that `files_for` named the files of, people by name."""
    found = {person_of(path.name): path for path in folder.glob(f"*{ENDING}") if path.is_file()}
    if not found:
        raise FileFormatError(f"{folder}: holds no {ENDING} file; make one for each person with `discreet learn`")
    return dict(sorted(found.items()))


def person_of(file: str) -> str:
    """Whose model a file of such a folder is, by its name."""
    return unquote(file.removesuffix(ENDING))


def move_models(made: Path, out: Path, people: int) -> None:
    """Move the models of a folder to where `files_for` says; a new folder appears whole or not at all.

    Each was saved there under the name that it has in a folder. What a process has left that was ended while it wrote
    is not moved.
    """
    try:
        for part in made.glob(".*"):
            part.unlink()
        if people > 1 and not out.exists():
            made.chmod(0o755)
            made.rename(out)
            return
        for file in sorted(made.iterdir()):
            file.replace(out / file.name if out.is_dir() else out)
    except OSError as error:
        raise FileFormatError(f"{out}: cannot be written: {error.strerror}; choose another place") from None


@overload
def load(path: str | Path) -> AnyModel | EndlessHidden: ...


@overload
def load(path: str | Path, kind: type[Kind]) -> Kind: ...


def load(path: str | Path, kind: type[Kind] | None = None) -> Kind | AnyModel | EndlessHidden:
    """Read what `save` wrote; a damaged, foreign or newer file is an error that says so.

    With `kind`, such as `MarkovChain`, a file of another kind of model is an error too, and an editor knows what it is.
    """
    checked_path(path, "load")
    if kind is not None and not isinstance(kind, type):
        raise DiscreetError(f"load: the kind is {words_for(kind)}; give a class, such as MarkovChain, or leave it out")
    model = _read(Path(path))[0]
    if kind is not None and not isinstance(model, kind):
        raise FileFormatError(
            f"{path}: holds {words_for(model)}, not a {kind.__name__}; load it as what it is, or learn it again"
        )
    return model


def load_days(path: str | Path) -> AnyModel:
    """Read habits that have days, for whoever works by dates; others are an error."""
    model = load(path)
    if isinstance(model, EndlessHidden):
        raise FileFormatError(
            f"{path}: is a hidden Markov model without end, which has positions and no days; use it from Python "
            "(docs/endless.md), or give habits that discreet learn wrote"
        )
    return model


def truth_of(path: str | Path) -> dict[str, Any] | None:
    """How true the habits of a file were on held-out days, as it says; None where it does not."""
    found: dict[str, Any] | None = _read(Path(path))[1].get("truth")
    return found


def reading_of(path: str | Path) -> dict[str, Any]:
    """How the readings that habits were learned from were read, as their file says; nothing where it does not."""
    found = _read(Path(path))[1].get("reading")
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> tuple[AnyModel | EndlessHidden, dict[str, Any]]:
    refuse_address(path)
    try:
        # Opened here, because NumPy leaves a damaged file open.
        with path.open("rb") as file, _stored(file) as stored:
            header = json.loads(str(stored["header"]))
            if header["format"] != FORMAT:
                raise KeyError("format")
            if header["version"] > VERSION:
                raise FileFormatError(
                    f"{path}: written in format {header['version']}, this discreet reads up to {VERSION}; "
                    "upgrade discreet"
                )
            if header["version"] < 1 or not header["parts"]:
                raise ValueError("the header makes no sense")
            return _opened(header, stored), header
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such model file; make one with `discreet learn`") from None
    except FileFormatError:
        raise
    except Exception as error:  # a damaged zip fails in many ways: bad zip, zlib, tokens, encryption, memory
        told = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise FileFormatError(
            f"{path}: not a discreet model, or damaged ({told}); make a new one with `discreet learn`"
        ) from None


def _stored(file: BinaryIO) -> Any:
    """The arrays of a file, if it is a zip at all: of others NumPy would say how to unpickle them."""
    if file.read(4) != b"PK\x03\x04":
        raise ValueError("it is no zip of arrays")
    file.seek(0)
    return np.load(file, allow_pickle=False)


def _opened(header: Mapping[str, Any], stored: Arrays) -> AnyModel | EndlessHidden:
    if set(header["parts"]) == {""} and header["parts"][""]["slots"] is None:
        contexts = header["parts"][""]["contexts"]
        return EndlessHidden(contexts, stored["/initial"], stored["/transition"], stored["/emissions"])
    parts = {
        name: _restored(described, {key: stored[f"{name}/{key}"] for key in described["arrays"]})
        for name, described in header["parts"].items()
    }
    if "pairs" in header:
        return _restored_pairs(header, _chains(parts), stored)
    if "routine" in header:
        return _restored_routine(header["routine"], _chains(parts), stored)
    return parts[""] if set(parts) == {""} else Models(_chains(parts))


def _chains(parts: Mapping[str, MarkovChain | HiddenMarkovModel]) -> dict[str, MarkovChain]:
    for name, part in parts.items():
        if not isinstance(part, MarkovChain):
            raise ValueError(f"the model of a {name} is no Markov chain")
    return {name: part for name, part in parts.items() if isinstance(part, MarkovChain)}


def _described(
    model: MarkovChain | HiddenMarkovModel | EndlessHidden,
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The JSON part and the arrays of one model; an array that repeats over slots is stored once."""
    held: dict[str, np.ndarray[Any, Any]]
    if isinstance(model, EndlessHidden):
        held = {"initial": model.initial, "transition": model.transition(0), "emissions": model.emissions}
        return {"kind": "hidden", "contexts": list(model.contexts), "slots": None, "arrays": sorted(held)}, held
    held = {"initial": model.initial, "transitions": _once(model.transitions)}
    if isinstance(model, PairChain):
        held["table"] = model.pairs.table
    described: dict[str, Any] = {
        "kind": "pairs" if isinstance(model, PairChain) else "chain" if isinstance(model, MarkovChain) else "hidden",
        "contexts": list(model.contexts),
        "slots": model.slots,
    }
    if model.clock is not None:
        described["clock"] = {"slots": model.clock.slots, "zone": model.clock.zone, "cut": model.clock.cut}
    if isinstance(model, PairChain):
        pass
    elif isinstance(model, HiddenMarkovModel):
        held["emissions"] = _once(model.emissions)
    elif model.counts is not None:
        described["learned"] = {"smoothing": model.counts.smoothing, "fixed": model.counts.fixed}
        held |= {"initial_counts": model.counts.initial, "transition_counts": model.counts.transitions}
    described["arrays"] = sorted(held)
    return described, held


def _once(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array[:1] if len(array) > 1 and array.strides[0] == 0 else array


def _restored(
    described: Mapping[str, Any], held: Mapping[str, np.ndarray[Any, Any]]
) -> MarkovChain | HiddenMarkovModel:
    slots, contexts = int(described["slots"]), described["contexts"]
    clock = Clock(**described["clock"]) if "clock" in described else None
    if described["kind"] == "pairs":
        return PairChain(Pairs(tuple(contexts), held["table"]), held["initial"], held["transitions"], clock=clock)
    repeats = len(held["transitions"]) == 1 and slots > 2
    if described["kind"] == "hidden":
        emissions = held["emissions"][0] if len(held["emissions"]) == 1 else held["emissions"]
        if repeats:
            hidden = HiddenMarkovModel.homogeneous(contexts, held["initial"], held["transitions"][0], emissions, slots)
            hidden.clock = clock
            return hidden
        return HiddenMarkovModel(contexts, held["initial"], held["transitions"], emissions, clock=clock)
    if repeats:
        chain = MarkovChain.homogeneous(contexts, held["initial"], held["transitions"][0], slots)
        chain.clock = clock
        return chain
    counts = None
    if "learned" in described:
        counts = Counts(tuple(contexts), held["initial_counts"], held["transition_counts"], **described["learned"])
    return MarkovChain(contexts, held["initial"], held["transitions"], counts=counts, clock=clock)


# --- routines: beside the chain of each kind of day, nights, and what was learned


def _described_routine(
    routine: Routine, learned: Learned | None
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    if routine.by == "own":
        raise FileFormatError(
            "the routine has a rule of its own for kinds of day, which a file cannot hold; save its chains and nights "
            "apart and give Routine(..., kind_of=...) the rule again"
        )
    held: dict[str, np.ndarray[Any, Any]] = {f"nights/{k}": rows for k, rows in enumerate(routine.nights.values())}
    described: dict[str, Any] = {"by": routine.by, "nights": [list(pair) for pair in routine.nights]}
    if learned is not None:
        for kind, counts in learned.days.items():
            held |= {f"learned/{kind}/initial": counts.initial, f"learned/{kind}/transitions": counts.transitions}
        held |= {f"learned/{a}/{b}": steps for (a, b), steps in learned.nights.items()}
        described["learned"] = {
            "smoothing": learned.smoothing,
            "floor": learned.floor,
            "declared": list(learned.declared),
            "fixed": learned.fixed,
            "until": [[person, date.isoformat(), last] for person, (date, last) in learned.until.items()],
        }
        if learned.recent is not None:
            described["learned"]["recent"], more = _described_recent(learned.recent)
            held |= more
    return described, held


def _described_recent(recent: LearningState) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    held: dict[str, np.ndarray[Any, Any]] = {"recent/scores": recent.scores}
    for name, counts in (("counts", recent.counts), ("judged_from", recent.judged_from)):
        if counts is not None:
            held |= {f"recent/{name}/{key}": getattr(counts, key) for key in FADED}
    return {"dates": recent.dates, "steps": recent.steps, "judged": recent.judged_from is not None}, held


def _restored_recent(described: Mapping[str, Any], floor: float, stored: Arrays) -> LearningState:
    def faded(name: str) -> Faded:
        return Faded(*(stored[f"recent/{name}/{key}"] for key in FADED))

    before = faded("judged_from") if described["judged"] else None
    return LearningState(
        faded("counts"), floor, described["dates"], before, stored["recent/scores"], described["steps"]
    )


def _restored_routine(described: Mapping[str, Any], chains: Mapping[str, MarkovChain], stored: Arrays) -> Routine:
    by = checked_by(described["by"])
    nights = {(a, b): stored[f"nights/{k}"] for k, (a, b) in enumerate(described["nights"])}
    learned = _restored_learned(described, chains, next(iter(chains.values())).contexts, stored)
    observers = [_restored_observer(number, chains, nights, stored) for number in range(described.get("observers", 0))]
    return Routine(chains, nights, kind_of=RULES[by], learned=learned, observers=observers)


def _restored_learned(
    described: Mapping[str, Any], kinds: Collection[str], contexts: tuple[str, ...], stored: Arrays
) -> Learned | None:
    """What a routine was learned from, over these contexts."""
    if "learned" not in described:
        return None
    given = described["learned"]
    days = {
        kind: counts_of(
            given["smoothing"], contexts, stored[f"learned/{kind}/initial"], stored[f"learned/{kind}/transitions"]
        )
        for kind in kinds
    }
    return Learned(
        days,
        {(a, b): stored[f"learned/{a}/{b}"] for a in kinds for b in kinds},
        {person: (dt.date.fromisoformat(date), last) for person, date, last in given["until"]},
        checked_by(described["by"]),
        given["smoothing"],
        given["floor"],
        tuple(given["declared"]),
        given["fixed"],
        _restored_recent(given["recent"], given["floor"], stored) if "recent" in given else None,
    )


def _restored_pairs(header: Mapping[str, Any], chains: Mapping[str, MarkovChain], stored: Arrays) -> PairRoutine:
    described, contexts = header["routine"], tuple(header["pairs"]["contexts"])
    nights = {(a, b): stored[f"nights/{k}"] for k, (a, b) in enumerate(described["nights"])}
    over = Routine(chains, nights, kind_of=RULES[checked_by(described["by"])])
    learned = _restored_learned(described, chains, contexts, stored)
    return PairRoutine(Pairs(contexts, stored["pairs"]), over, learned)


def _arrays_of_observer(
    number: int, observer: Routine, nights: Iterable[tuple[str, str]]
) -> dict[str, np.ndarray[Any, Any]]:
    """What an observer of a routine holds; contexts, kinds, clock and the order of nights are the routine's."""
    held: dict[str, np.ndarray[Any, Any]] = {}
    for kind in observer.kinds:
        chain = observer.day(kind)
        held |= {f"observer/{number}/{kind}/initial": chain.initial}
        held |= {f"observer/{number}/{kind}/transitions": chain.transitions}
    return held | {f"observer/{number}/nights/{k}": observer.nights[pair] for k, pair in enumerate(nights)}


def _restored_observer(
    number: int, chains: Mapping[str, MarkovChain], nights: Mapping[tuple[str, str], Any], stored: Arrays
) -> Routine:
    own = f"observer/{number}"
    days = {
        kind: MarkovChain(
            chain.contexts,
            stored[f"{own}/{kind}/initial"],
            stored[f"{own}/{kind}/transitions"],
            clock=chain.clock,
        )
        for kind, chain in chains.items()
    }
    return Routine(days, {pair: stored[f"{own}/nights/{k}"] for k, pair in enumerate(nights)})
