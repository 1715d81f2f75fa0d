from __future__ import annotations

import pytest

from discreet.choosing import words
from discreet.choosing.suggest import BY_NAME

SAYS = {
    "medical": [
        "hospital",
        "St. Mary's Hospital",
        "Uniklinik",
        "Zahnarztpraxis Müller",
        "Ärztehaus",
        "Aerztehaus",
        "Hôpital Saint-Louis",
        "clínica dental",
        "Farmacia",
        "Apotheke",
        "psychotherapy",
    ],
    "worship": ["St. Paul's Church", "Frauenkirche", "église", "Mezquita", "Moschee", "synagogue", "templo"],
    "politics": ["union office", "Gewerkschaftshaus", "syndicat CGT", "sindicato", "Parteibüro"],
    "intimate": ["gay bar", "sex shop", "Bordell"],
    "justice": ["court", "Amtsgericht", "police station", "Polizei", "comisaría", "Rechtsanwalt", "prison"],
    "pleasure": ["bar", "The Red Lion pub", "casino", "Spielhalle", "discoteca", "Eckkneipe"],
}
SAYS_NOTHING = [
    "home",
    "work",
    "supermarket",
    "Barcelona",
    "barber",
    "tennis court",
    "courtyard",
    "Church Street",
    "sports club",
    "republic",
    "Union Square",
    "convention centre",
    "Domino's",
    "public library",
    "place 3",
    "adult education",
    "gesucht",
    "公園",
    "",
]


def rule_of(name: str) -> str | None:
    return next((rule.name for rule in BY_NAME if words.says(name, rule.patterns, rule.unless)), None)


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, names in SAYS.items() for name in names])
def test_names_say_what_a_place_is(rule: str, name: str) -> None:
    assert rule_of(name) == rule


@pytest.mark.parametrize("name", SAYS_NOTHING)
def test_names_that_look_alike_say_nothing(name: str) -> None:
    assert rule_of(name) is None


def test_umlauts_are_read_in_either_spelling() -> None:
    assert words.spellings("Ärztehaus") == (("arztehaus",), ("aerztehaus",))
    assert words.words_of("Café-Bar (Süd), Straße 5") == ("cafe", "bar", "sud", "strasse", "5")
