"""The settings of somebody whose files are made: written beside those, and read once as a gateway reads them."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.config.settings import PersonSettings, Settings
from discreet.setup.files import Names, SetupResult


def names_of(person: str, settings: Settings | None) -> Names:
    """What the person's files are called: as the settings say, or as those of a new person are."""
    known = None if settings is None else settings.people.get(person)
    if settings is None or known is None:
        return Names.of(person, first=settings is None or not settings.people)
    folder = settings.file.parent.resolve()
    for path in (known.routine, known.policy, known.places):
        if path is not None and path.resolve().parent != folder:
            raise DiscreetError(
                f"{settings.file}: {path} lies elsewhere, and setup writes into one folder; move it there, or edit the "
                "settings by hand"
            )
    names = Names.called(known.routine.name, _prefix_of(known))
    map_ = names.places if known.places is None else known.places.name
    return replace(names, policy=known.policy.name, places=map_)


def history_file(person: PersonSettings) -> Path | None:
    """What was imported for somebody, beside their policy, where setup has left it."""
    file = person.policy.parent / Names.called("", _prefix_of(person)).readings
    return file if file.is_file() else None


def _prefix_of(person: PersonSettings) -> str:
    ending = "policy.toml"
    return person.policy.name.removesuffix(ending) if person.policy.name.endswith(ending) else ""


def stage_settings(
    staging: Path, file: Path, names: Names, before: Settings | None, decided: SetupResult, also: str = ""
) -> None:
    """The settings to the files that are staged, all of which are read once as the gateway will read them.

    `file` is where the settings will be; of those of `before` only this person's section is changed. Settings that
    would say the same as before are left out. `also` is the text of further sections, for the end of the file.
    """
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
        alone.file.write_bytes(with_sections(before.text_with(text, decided.clock, own[decided.person]), also).encode())
    else:
        alone.file.write_text(with_sections(whole.text(), also), encoding="utf-8")


def with_sections(text: str, also: str) -> str:
    """The text of a file with further sections at its end; an error where it would not be TOML any more."""
    whole = text.rstrip("\n") + "\n" + also if also else text
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError:
        raise DiscreetError(f"discreet.toml: write these sections into it by hand, and try again:\n{also}") from None
    return whole
