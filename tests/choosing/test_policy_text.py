"""The file of a policy says the same policy, whatever is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import Clock, Policy, Secret
from discreet.choosing.policy_text import policy_file_text
from discreet.errors import PolicyError
from discreet.policy import read_policy
from tests.choosing.routines import lived

ROUTINE = lived(28, {"hospital": (7, range(10, 12))})
AT = {"hospital"}


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy(["hospital"], delta=1 / 3),
        Policy([Secret("a", AT, slots=[3, 4], delta=0.1 + 0.2, cap=0.9), Secret("b", {"home", "hospital"})]),
        Policy([Secret("a night", AT, slots=[22, 23, 0, 1], at="any", begins=22, cap=0.7)]),
        Policy([Secret("two nights", AT, slots=[22, 23, 0, 1, 12], at="any", begins=22)]),
        Policy([Secret("all day from ten", AT, at="any", begins=22)]),
        Policy([Secret("all day, said slot by slot", AT, slots=range(24), at="any", begins=22)]),
        Policy([Secret('"quoted" \\ [x] = # \n \t \x7f ünïcödé', AT)]),
    ],
    ids=lambda policy: policy.secrets[0].name[:8] if policy.secrets else "none",
)
def test_what_is_written_is_read(tmp_path: Path, policy: Policy) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(policy_file_text(policy, ROUTINE), encoding="utf-8")
    read, clock = read_policy(path)
    assert read == policy
    assert read.fingerprint == policy.fingerprint
    assert clock == ROUTINE.clock == Clock(24, "Europe/Berlin")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('between = ["22:00", "06:00"]\nbegins = 22', "both begins and between"),
        ("begins = 22.0", "number of the slot"),
        ("begins = true", "number of the slot"),
        ("begins = 22", "has no window that begins"),
    ],
)
def test_where_a_window_begins_is_a_slot_of_any(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f'[clock]\nslots = 24\n[[secret]]\ncontexts = ["hospital"]\n{line}\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=words):
        read_policy(path)
