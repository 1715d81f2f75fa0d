from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import prefixes
from discreet.clock import Clock
from discreet.errors import PolicyError
from discreet.numerics import digest_of
from discreet.policy import Guarantee, Policy, Secret, read_policy
from tests.strategies import RandomMechanism, random_chain, searches


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_string_is_the_secret_of_that_context() -> None:
    assert Policy(["hospital"]).secrets == (Secret("hospital", {"hospital"}),)
    assert Policy("hospital") == Policy(["hospital"])
    assert Secret("clinic", "hospital").contexts == frozenset({"hospital"})


def test_a_secret_has_its_own_delta_or_the_policys() -> None:
    own, common = Secret("a", delta=0.0), Secret("b")
    policy = Policy([own, common], delta=0.2)
    assert [policy.delta_of(secret) for secret in policy.secrets] == [0.0, 0.2]


def test_policies_are_values() -> None:
    one = Policy([Secret("x", {"a", "b"}, slots=[3, 1], at="any")], 0.1)
    other = Policy([Secret("x", ["b", "a"], slots=range(1, 4, 2), at="any")], 0.1)
    assert one == other
    assert hash(one) == hash(other)
    assert one.contexts == {"a", "b"}
    assert one.bounds_any
    assert not Policy("a").bounds_any
    assert Policy().contexts == frozenset()


@pytest.mark.parametrize("delta", [-0.1, 1.1, float("nan"), float("inf"), True, False])
def test_delta_outside_0_to_1_is_refused_by_name(delta: float) -> None:
    with pytest.raises(PolicyError, match=r"delta of the policy is .*; give a number from 0 to 1"):
        Policy("a", delta)
    with pytest.raises(PolicyError, match=r"delta of secret 'a' is .*; give a number from 0 to 1"):
        Secret("a", delta=delta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, r"a secret has no name; name it"),
        ({"name": "a", "contexts": []}, r"secret 'a' names no context; list at least one"),
        ({"name": "a", "contexts": [3]}, r"secret 'a' names 3, which is not a label; use non-empty strings"),
        ({"name": "a", "contexts": ["b", ""]}, r"secret 'a' names '', which is not a label"),
        ({"name": "a", "slots": []}, r"secret 'a' is limited to no slot; leave slots out"),
        ({"name": "a", "begins": 3}, r"secret 'a' is at each slot, so it has no window that begins; leave begins out"),
        ({"name": "a", "at": "any", "begins": -1}, r"secret 'a' begins at -1; give a slot number, 0 or more"),
        ({"name": "a", "at": "any", "begins": True}, r"secret 'a' begins at True; give a slot number"),
        ({"name": "a", "at": "any", "begins": "22:00"}, r"secret 'a' begins at '22:00'; give a slot number"),
        ({"name": "a", "at": "any", "slots": [1, 2], "begins": 3}, r"begins at slot 3, after all of its slots"),
        ({"name": "a", "at": "some"}, r"secret 'a' has at='some'; use 'each' .* or 'any'"),
    ],
)
def test_a_secret_without_meaning_is_refused_by_name(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Secret(**arguments)  # type: ignore[arg-type]  # the mistake


def test_two_secrets_of_one_name_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"two secrets are named 'a'; give each a name of its own"):
        Policy(["a", Secret("a", {"b"})])


def test_a_policy_over_a_model_is_arrays() -> None:
    secrets: list[Secret | str] = [
        "b",
        Secret("night", {"a", "b"}, slots=[0, 3], delta=0.05),
        Secret("ever", {"c"}, at="any"),
    ]
    table = Policy(secrets, delta=0.3).for_model(("a", "b", "c"), 4)
    assert table.names == ("b", "night", "ever")
    np.testing.assert_array_equal(table.members, [[0, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(table.active, [[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]])
    np.testing.assert_array_equal(table.least_delta, [0.3, 0.05, 0.3])
    np.testing.assert_array_equal(table.any_slot, [False, False, True])
    assert table.rows == ((0, 0), (0, 1), (1, 0), (2, 0), (3, 0), (3, 1))


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        (Secret("sick", {"hospitl"}), r"secret 'sick' names context 'hospitl'.*did you mean 'hospital'\?"),
        (Secret("sick", {"zzz"}), r"names context 'zzz', which the model has never seen; known: 'home', 'hospital'"),
        (Secret("all", {"home", "hospital"}), r"secret 'all' covers every context.*name fewer contexts"),
        (Secret("home", slots=[4]), r"secret 'home' holds at slot 4, but the day has slots 0 to 3; use the clock"),
        (Secret("home", slots=[-1]), r"secret 'home' holds at slot -1, but the day has slots 0 to 3"),
    ],
)
def test_a_policy_that_does_not_fit_the_model_says_what(secret: Secret, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy([secret]).for_model(("home", "hospital"), 4)


def test_a_context_that_may_have_been_merged_is_to_be_kept() -> None:
    with pytest.raises(PolicyError, match=r"if it was merged into 'other' as rare, learn again with keep=\['bar'\]"):
        Policy(["bar"]).for_model(("home", "other"), 4)
    with pytest.raises(PolicyError, match=r"known: 'home', 'work'$"):
        Policy(["bar"]).for_model(("home", "work"), 4)


def test_verdicts_on_what_came_about_and_on_all_that_could() -> None:
    policy = Policy(["a", Secret("b", delta=0.3), "c"], delta=0.2)
    gains = {"a": 0.25, "b": 0.3}  # a delta that is met with equality is kept, and no gain is no breach
    came_about = policy.verdicts(gains)
    assert [(one.secret.name, one.delta, one.gain, one.word) for one in came_about] == [
        ("a", 0.2, 0.25, "breached"),
        ("b", 0.3, 0.3, "kept"),
        ("c", 0.2, 0.0, "kept"),
    ]
    assert [one.word for one in policy.verdicts(gains, {"a": 0.5, "b": 0.4})] == ["exceeded", "open", "within"]


NIGHT = Secret("night out", {"bar"}, slots=[0, 1, 2, 22, 23], delta=0.05, at="any", begins=22)


def test_a_window_over_the_cut_is_two_on_a_model_of_one_day() -> None:
    policy = Policy(["home", NIGHT], delta=0.2)
    table = policy.for_model(("home", "bar", "work"), 24)
    assert table.names == ("home", "night out", "night out (night before)")
    assert [np.flatnonzero(row).tolist() for row in table.active[1:]] == [[22, 23], [0, 1, 2]]
    np.testing.assert_array_equal(table.members[1:], [[0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(table.least_delta, [0.2, 0.05, 0.05])
    np.testing.assert_array_equal(table.any_slot, [False, True, True])
    np.testing.assert_array_equal(table.begins, [0, 0, 0])
    assert table.policy == policy.in_one_day(24)


def test_a_window_over_the_cut_stays_whole_where_days_are_joined() -> None:
    table = Policy(["home", NIGHT]).for_days(("home", "bar", "work"), 24)
    assert table.names == ("home", "night out")
    np.testing.assert_array_equal(table.begins, [0, 22])
    assert np.flatnonzero(table.active[1]).tolist() == [0, 1, 2, 22, 23]
    with pytest.raises(PolicyError, match="begins at slot 22, but the day has slots 0 to 11"):
        Policy([Secret("x", {"bar"}, at="any", begins=22)]).for_days(("home", "bar"), 12)


def test_where_a_window_begins_is_part_of_a_secret() -> None:
    whole = Secret("day from four", {"bar"}, at="any", begins=4)
    assert whole != Secret("day from four", {"bar"}, at="any")
    assert "begins=4" in repr(whole)
    assert Policy([whole]).fingerprint != Policy([Secret("day from four", {"bar"}, at="any")]).fingerprint
    assert [sorted(part.slots or ()) for part in whole.in_one_day(6)] == [[4, 5], [0, 1, 2, 3]]
    late = Secret("late", {"bar"}, slots=[5], at="any", begins=4)  # nothing of it is before
    assert late.in_one_day(6) == (Secret("late", {"bar"}, slots=[5], at="any"),)
    with pytest.raises(PolicyError, match="begins at slot 4, but the day has slots 0 to 3; use the clock"):
        whole.in_one_day(4)
    with pytest.raises(PolicyError, match=r"two secrets are named 'night out \(night before\)'"):
        Policy([NIGHT, Secret("night out (night before)", {"home"})]).for_model(("home", "bar"), 24)


def test_the_verdict_on_a_window_over_the_cut_is_the_worse_of_both() -> None:
    policy = Policy([NIGHT, Secret("bar")], delta=0.2)
    gains = {"night out": 0.01, "night out (night before)": 0.3, "bar": 0.1}
    bounds = {"night out": 0.4, "night out (night before)": 0.35, "bar": 0.1}
    assert [(one.gain, one.word) for one in policy.verdicts(gains)] == [(0.3, "breached"), (0.1, "kept")]
    assert [one.bound for one in policy.verdicts(gains, bounds)] == [0.4, 0.1]
    assert policy.worst(NIGHT, {"night out (night before)": -0.1}) == -0.1
    assert policy.worst(NIGHT, {}) is None


def test_both_windows_are_promised_and_judged_each_on_its_own() -> None:
    for seed in searches(6):
        chain = random_chain(seed, n=3, slots=4, zeros=0.1)
        night = Secret("night", {"c1"}, slots=[0, 1, 3], delta=0.1, at="any", begins=3)
        policy = Policy([night, "c2"], delta=0.2)
        adaptive = d.mechanisms.Adaptive(chain, policy, memory="none")
        for mechanism in (adaptive, RandomMechanism(chain, policy, seed=seed)):
            found = d.audit(mechanism)
            worst: dict[str, float] = {}
            for prefix in prefixes(mechanism, policy=policy.in_one_day(4)):
                for (name, _), gain in prefix.gains.items():
                    worst[name] = max(worst.get(name, -1.0), float(gain))
            assert found.by_secret == pytest.approx(worst, abs=1e-12), seed
            assert set(worst) == {"night", "night (night before)", "c2"}
        assert d.audit(adaptive).holds, seed
        d.laws.check(adaptive)
        with d.Session(adaptive) as session:
            session.release("c1")
            assert {"night", "night (night before)"} < set(session.gains())
        by_secret = d.evaluate(adaptive, chain.sample(3, seed)).by_secret
        assert policy.verdicts(by_secret)[0].word == "kept"


@pytest.mark.parametrize(
    ("cut", "times", "at", "begins"),
    [
        ("00:00", ("22:00", "06:00"), "any", 22),
        ("00:00", ("22:00", "06:00"), "each", 0),
        ("00:00", ("22:00", "24:00"), "any", 0),
        ("00:00", ("00:00", "24:00"), "any", 0),
        ("12:00", ("22:00", "06:00"), "any", 0),  # this clock's days hold the night whole
        ("04:00", ("22:00", "06:00"), "any", 18),
        ("04:00", ("22:00", "04:00"), "any", 0),
        ("00:00", ("22:30", "22:30"), "any", 22),
    ],
)
def test_clock_times_over_the_cut_are_one_night(
    tmp_path: Path, cut: str, times: tuple[str, str], at: str, begins: int
) -> None:
    text = f"""[[secret]]\ncontexts = ["bar"]\nbetween = {list(times)}\nat = "{at}"\n"""
    (secret,) = Policy.read(written(tmp_path, text), Clock(24, cut=cut)).secrets
    assert secret.begins == begins
    assert secret.slots == frozenset(Clock(24, cut=cut).between(*times))


def test_guarantees_promise_delta_only_where_they_cover_it() -> None:
    assert Guarantee("exact delta", "...").promises_delta("each")
    assert not Guarantee("exact delta", "...").promises_delta("any")
    assert not Guarantee("window only", "...", frozenset({"each", "any"})).promises_delta("each")


FULL = """
delta = 0.2

[clock]
slots = 24
zone = "Europe/Paris"
cut = "04:00"

[[secret]]
contexts = "hospital"

[[secret]]
contexts = ["clinic", "bar"]

[[secret]]
name = "home at night"
contexts = ["home"]
between = ["22:00", "06:00"]
delta = 0.05

[[secret]]
name = "union today"
contexts = ["union office"]
slots = [3, 4]
at = "any"
"""


def test_the_toml_form_in_full(tmp_path: Path) -> None:
    policy, clock = read_policy(written(tmp_path, FULL))
    assert clock == Clock(24, "Europe/Paris", "04:00")
    night = [18, 19, 20, 21, 22, 23, 0, 1]  # from a cut at 04:00
    assert policy == Policy(
        [
            "hospital",
            Secret("bar or clinic", {"clinic", "bar"}),
            Secret("home at night", {"home"}, slots=night, delta=0.05),
            Secret("union today", {"union office"}, slots=[3, 4], at="any"),
        ],
        delta=0.2,
    )


def test_a_clock_given_serves_files_without_one_and_the_files_own_wins(tmp_path: Path) -> None:
    secret = '[[secret]]\ncontexts = ["home"]\nbetween = ["06:00", "12:00"]\n'
    path = written(tmp_path, secret)
    assert Policy.read(path, Clock(4)).secrets[0].slots == frozenset({1})
    path = written(tmp_path, "[clock]\nslots = 8\n" + secret)
    assert Policy.read(path, Clock(4)).secrets[0].slots == frozenset({2, 3})
    assert Policy.read(written(tmp_path, "secret = []")) == Policy((), 0.1)


@pytest.mark.parametrize("text", ["", "delta = 0.2\n", "[clock]\nslots = 48\n"])
def test_a_file_without_a_secret_is_refused(tmp_path: Path, text: str) -> None:
    """Whatever is shown keeps an empty policy: that would be a promise of nothing."""
    with pytest.raises(PolicyError, match=r"there is no secret in it; add \[\[secret\]\]"):
        Policy.read(written(tmp_path, text))


S = '[[secret]]\ncontexts = ["a"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delta = ", r"not a TOML file: "),
        ("dleta = 0.1", r"the file has an unknown key 'dleta'; did you mean 'delta'\?"),
        ('delta = "0.1"', r"delta is '0.1', not a number; give one from 0 to 1"),
        ("delta = true", r"delta is True, not a number"),
        ("delta = 1.5", r"delta of the policy is 1.5; give a number from 0 to 1"),
        ("delta = nan", r"delta of the policy is nan"),
        ("secret = 3", r"write each secret under its own \[\[secret\]\]"),
        ('secret = ["a"]', r"\[\[secret\]\] number 1 is 'a'; write it as a table"),
        (S + S.replace("contexts", "context"), r"\[\[secret\]\] number 2 has an unknown key 'context'.*'contexts'"),
        ("[[secret]]\nname = 'x'", r"contexts of \[\[secret\]\] number 1 is None; give a list of labels"),
        ("[[secret]]\ncontexts = [1]", r"contexts of \[\[secret\]\] number 1 is \[1\]; give a list of labels"),
        ("[[secret]]\ncontexts = ['']\nname = 'x'", r"secret 'x' names '', which is not a label"),
        (S + S, r"two secrets are named 'a'"),
        (S + "slots = 3", r"slots of \[\[secret\]\] number 1 is 3; give a list of slot numbers"),
        (S + "slots = [true]", r"slots of \[\[secret\]\] number 1 is \[True\]; give a list"),
        (S + "delta = 'x'", r"delta of \[\[secret\]\] number 1 is 'x', not a number"),
        (S + "at = 'some'", r"secret 'a' has at='some'; use 'each'"),
        (S + "between = ['01:00', '02:00']", r"number 1 speaks of clock times but no clock is known; add \[clock\]"),
        (S + "between = ['01:00']", r"between of \[\[secret\]\] number 1 is \['01:00'\]; give two times"),
        (S + "between = ['01:00', '02:00']\nslots = [1]", r"number 1 has both slots and between; keep one"),
        (S + S.replace('"a"', '"b"') + "between = ['1', '02:00']\n[clock]\nslots = 24",
         r"between of \[\[secret\]\] number 2: the start time is '1'; write it as HH:MM"),
        (S + "between = [01:00:00, 02:00:00]\n[clock]\nslots = 24", r"between of .* number 1 .*; give two times"),
        ("clock = 24", r"\[clock\] is 24; write it as a table"),
        ("[clock]\nzone = 'UTC'", r"\[clock\] has no slots; add, for example, slots = 48"),
        ("[clock]\nslots = 24\nzones = 'UTC'", r"\[clock\] has an unknown key 'zones'; did you mean 'zone'\?"),
        ("[clock]\nslots = 7", r"\[clock\]: a day cannot be cut into 7 slots.*use a divisor"),
        ("[clock]\nslots = '24'", r"\[clock\]: a day cannot be cut into '24' slots.*use a divisor"),
        ("[clock]\nslots = 24.0", r"\[clock\]: a day cannot be cut into 24.0 slots.*use a divisor"),
        ("[clock]\nslots = 24\ncut = 04:00:30", r"\[clock\]: the clock's cut is .*; write it as HH:MM"),
        ("[clock]\nslots = 24\nzone = 1", r"\[clock\]: time zone 1 is not known; use an IANA name"),
    ],
)  # fmt: skip
def test_a_policy_file_that_means_nothing_is_refused_with_its_path_and_place(
    tmp_path: Path, text: str, message: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PolicyError, match=r"policy\.toml: .*" + message):
        read_policy(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.toml: there is no such policy file; give the path"):
        Policy.read(tmp_path / "none.toml")
    with pytest.raises(PolicyError, match=r"cannot be read: .*; give the path of a TOML file"):
        Policy.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(PolicyError, match=r"latin\.toml: not a TOML file"):
        Policy.read(tmp_path / "latin.toml")


# --- caps


def test_a_cap_is_the_limit_where_it_leaves_half_of_delta() -> None:
    policy = Policy([Secret("a", cap=0.2)], delta=0.1)
    secret = policy.secrets[0]
    deltas = [policy.row_delta(secret, prior) for prior in (0.0, 0.05, 0.12, 0.15, 0.16, 0.3, 0.99)]
    assert deltas == pytest.approx([0.1, 0.1, 0.08, 0.05, 0.1, 0.1, 0.1])
    assert policy.row_delta(Secret("a"), 0.19) == 0.1
    for prior in np.random.default_rng(0).random(1000) * 0.15:
        assert prior + policy.row_delta(secret, prior) <= 0.2 + 2.0**-54
    own = Policy([Secret("a", delta=0.4, cap=0.5)], delta=0.1)
    assert own.row_delta(own.secrets[0], 0.25) == 0.25


def test_a_cap_of_no_delta_leaves_nothing_to_gain() -> None:
    policy = Policy([Secret("a", cap=0.2)], delta=0.0)
    assert [policy.row_delta(policy.secrets[0], prior) for prior in (0.1, 0.2, 0.3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("cap", [-0.1, 1.1, float("nan"), True, "0.2"])
def test_a_cap_that_is_no_share_is_refused(cap: Any) -> None:
    with pytest.raises(PolicyError, match=r"cap of secret 'a' is .*; give a number from 0 to 1"):
        Secret("a", cap=cap)


def test_a_cap_that_applies_to_no_prior_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"the cap of secret 'a' is 0.04, below half of its delta, 0.1"):
        Policy([Secret("a", cap=0.04)], delta=0.1)
    assert Policy([Secret("a", cap=0.04)], delta=0.08).secrets[0].cap == 0.04


def test_caps_tell_policies_apart_and_others_keep_their_fingerprints() -> None:
    plain, capped = Policy("a", delta=0.1), Policy([Secret("a", cap=0.2)], delta=0.1)
    assert plain.fingerprint == digest_of([0.1, "a", ["a"], None, None, "each", 0]).hex()
    assert len({plain.fingerprint, capped.fingerprint, Policy([Secret("a", cap=0.3)], delta=0.1).fingerprint}) == 3


def test_a_night_in_two_keeps_its_cap() -> None:
    night = Secret("night", {"a"}, slots=[0, 3], at="any", begins=3, cap=0.3)
    assert [part.cap for part in night.in_one_day(4)] == [0.3, 0.3]
    assert [(part.begins, sorted(part.slots or ())) for part in night.in_one_day(4)] == [(0, [3]), (0, [0])]


def test_a_cap_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('delta = 0.1\n[[secret]]\ncontexts = ["a"]\ncap = 0.2\n')
    assert Policy.read(path) == Policy([Secret("a", cap=0.2)], delta=0.1)
    path.write_text('[[secret]]\ncontexts = ["a"]\ncap = "much"\n')
    with pytest.raises(PolicyError, match=r"cap of \[\[secret\]\] number 1 is 'much', not a number"):
        Policy.read(path)


def test_verdicts_of_a_cap_go_by_the_excess_not_by_the_gain() -> None:
    """A gain within delta may be beyond a cap, and a larger one elsewhere within its limit."""
    policy = Policy([Secret("a", cap=0.2), "b"], delta=0.1)
    with pytest.raises(PolicyError, match="secret 'a' has a cap"):
        policy.verdicts({"a": 0.09, "b": 0.2})
    one, two = policy.verdicts({"a": 0.09, "b": 0.05}, excess={"a": 0.01, "b": -0.05})
    assert (one.word, one.terms, two.word, two.terms) == ("breached", "0.1000, cap 0.2", "kept", "0.1000")
    bounds, over = {"a": 0.1, "b": 0.1}, {"a": -0.01, "b": 0.0}
    words = [
        [v.word for v in policy.verdicts(bounds, bounds, excess=over, bound_excess={"a": most, "b": 0.0})]
        for most in (0.0, 0.02)
    ]
    assert words == [["within", "within"], ["open", "within"]]
