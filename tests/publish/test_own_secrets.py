"""Secrets of each person: what a table may say, what it comes to, and what is refused."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DataError, DiscreetError, PolicyError
from discreet.policy import Policy, Secret
from discreet.publish import Plan, publish
from discreet.publish.mechanism_cache import weight
from discreet.publish.own_secrets import OwnSecrets
from discreet.publish.person import given_of
from discreet.publish.plan import PeoplesPolicies
from tests.publish.plans import plan_of

TABLE = """person,secret,delta,cap
ann,activity=gambling,0.05,
zoë,location=clinic,,0.5
ann,location=clinic,0.2,0.6
"""


def table(folder: Path, text: str = TABLE) -> Path:
    path = folder / "own.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_says_who_has_which_secret(tmp_path: Path) -> None:
    own = OwnSecrets.of(table(tmp_path))
    assert (list(own), own.secrets) == (["ann", "zoë"], ("activity=gambling", "location=clinic"))
    everybody = Policy(["activity=gambling", "time=night"], delta=0.1)
    ann, zoe = own.place("ann"), own.place("zoë")
    assert ann is not None
    assert zoe is not None
    assert own.place("an") is None
    assert own.policy(everybody, own.rows(ann)) == Policy(
        [
            Secret("time=night"),
            Secret("activity=gambling", delta=0.05),
            Secret("location=clinic", delta=0.2, cap=0.6),
        ],
        delta=0.1,
    )
    assert own.policy(everybody, own.rows(zoe)).secrets == (
        Secret("activity=gambling"),
        Secret("time=night"),
        Secret("location=clinic", cap=0.5),
    )
    least = {secret.name: secret.delta for secret in own.union(everybody).secrets}
    assert least == {"time=night": None, "activity=gambling": 0.05, "location=clinic": 0.1}


def test_every_kind_of_table_says_the_same(tmp_path: Path) -> None:
    path = table(tmp_path)
    frame = pl.read_csv(path)
    frame.write_parquet(tmp_path / "own.parquet")
    lines = TABLE.splitlines()
    turned = table(tmp_path, "\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    policies = {
        "zoë": Policy(Secret("location=clinic", cap=0.5)),
        "ann": Policy(
            [Secret("activity=gambling", delta=0.05), Secret("location=clinic", delta=0.2, cap=0.6)], delta=0.1
        ),
    }
    found = [OwnSecrets.of(one) for one in (turned, tmp_path / "own.parquet", frame)]
    assert len({one.fingerprint for one in found}) == 1
    by_mapping = OwnSecrets.of(policies)  # the delta of a policy is its secrets'
    place = by_mapping.place("zoë")
    assert place is not None
    assert by_mapping.rows(place) == (("location=clinic", 0.1, 0.5),)
    again: OwnSecrets = pickle.loads(pickle.dumps(found[0]))
    assert again.fingerprint == found[0].fingerprint


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("person,delta\nann,0.1\n", "there is no column 'secret'; expected person, secret, delta, cap"),
        ("person,secret\nann,\n", "row 1 has no secret"),
        ("person,secret\n,a=b\n", "row 1 has no person"),
        ("person,secret\n", "has no rows"),
        ("person,secret,delta\nann,a=b,much\n", "row 1: delta is 'much'; give a number from 0 to 1"),
        ("person,secret,delta\nann,a=b,0.1\nbob,a=b,1.5\n", "row 2: delta is '1.5'"),
        ("person,secret,cap\nann,a=b,0.5\nann,a=b,0.6\n", "row 2 gives 'ann' the secret 'a=b' once more"),
    ],
)
def test_what_a_table_may_not_say(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        OwnSecrets.of(table(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "own.csv"))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        OwnSecrets.of(tmp_path / "own.csv")
    (tmp_path / "own.txt").write_text(TABLE)
    with pytest.raises(DataError, match=r"let the name end so"):
        OwnSecrets.of(tmp_path / "own.txt")
    with pytest.raises(DiscreetError, match="a table with columns"):
        OwnSecrets.of(3)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="has more than a value, a delta and a cap"):
        OwnSecrets.of({"ann": Policy(Secret("activity=gambling", at="any"))})


def test_unknown_people_and_secrets_are_named() -> None:
    _, people = plan_of(4)
    names = [one.person for one in people]

    def planned(own: dict[str, Policy]) -> Plan:
        return Plan.learn(people, Policy(), own_secrets=own, habits="chain", piece_length=4)

    whole = {name: Policy("activity=activity 1") for name in names}
    with pytest.raises(DataError, match="'nobody' has no events in the data"):
        publish(planned(whole | {"nobody": Policy("activity=activity 1")}), people, seed=1)
    with pytest.raises(DataError, match=rf"'{names[1]}' has no secret here"):
        publish(planned({name: whole[name] for name in names if name != names[1]}), people, seed=1)
    with pytest.raises(DataError, match=r"activity=sleeping.*sleeping"):
        planned(whole | {names[0]: Policy("activity=sleeping")})
    frame = pl.DataFrame({"person": [names[0]], "secret": ["a=b"], "delta": [0.4], "cap": [0.1]})
    with pytest.raises(DataError, match=rf"{names[0]}: the cap of secret .* below half of its delta"):
        OwnSecrets.of(frame).check(Policy())


def test_each_persons_gain_is_within_their_own_delta() -> None:
    _, people = plan_of(4, 0.2)
    deltas = {one.person: 0.05 * (k + 1) for k, one in enumerate(people)}
    own = {name: Policy("activity=activity 1", delta=delta) for name, delta in deltas.items()}
    learned = Plan.learn(people, Policy(), own_secrets=own, habits="chain", piece_length=4)
    report = publish(learned, people, seed=1)
    assert not report.breached
    gains = {one.person: one.worst_gain for one in report.people}
    assert all(gains[name] <= deltas[name] + 2**-40 for name in deltas)
    assert len({round(gain, 3) for gain in gains.values()}) > 1


def test_what_a_run_resumes_depends_on_each_persons_own_rows() -> None:
    plan, people = plan_of(4)
    one, other = people[0].person, people[1].person
    everybody = Policy("activity=activity 1", delta=0.2)
    own = {one: Policy("time=interval 1", delta=0.1), other: Policy("time=interval 1", delta=0.1)}

    def of(changed: dict[str, Policy]) -> Plan:
        laid = PeoplesPolicies.laid(OwnSecrets.of(own | changed), everybody, plan.habits.of(people, 2)[1])
        return replace(plan, policy=laid.union, people=laid)

    before, after = of({}), of({other: Policy("time=interval 1", delta=0.3)})
    assert given_of(before, people[0]) == given_of(after, people[0])
    assert given_of(before, people[1]) != given_of(after, people[1])
    assert before.fingerprint_of_secrets != after.fingerprint_of_secrets
    assert before.of_person(one) is before.of_person(other)  # the same secrets: tables are shared


def test_millions_of_people_are_numbers() -> None:
    """Twenty bytes a row besides the name, whatever the deltas."""
    lots, count = random.Random(1), 2_000
    frame = pl.DataFrame(
        {
            "person": [f"person {k:05d}" for k in range(count)],
            "secret": [f"activity={k % 3}" for k in range(count)],
            "delta": [lots.random() for _ in range(count)],
        }
    )
    own = OwnSecrets.of(frame)
    arrays = sum(getattr(own, name).nbytes for name in ("_ends", "_rows", "_secret", "_delta", "_cap"))
    assert arrays + len(own._names) < 50 * count
    assert weight(own) < 60 * count
