"""The files of one person beside the settings: made in a folder beside, read once as a gateway reads them, then moved.

The settings are moved last: what they name is then there. So at any moment the folder has either the old settings or
the new, and the files of whichever it has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.config.section import duration_text
from discreet.gateway.config.settings import PersonSettings, Settings
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.models.store import save

READ: Mapping[str, str | None] = {
    "user": "user",
    "time": "timestamp",
    "context": "context",
    "start": None,
    "end": None,
    "naive_zone": None,
    "separator": None,
    "time_format": None,
}
"""How imported readings are read, as a model's file keeps it beside the carry."""


@dataclass(frozen=True)
class Names:
    """The files of one person in the folder."""

    readings: str
    places: str
    page: str
    model: str
    policy: str

    @classmethod
    def of(cls, person: str, settings: Settings | None) -> Names:
        """Those of a folder's first person have plain names; those of others begin with theirs, unless settings say."""
        own = quote(person, safe=" @+,")
        if settings is None or not settings.people:
            return cls.called(f"{own}.model", "")
        known = settings.people.get(person)
        if known is None:
            return cls.called(f"{own}.model", f"{own}-")
        folder = settings.file.parent.resolve()
        for path in (known.routine, known.policy, known.places):
            if path is not None and path.resolve().parent != folder:
                raise DiscreetError(
                    f"{settings.file}: {path} lies elsewhere, and setup writes into one folder; move it there, or edit "
                    "the settings by hand"
                )
        ending = "policy.toml"
        prefix = known.policy.name.removesuffix(ending) if known.policy.name.endswith(ending) else ""
        names = cls.called(known.routine.name, prefix)
        map_ = names.places if known.places is None else known.places.name
        return replace(names, policy=known.policy.name, places=map_)

    @classmethod
    def called(cls, model: str, prefix: str) -> Names:
        """The names with a beginning."""
        return cls(
            f"{prefix}readings.parquet",
            f"{prefix}places.geojson",
            f"{prefix}places.html",
            model,
            f"{prefix}policy.toml",
        )


@dataclass(frozen=True)
class SetupResult:
    """What was decided of one person; readings, map and policy are in the staging folder already."""

    person: str
    clock: Clock
    carry: float
    """Seconds."""
    mechanism: Spec
    mapped: bool


def stage(
    staging: Path,
    file: Path,
    names: Names,
    before: Settings | None,
    decided: SetupResult,
    routine: Routine,
    truth: Mapping[str, object],
) -> PersonSettings:
    """Model and settings to the files that are staged, all read once as the gateway will read them.

    `file` is where the settings will be; those of `before` are kept but for this person. Settings that would say the
    same as before are left out, with what the person wrote into them.
    """
    save(staging / names.model, routine, truth, {**READ, "carry": duration_text(decided.carry)})
    person = PersonSettings(
        decided.person,
        staging / names.model,
        staging / names.policy,
        staging / names.places if decided.mapped else None,
        decided.mechanism,
        decided.carry,
    )
    alone = Settings(staging / file.name, decided.clock, {decided.person: person})
    alone.file.write_text(alone.text(), encoding="utf-8")
    Settings.read(alone.file).opened()
    own = {decided.person: person.moved(file.parent)}
    people = {} if before is None else before.people
    whole = replace(before or Settings(file, decided.clock, {}), clock=decided.clock, people={**people, **own})
    if whole == before:
        alone.file.unlink()
    elif before is not None and before.file.exists():
        text = before.file.read_bytes().decode()
        alone.file.write_bytes(before.text_with(text, decided.clock, own[decided.person]).encode())
    else:
        alone.file.write_text(whole.text(), encoding="utf-8")
    return person


def move(staging: Path, file: Path) -> list[Path]:
    """Every staged file to its place beside the settings, which come last."""
    staged = sorted(staging.iterdir(), key=lambda path: (path.name == file.name, path.name))
    for path in staged:
        with path.open("rb+") as opened:
            os.fsync(opened.fileno())  # or a name could be there before its bytes are, if the machine stops
    return [path.replace(file.parent / path.name) for path in staged]
