from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from discreet.adversary.known import known
from discreet.choosing import suggest
from discreet.choosing.odds import odds, odds_in_words, percent, when_in_words
from discreet.choosing.policy_text import suggested_text
from discreet.choosing.presence import presence
from discreet.choosing.suggest import DELTA, RARE_DAYS, RULES, STRICT
from discreet.errors import DiscreetError
from discreet.places import Circle, Place, Places
from discreet.policy import Policy, Secret, read_policy
from tests.choosing.routines import CLOCK, lived

LONG = 280  # days, a whole number of weeks

ROUTINE = lived(
    LONG,
    {
        "hospital": (14, range(10, 12)),
        "Apotheke": (14, range(12, 13)),
        "gym": (2, range(18, 20)),
        "bar": (1, range(20, 21)),
        "Kim's flat": (10, range(22, 24)),
        "lake": (70, range(14, 16)),
        "place 9": (40, range(6)),
    },
)
FOUND = {one.name: one for one in suggest(ROUTINE).suggestions}


def test_each_rule_finds_its_own() -> None:
    assert {name: (one.rule.name, set(one.secret.contexts)) for name, one in FOUND.items()} == {
        "medical": ("medical", {"hospital", "Apotheke"}),
        "pleasure": ("pleasure", {"bar"}),
        "medical in a month": ("medical", {"hospital", "Apotheke"}),
        "nights elsewhere": ("nights", {"place 9"}),
        "lake": ("rare", {"lake"}),
    }


def test_a_visit_is_the_secret_and_where_one_goes_most_days_its_hours() -> None:
    assert FOUND["medical"].secret.at == "any"
    often = presence(ROUTINE, {"hospital", "Apotheke"}).days
    assert often == pytest.approx(1 / 14, abs=0.002)  # a routine is total: a little of everything is mixed in
    assert f"{percent(often)} of the days; hides that you go there on a day" in FOUND["medical"].why
    assert FOUND["pleasure"].secret.at == "each"
    assert "it is known that you go" in FOUND["pleasure"].why


def test_nights_are_one_window_over_midnight() -> None:
    night = FOUND["nights elsewhere"].secret
    assert night.at == "any"
    assert night.slots == frozenset(CLOCK.between("22:00", "06:00"))
    assert night.begins == 22
    assert FOUND["nights elsewhere"].between == ("22:00", "06:00")


def test_nights_at_home_and_at_work_are_no_secret() -> None:
    found = suggest(lived(LONG, {"work at night": (20, range(6))}))
    assert not [one for one in found.suggestions if one.rule.name == "nights"]
    shifts = suggest(lived(LONG, {"dormitory": (1, range(8))}))  # most of the nights: a second home
    assert not [one for one in shifts.suggestions if "dormitory" in one.secret.contexts]


def test_without_a_clock_nothing_is_said_of_nights() -> None:
    found = suggest(lived(LONG, {"Kim": (20, range(6))}, clock=None))
    assert not [one for one in found.suggestions if one.rule.name == "nights"]


def test_what_is_rare_is_listed_and_proposed_only_where_nothing_else_is() -> None:
    assert not FOUND["lake"].proposed
    assert presence(ROUTINE, {"lake"}).days < RARE_DAYS < presence(ROUTINE, {"gym"}).days
    alone = suggest(lived(LONG, {"lake": (70, range(14, 16))}))
    assert [one.name for one in alone.proposed] == ["lake"]


def test_a_plain_life_suggests_nothing() -> None:
    assert suggest(lived(28, {})).suggestions == ()


def test_the_law_makes_delta_half() -> None:
    policy = suggest(ROUTINE).policy()
    assert policy.delta == DELTA
    by_name = {secret.name: policy.delta_of(secret) for secret in policy.secrets}
    assert by_name == {"medical": STRICT * DELTA, "pleasure": DELTA, "nights elsewhere": DELTA}
    stricter = suggest(ROUTINE).at(0.02).policy()
    assert {stricter.delta_of(secret) for secret in stricter.secrets} == {0.01, 0.02}


def test_what_a_person_names_is_a_secret_whatever_the_rules() -> None:
    found = suggest(ROUTINE, also=["gym", "home"])
    assert [one.name for one in found.proposed][:2] == ["gym", "home"]
    with pytest.raises(DiscreetError, match="did you mean 'hospital'"):
        suggest(ROUTINE, also=["hopsital"])


def test_only_some_are_kept() -> None:
    kept = suggest(ROUTINE).only(["lake", "medical"])
    assert [one.name for one in kept.proposed] == ["medical", "lake"]
    with pytest.raises(DiscreetError, match="did you mean 'medical'"):
        kept.only(["medicla"])


def test_the_map_may_say_what_a_name_does_not() -> None:
    clinic = Place("place 9", Circle(48.0, 11.0, 80), 9, {"amenity": "clinic"})
    found = {one.name: one for one in suggest(ROUTINE, Places([clinic])).suggestions}
    assert "place 9" in found["medical"].secret.contexts
    assert "place 9: the map suggests health" in found["medical"].why


def test_presence_agrees_with_what_an_observer_knows() -> None:
    policy = Policy([Secret("medical", {"hospital", "Apotheke"}, at="any")])
    told = known(ROUTINE, policy)
    week = (5 * told["weekday"][0].mean + 2 * told["weekend"][0].mean) / 7
    assert presence(ROUTINE, {"hospital", "Apotheke"}).days == pytest.approx(week, abs=1e-12)
    assert presence(ROUTINE, set(ROUTINE.contexts)).days == pytest.approx(1, abs=1e-12)


def test_the_text_is_the_policy(tmp_path: Path) -> None:
    found = suggest(ROUTINE)
    path = tmp_path / "policy.toml"
    path.write_text(suggested_text(found, ROUTINE), encoding="utf-8")
    assert read_policy(path, CLOCK)[0] == found.policy()
    assert "# lake" not in path.read_text(encoding="utf-8").replace("# rare: lake", "")
    uncommented = path.read_text(encoding="utf-8").replace("# [[", "[[").replace("# name", "name")
    uncommented = uncommented.replace("# contexts", "contexts").replace("# at =", "at =")
    path.write_text(uncommented, encoding="utf-8")
    assert [secret.name for secret in read_policy(path, CLOCK)[0].secrets] == list(FOUND)


def test_the_text_says_why_and_what_delta_means() -> None:
    text = suggested_text(suggest(ROUTINE), ROUTINE)
    one = odds(ROUTINE, suggest(ROUTINE).policy())["medical"]
    assert odds_in_words(one) in text.replace("\n# ", " ")
    assert one.limit == pytest.approx(one.highest + STRICT * DELTA)
    assert "uncomment it" in text


def test_names_of_any_kind_survive_the_file(tmp_path: Path) -> None:
    odd = 'Dr. "Bob"\\ Klinik, Zürich'
    routine = lived(LONG, {odd: (14, range(10, 12))})
    path = tmp_path / "policy.toml"
    path.write_text(suggested_text(suggest(routine), routine), encoding="utf-8")
    assert tomllib.loads(path.read_text(encoding="utf-8"))["secret"][0]["contexts"] == [odd]


def test_rules_are_named_and_explained() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) == 8
    assert all(rule.because for rule in RULES)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.0001, "under 0.1 %"), (0.023, "2.3 %"), (0.1, "10 %"), (0.9999, "over 99.9 %"), (1.0, "100 %")],
)
def test_percent(share: float, words: str) -> None:
    assert percent(share) == words


def test_health_in_a_month_is_listed_with_what_habits_tell_of_it() -> None:
    """Belief in a visit today may rise to that in one this month: neither secret implies the other."""
    listed = FOUND["medical in a month"]
    assert not listed.proposed
    assert (listed.secret.at, listed.secret.over) == ("any", "month")
    found = suggest(ROUTINE).only(["medical", "medical in a month"])
    told = odds(ROUTINE, found.policy())
    assert told["medical"].highest < 0.3 < 0.7 < told["medical in a month"].highest < told["medical in a month"].limit
    assert when_in_words(listed.secret, CLOCK) == "at some time of the month"
