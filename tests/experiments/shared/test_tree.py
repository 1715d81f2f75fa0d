from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.contexts import UNKNOWN, Day
from discreet.errors import DiscreetError
from discreet_experiments.shared.tree import ROOT, Tree, grown

NAMES = {
    "site": {"a": "s1", "b": "s1", "c": "s1", "d": "s2", "e": "s2", "f": "s3", "g": "s4"},
    "area": {"a": "x", "b": "x", "c": "x", "d": "x", "e": "x", "f": "x", "g": "y"},
}
LEVELS = ("tower", "site", "area")


def days(text: str) -> list[Day]:
    """Days of ten slots, a letter a slot, "-" for no reading."""
    labels = [UNKNOWN if letter == "-" else letter for letter in text]
    return [Day(tuple(labels[k : k + 10])) for k in range(0, len(labels), 10)]


def test_rare_contexts_join_below_the_nearest_ancestor_where_they_are_not_rare() -> None:
    # 40 readings and 10 slots without one, the limit is 4: b and c join in s1, d is too rare for s2 and joins f in x,
    # g is alone below the root
    tree = grown(days("a" * 30 + "bbb" + "cc" + "dd" + "ff" + "g" + "-" * 10), NAMES, LEVELS, 0.1)
    assert tree.lines == {
        "a": ("a", "site s1", "area x"),
        UNKNOWN: (UNKNOWN, "site unknown", "area unknown"),
        "other tower of site s1": ("other tower of site s1", "site s1", "area x"),
        "other tower of area x": ("other tower of area x", "other site of area x", "area x"),
        "other tower of anywhere": ("other tower of anywhere", "other site of anywhere", "other area of anywhere"),
    }
    assert Counter(label for day in tree.days for label in day.contexts) == {
        "a": 30,
        UNKNOWN: 10,
        "other tower of site s1": 5,
        "other tower of area x": 4,
        "other tower of anywhere": 1,
    }
    assert [len(layer) for layer in tree.hierarchy.layers] == [5, 4, 3, 1]
    assert [leaf for leaf in tree.lines if tree.is_place(leaf)] == ["a"]


def test_nothing_is_merged_where_nothing_is_rare() -> None:
    tree = grown(days("aabbccddee"), NAMES, LEVELS, 0.0)
    assert tree.days == tuple(days("aabbccddee"))
    assert tree.hierarchy.leaves_under("site s1") == ("a", "b", "c")
    assert all(tree.is_place(leaf) for leaf in tree.lines)


def test_what_is_not_known_is_the_merged_leaf_nearest_to_it() -> None:
    tree = grown(days("abcdefg-ab"), NAMES, LEVELS, 0.0)
    merged = ["other tower of site s1", "other tower of area x", "other tower of anywhere"]
    assert tree.nearest("b", frozenset({"b", *merged})) == "b"
    for k, name in enumerate(merged):
        assert tree.nearest("b", frozenset({"a", *merged[k:]})) == name
    assert tree.nearest("b", frozenset({"a"})) == "b"
    assert tree.nearest("g", frozenset(merged)) == merged[2]


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_shares_that_make_no_sense(share: float) -> None:
    with pytest.raises(DiscreetError, match="share"):
        grown(days("aabbccddee"), NAMES, LEVELS, share)


@given(st.text("abcdefg-", min_size=10, max_size=60), st.floats(0, 0.5), st.integers(1, 3))
def test_any_merging_is_a_hierarchy_that_says_the_truth(text: str, share: float, depth: int) -> None:
    """Every slot's leaf is its own context or merged with others, and above the merged ancestor nothing has changed."""
    given_days = days(text.ljust(10 * -(-len(text) // 10), "-"))
    tree = grown(given_days, NAMES, LEVELS[:depth], share)
    counts = Counter(label for day in tree.days for label in day.contexts)
    readings = counts.total() - counts[UNKNOWN]
    assert set(tree.lines) == set(counts)
    assert set(tree.hierarchy.leaves) == set(counts)
    for leaf, count in counts.items():
        assert leaf == UNKNOWN or leaf.endswith(ROOT) or count >= share * readings
    for before, after in zip(given_days, tree.days, strict=True):
        for label, leaf in zip(before.contexts, after.contexts, strict=True):
            _check_line(tree, label, leaf)


def _check_line(tree: Tree, label: str, leaf: str) -> None:
    if leaf == label:
        return
    assert not tree.is_place(leaf)
    own = [f"{level} {NAMES[level][label]}" for level in tree.levels[1:]]
    for node, true in zip(tree.lines[leaf][1:], own, strict=True):
        assert node == true or node.startswith("other ")
    assert leaf in [f"other tower of {node}" for node in (*own, ROOT)]
