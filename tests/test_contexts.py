from __future__ import annotations

import datetime as dt
from collections import Counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.clock import Clock
from discreet.contexts import Day, carry_forward, merge_rare
from discreet.errors import DiscreetError, HierarchyError
from discreet.hierarchy import Hierarchy


def minutes_in_slots(clock: Clock, date: dt.date) -> dict[int, int]:
    """How many real minutes fall into each slot of a date, by walking three days of UTC."""
    start = dt.datetime.combine(date, dt.time(), dt.UTC) - dt.timedelta(days=1)
    counts: Counter[int] = Counter()
    for minute in range(3 * 24 * 60):
        found, slot = clock.locate(start + dt.timedelta(minutes=minute))
        if found == date:
            counts[slot] += 1
    return {slot: counts[slot] for slot in range(clock.slots)}


@pytest.mark.parametrize(
    ("zone", "date", "cut", "unusual"),
    [
        ("Europe/Paris", dt.date(2026, 3, 29), "00:00", {4: 0, 5: 0}),
        ("Europe/Paris", dt.date(2026, 10, 25), "00:00", {4: 60, 5: 60}),
        ("Europe/Paris", dt.date(2026, 3, 28), "04:00", {44: 0, 45: 0}),
        ("Europe/Paris", dt.date(2026, 10, 24), "04:00", {44: 60, 45: 60}),
        ("Europe/Paris", dt.date(2026, 10, 25), "02:30", {0: 60}),
        ("America/New_York", dt.date(2026, 3, 8), "00:00", {4: 0, 5: 0}),
        ("America/New_York", dt.date(2026, 11, 1), "00:00", {2: 60, 3: 60}),
        ("Australia/Lord_Howe", dt.date(2026, 10, 4), "00:00", {4: 0}),
        ("Australia/Lord_Howe", dt.date(2026, 4, 5), "00:00", {3: 60}),
        ("Europe/Paris", dt.date(2026, 7, 1), "04:00", {}),
    ],
)
def test_days_with_a_clock_change_keep_their_slots(zone: str, date: dt.date, cut: str, unusual: dict[int, int]) -> None:
    counts = minutes_in_slots(Clock(48, zone, cut), date)
    assert counts == {slot: unusual.get(slot, 30) for slot in range(48)}


@given(
    moment=st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2040, 1, 1), timezones=st.just(dt.UTC)),
    zone=st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    slots=st.sampled_from([1, 7 * 24 * 60 // 7, 24, 48, 96, 25]),
    cut=st.sampled_from(["00:00", "04:00", "12:30", "23:59"]),
)
def test_a_moment_lies_in_the_slot_that_holds_its_wall_clock(
    moment: dt.datetime, zone: str, slots: int, cut: str
) -> None:
    clock = Clock(slots, zone, cut)
    date, slot = clock.locate(moment)
    assert 0 <= slot < slots
    start = clock.start_of(date, slot)
    wall = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert start.replace(tzinfo=None) <= wall < start.replace(tzinfo=None) + dt.timedelta(seconds=clock.slot_seconds)
    assert clock.locate(start.replace(tzinfo=None)) == (date, slot)


def test_a_time_without_a_zone_is_wall_clock_time() -> None:
    clock = Clock(24, "America/New_York", "04:00")
    assert clock.locate(dt.datetime(2026, 1, 2, 3, 59)) == (dt.date(2026, 1, 1), 23)
    assert clock.locate(dt.datetime(2026, 1, 2, 4, 0)) == (dt.date(2026, 1, 2), 0)
    assert clock.locate(dt.datetime(2026, 1, 2, 9, 0, tzinfo=dt.UTC)) == (dt.date(2026, 1, 2), 0)


def test_labels_are_wall_clock_times_of_slots() -> None:
    clock = Clock(48, cut="04:00")
    assert [clock.label(slot) for slot in (0, 1, 40, 47)] == ["04:00", "04:30", "00:00", "03:30"]


@pytest.mark.parametrize(
    ("slots", "cut", "start", "end", "expected"),
    [
        (24, "00:00", "09:00", "12:00", {9, 10, 11}),
        (24, "00:00", "22:00", "02:00", {22, 23, 0, 1}),
        (24, "00:00", "22:00", "24:00", {22, 23}),
        (24, "00:00", "24:00", "02:00", {0, 1}),
        (24, "04:00", "22:00", "06:00", {18, 19, 20, 21, 22, 23, 0, 1}),
        (24, "04:00", "03:00", "05:00", {23, 0}),
        (24, "00:00", "09:30", "10:10", {9, 10}),  # slots that overlap, not only those inside
        (24, "00:30", "09:00", "10:00", {8, 9}),
        (24, "00:00", "06:00", "06:00", set(range(24))),
        (24, "00:00", "00:00", "24:00", set(range(24))),
        (4, "00:00", "23:00", "01:00", {3, 0}),
    ],
)
def test_between_gives_the_slots_that_overlap(slots: int, cut: str, start: str, end: str, expected: set[int]) -> None:
    given_slots = Clock(slots, cut=cut).between(start, end)
    assert set(given_slots) == expected
    assert list(given_slots) == sorted(expected)


@given(
    slots=st.sampled_from([24, 36, 48, 96]),
    cut=st.integers(0, 1439),
    start=st.integers(0, 1439),
    length=st.integers(1, 1440),
)
def test_between_equals_the_slots_of_every_minute(slots: int, cut: int, start: int, length: int) -> None:
    def text(minute: int) -> str:
        return f"{minute % 1440 // 60:02d}:{minute % 60:02d}"

    clock = Clock(slots, cut=text(cut))
    # Whole minutes suffice: the slots are multiples of five minutes and cuts are whole minutes.
    slow = {clock.locate(dt.datetime(2026, 1, 1) + dt.timedelta(minutes=start + k))[1] for k in range(length)}
    assert set(clock.between(text(start), text(start + length))) == slow


@pytest.mark.parametrize("slots", [0, -1, 7, 86401, 48.0, "48"])
def test_a_clock_refuses_slots_of_uneven_length(slots: int) -> None:
    with pytest.raises(DiscreetError, match=r"cannot be cut into .* slots.*use a divisor of 86400"):
        Clock(slots)


@pytest.mark.parametrize("cut", ["4", "25:00", "04:60", "-1:00", "four", "04:00:00", "", dt.time(4, 0, 1), None])
def test_a_clock_refuses_a_cut_that_is_no_time(cut: str) -> None:
    with pytest.raises(DiscreetError, match=r"the clock's cut is .*; write it as HH:MM"):
        Clock(24, cut=cut)


def test_a_clock_refuses_24_as_a_cut() -> None:
    with pytest.raises(DiscreetError, match=r"cut is 24:00; write it as 00:00"):
        Clock(24, cut="24:00")


@pytest.mark.parametrize("zone", ["Europe/Pari", "", "../etc/passwd", "Europe", 5, None])
def test_a_clock_refuses_an_unknown_zone(zone: str) -> None:
    with pytest.raises(
        DiscreetError, match=r"time zone .* is not known; (use an IANA name|did you mean 'Europe/Paris')"
    ):
        Clock(24, zone)


def test_between_names_the_time_that_is_wrong() -> None:
    with pytest.raises(DiscreetError, match=r"the start time is '9'; write it as HH:MM"):
        Clock(24).between("9", "10:00")
    with pytest.raises(DiscreetError, match=r"the end time is '10'; write it as HH:MM"):
        Clock(24).between("09:00", "10")


def test_a_day_holds_labels() -> None:
    day = Day(["home", "work"], dt.date(2026, 1, 1), "ann")
    assert day.contexts == ("home", "work")
    assert len(day) == 2
    assert hash(day) == hash(Day(("home", "work"), dt.date(2026, 1, 1), "ann"))


@pytest.mark.parametrize("bad", [None, "", 3])
def test_a_day_names_the_slot_that_is_no_label(bad: str) -> None:
    with pytest.raises(DiscreetError, match=r"slot 1 of a day \(ann, 2026-01-01\) is .*use 'unknown'"):
        Day(("home", bad), dt.date(2026, 1, 1), "ann")


def test_an_empty_day_and_a_bare_string_are_refused() -> None:
    with pytest.raises(DiscreetError, match=r"no slots \(person not given, date not given\); give one context a slot"):
        Day(())
    with pytest.raises(DiscreetError, match=r"one string, 'home'; give a tuple of labels"):
        Day("home")


U = "unknown"


def test_carry_forward_fills_for_that_many_slots() -> None:
    assert carry_forward([Day((U, "a", U, U, U, "b", U))], 2)[0].contexts == (U, "a", "a", "a", U, "b", "b")
    assert carry_forward([Day(("a", U, U))], 0)[0].contexts == ("a", U, U)
    assert carry_forward([Day((U, U, "a", U))], 1, backward=True)[0].contexts == ("a", "a", "a", "a")
    assert carry_forward([Day((U, U))], 5, backward=True)[0].contexts == (U, U)


def test_carry_forward_crosses_midnight_only_to_the_next_date_of_the_same_person() -> None:
    first = Day(("a", "b"), dt.date(2026, 1, 1), "ann")
    for after, filled in (
        (Day((U, U, "c"), dt.date(2026, 1, 2), "ann"), ("b", U, "c")),
        (Day((U, U, "c"), dt.date(2026, 1, 3), "ann"), (U, U, "c")),
        (Day((U, U, "c"), dt.date(2026, 1, 2), "bob"), (U, U, "c")),
        (Day((U, U, "c"), None, "ann"), (U, U, "c")),
    ):
        assert carry_forward([first, after], 1)[1].contexts == filled
    with pytest.raises(DiscreetError, match=r"carried for is -1; give a whole number, 0 or more"):
        carry_forward([first], -1)


def test_merge_rare_renames_by_person_and_spares_unknown_and_kept() -> None:
    ann = Day(("home",) * 7 + ("gym", U, "hospital"), person="ann")
    bob = Day(("gym",) * 10, person="bob")
    merged = merge_rare([ann, bob], 0.2, keep=["hospital"])
    assert merged[0].contexts == ("home",) * 7 + ("other", U, "hospital")
    assert merged[1] == bob
    assert merge_rare([ann], 0.1)[0] == ann  # exactly the share is not rare
    with pytest.raises(DiscreetError, match=r"merged is 1; give a number from 0 to below 1"):
        merge_rare([ann], 1)


TREE = {"campus": {"hall": ["dormitory", "kitchen"], "department": ["office"]}}


def test_a_hierarchy_knows_its_layers() -> None:
    tree = Hierarchy(TREE)
    assert tree.layers == (("dormitory", "kitchen", "office"), ("hall", "department"), ("campus",))
    assert (tree.root, tree.leaves, tree.nodes[-1]) == ("campus", ("dormitory", "kitchen", "office"), "campus")
    assert (tree.layer_of("office"), tree.layer_of("campus")) == (0, 2)
    assert tree.parent("kitchen") == "hall"
    assert tree.parent("campus") is None
    assert tree.children("hall") == ("dormitory", "kitchen")
    assert tree.ancestors("kitchen") == ("hall", "campus")
    assert [tree.at_layer("office", layer) for layer in range(3)] == ["office", "department", "campus"]
    assert tree.leaves_under("campus") == tree.leaves
    assert tree.leaves_under("kitchen") == ("kitchen",)
    assert tree.nested() == TREE
    assert Hierarchy({"top": ["a", "b"]}).nested() == {"top": ["a", "b"]}
    assert "hall" in tree
    assert "attic" not in tree


def test_a_hierarchy_from_parents_is_the_same_tree() -> None:
    parents = {
        "office": "department",
        "kitchen": "hall",
        "dormitory": "hall",
        "hall": "campus",
        "department": "campus",
    }
    assert Hierarchy.from_parents(parents) == Hierarchy(TREE)
    assert hash(Hierarchy.from_parents({**parents, "campus": None})) == hash(Hierarchy(TREE))
    assert Hierarchy.from_parents({**parents, "kitchen": "department"}) != Hierarchy(TREE)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": {"b": ["x"], "c": ["x"]}}, r"node 'x' occurs twice.*must be unique"),
        ({"a": ["b"], "c": ["d"]}, r"nodes 'a' and 'c' both have no parent; put one root"),
        ({"a": {"b": ["x"], "c": {"d": ["y"]}}}, r"leaf 'x' has depth 2, others 3; repeat a level above 'x'"),
        ({"a": 3}, r"below 'a' stands 3; use nested mappings"),
        ({"a": ["b", None]}, r"below 'a' stands None; use nested mappings"),
        ({}, r"the hierarchy is empty; give a tree with one root"),
    ],
)
def test_a_hierarchy_that_is_no_even_tree_names_the_node(tree: dict[str, object], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy(tree)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": "a"}, r"node 'a' is in a cycle: no node is the root; give"),
        ({"x": "a", "a": "b", "b": "a"}, r"node '[ab]' is in a cycle: no node is the root"),
        ({"x": "a", "a": "b", "b": "a", "y": "r"}, r"node '[ab]' does not reach the root 'r': it is in a cycle; give"),
        ({"x": "a", "y": "b"}, r"nodes 'a' and 'b' both have no parent"),
        ({"x": "r", "y": "b", "b": "r"}, r"leaf 'x' has depth 1, others 2"),
    ],
)
def test_parents_that_are_no_even_tree_name_the_node(parents: dict[str, str | None], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_parents(parents)


def test_questions_about_a_node_that_is_not_there_name_it() -> None:
    tree = Hierarchy(TREE)
    for ask in (tree.layer_of, tree.parent, tree.children, tree.ancestors, tree.leaves_under):
        with pytest.raises(HierarchyError, match=r"node 'kitchn' is not in .* under 'campus'; did you mean 'kitchen'"):
            ask("kitchn")
    for node, layer in (("hall", 0), ("office", 3)):
        with pytest.raises(
            HierarchyError, match=rf"node '{node}' has no ancestor at layer {layer}; the root is layer 2"
        ):
            tree.at_layer(node, layer)
