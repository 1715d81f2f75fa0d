from __future__ import annotations

from collections.abc import Iterable

import pytest

from discreet.data.published import Row
from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.numerics import SLACK
from discreet.outputs import PartialEvent
from discreet.publish import Report, publish
from tests.publish.plans import plan_of


def test_people_are_taken_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.publish.engines.local.CHUNK", 1)
    plan, people = plan_of()
    taken: list[str] = []
    finished: list[tuple[int, int]] = []

    class Coming(list[Trajectory]):
        def __getitem__(self, place: int) -> Trajectory:  # type: ignore[override]
            one = super().__getitem__(place)
            taken.append(one.person)
            return one

    def write(rows: Iterable[Row]) -> None:
        rows = iter(rows)
        for _ in range(len(people[0])):
            assert next(rows)[0] == people[0].person
            assert taken == [people[0].person]
        next(rows)
        assert taken == [people[0].person, people[1].person]
        assert sum(1 for _ in rows) == sum(map(len, people[1:])) - 1

    report = publish(plan, Coming(people), write, progress=lambda done, total: finished.append((done, total)))
    assert [one.person for one in report.people] == taken
    assert report.events == sum(map(len, people))
    assert finished == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("length", [None, 4, 1])
def test_the_report_adds_up(length: int | None) -> None:
    plan, people = plan_of(length, delta=0.1, name="no-mask")
    rows: list[Row] = []
    report = publish(plan, people, rows.extend, seed=1)
    assert rows == [(one.person, PartialEvent(*event.values)) for one in people for event in one.events]
    assert report.utility == 1
    assert report.breached
    assert report.worst_gain == max(report.by_secret.values()) > 0.1
    for one, whole in zip(report.people, people, strict=True):
        assert one.pieces == (1 if length is None else -(-len(whole) // length))
        assert one.breached == sum(event.activity == "activity 1" for event in whole.events)  # told as it is
    assert report.breach_rate == pytest.approx(sum(one.breached / one.events for one in report.people) / 3)  # Eq. 2


def test_adaptive_breaches_nobody() -> None:
    for delta in (0.05, 0.3):
        for length in (None, 4):
            plan, people = plan_of(length, delta)
            rows: list[Row] = []
            report = publish(plan, people, rows.extend, seed=3)
            assert len(rows) == report.events
            assert not report.breached
            assert report.breach_rate == 0
            assert report.worst_gain <= delta + SLACK
            assert report.guarantee.kind == "exact delta"
            assert report.off_model == 0


def test_without_a_seed_nothing_repeats() -> None:
    plan, people = plan_of(delta=0.1)

    def drawn() -> tuple[Row, ...]:
        rows: list[Row] = []
        publish(plan, people, rows.extend)
        return tuple(rows)

    assert len({drawn() for _ in range(9)}) > 5


def test_people_come_in_order_of_their_names() -> None:
    """The order of the data would tell who came first."""
    plan, people = plan_of(name="no-mask")
    rows: list[Row] = []
    report = publish(plan, people[::-1], rows.extend, seed=1)
    assert [one.person for one in report.people] == sorted(one.person for one in people)
    assert [person for person, _ in rows] == [one.person for one in people for _ in one.events]


def test_a_writer_that_leaves_rows_gets_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.publish.engines.local.CHUNK", 1)
    plan, people = plan_of(name="no-mask")
    with pytest.raises(DiscreetError, match="only 0 of 3 people were written"):
        publish(plan, people, lambda rows: next(iter(rows)), seed=1)
    first = len(people[0])
    with pytest.raises(DiscreetError, match="only 1 of 3 people were written"):
        publish(plan, people, lambda rows: [row for _, row in zip(range(first + 1), rows, strict=False)], seed=1)


def test_nobody_and_a_person_twice_are_refused_before_anything_is_written() -> None:
    plan, people = plan_of()
    rows: list[Row] = []
    with pytest.raises(DiscreetError, match="nobody to publish"):
        publish(plan, [], rows.extend)
    with pytest.raises(DiscreetError, match=r"'p1' has 2 trajectories; join them"):
        publish(plan, [people[0], people[1], people[0]], rows.extend)
    assert rows == []


def test_parts_of_a_population_merge_to_the_whole() -> None:
    plan, people = plan_of(4, delta=0.1)
    whole = publish(plan, people, list, seed=2)
    parts = [publish(plan, some, list, seed=2) for some in (people[2:], people[:2])]
    assert Report.merged(parts) == whole
