from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.choosing.choices import hierarchy_for, spec_of
from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.app import plan_of
from discreet.gateway.config.settings import PersonSettings, Settings
from discreet.mechanisms.named import Spec
from discreet.models.store import save
from discreet.places import Circle, Place, Places, write_places
from tests.choosing.routines import CLOCK, lived
from tests.choosing.test_choices import CAMPUS

WHOLE = """
[clock]
slots = 24
zone = "Europe/Berlin"

[people.jane]
routine = "jane.model"
policy = "policy.toml"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "jane.model", lived(28, {"hospital": (7, range(10, 12))}))
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["hospital"]\n', encoding="utf-8")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "discreet.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_relative_to_itself(folder: Path) -> None:
    settings = Settings.read(written(folder, WHOLE))
    assert settings.clock == CLOCK
    jane = settings.people["jane"]
    assert jane == PersonSettings(
        "jane", folder / "jane.model", folder / "policy.toml", None, Spec("adaptive"), 4 * 3600.0
    )
    served = settings.opened()["jane"]
    assert served.routine.clock == CLOCK
    assert [secret.name for secret in served.policy.secrets] == ["hospital"]
    assert served.places is None


def test_what_is_written_is_read(folder: Path) -> None:
    tree = hierarchy_for(lived(28, {"hospital": (7, range(10, 12)), "gym": (2, range(18, 20))}), CAMPUS)
    people = {
        name: PersonSettings(name, folder / "jane.model", folder / "policy.toml", None, spec, carry)
        for name, spec, carry in [
            ("jane", Spec("adaptive", {"outputs": "deceive"}), 1800.0),
            ('O"Neil, 2nd', spec_of("generalize", tree), 0.0),
        ]
    }
    settings = Settings(folder / "discreet.toml", Clock(96, "America/New_York", "04:00"), people)
    assert Settings.read(written(folder, settings.text())) == settings


def test_a_mechanism_of_ones_own_options(folder: Path) -> None:
    read = Settings.read(written(folder, WHOLE + '[people.jane.mechanism]\nname = "hybrid"\n'))
    assert read.people["jane"].mechanism == Spec("hybrid")
    read = Settings.read(written(folder, WHOLE + 'carry = "30m"\n[people.jane.mechanism]\noutputs = "deceive"\n'))
    assert read.people["jane"].mechanism == Spec("adaptive", {"outputs": "deceive"})
    assert read.people["jane"].carry == 1800


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "clock.zone: is missing; give a time zone"),
        ("[clock", "not a TOML file"),
        ('clock = "UTC"', "clock: is 'UTC'; write it as a table"),
        ('[clock]\nzone = "UTC"', "people: there is nobody"),
        ('[clock]\nzone = "UTC"\nslot = 48\n', "clock.slot: is not known; did you mean 'slots'?"),
        ('[clock]\nzone = "UTC"\nslots = true\n', "clock.slots: is True; give the number of slots"),
        ('[clock]\nzone = "Mars"\n', "clock: time zone 'Mars' is not known"),
        (WHOLE.replace("jane.model", "june.model"), "people.jane.routine: there is no such file as"),
        (WHOLE.replace("policy =", "polcy ="), "people.jane.policy: is missing"),
        (WHOLE + "polcy = 1\n", "people.jane.polcy: is not known; did you mean 'policy'?"),
        (WHOLE + 'carry = "long"\n', "people.jane.carry: is 'long'; write a time such as '4h'"),
        (
            WHOLE + '[people.jane.mechanism]\noutput = "deceive"\n',
            "people.jane.mechanism: adaptive has no option 'output'",
        ),
        (
            WHOLE + '[people.jane.mechanism]\nname = "adaptiv"\n',
            "people.jane.mechanism: there is no mechanism 'adaptiv'",
        ),
        (WHOLE + "[brocker]\nport = 1\n", "brocker: is not known"),
        (
            WHOLE.replace("people.jane", 'people."the cat"').replace("jane.m", "cat.m"),
            'people."the cat".routine: there',
        ),
    ],
)
def test_errors_name_the_key(folder: Path, text: str, told: str) -> None:
    with pytest.raises(DiscreetError) as error:
        Settings.read(written(folder, text))
    assert str(error.value).startswith(f"{folder / 'discreet.toml'}: ")
    assert told in str(error.value)


def test_files_that_do_not_fit_are_refused(folder: Path) -> None:
    settings = Settings.read(written(folder, WHOLE.replace("24", "48")))
    with pytest.raises(DiscreetError, match=r"people\.jane\.routine: was learned with Clock\(slots=24"):
        settings.opened()
    (folder / "policy.toml").write_text('[[secret]]\ncontexts = ["hopsital"]\n', encoding="utf-8")
    with pytest.raises(DiscreetError, match=r"people\.jane\.policy: .*did you mean 'hospital'"):
        Settings.read(written(folder, WHOLE)).opened()
    (folder / "jane.model").write_bytes(b"no model")
    with pytest.raises(DiscreetError, match=r"people\.jane\.routine: .*not a discreet model"):
        Settings.read(written(folder, WHOLE)).opened()
    with pytest.raises(DiscreetError, match="make it with discreet setup"):
        Settings.read(folder / "none.toml")


def test_the_page_has_tiles_and_the_map_its_file(folder: Path) -> None:
    (folder / "here.mbtiles").touch()
    write_places(folder / "places.geojson", Places([Place("home", Circle(48.1, 11.5, 100))]))
    text = WHOLE + 'places = "places.geojson"\n[page]\ntiles = "here.mbtiles"\n'
    settings = Settings.read(written(folder, text))
    assert settings.page.tiles == folder / "here.mbtiles"
    plan = plan_of(replace(settings, applications={}))
    assert (plan.page, plan.maps) == (settings.page, {"jane": folder / "places.geojson"})
    assert (plan.file, plan.views_in_use) == (settings.file, frozenset())
    with pytest.raises(DiscreetError, match=r"page\.tiles"):
        Settings.read(written(folder, WHOLE + '[page]\ntiles = "nowhere.mbtiles"\n'))
