"""What failed is run again under the names that pytest knows without groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import again


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("tests/a.py::test_b", "tests/a.py::test_b"),
        ("tests/a.py::test_b@spark", "tests/a.py::test_b"),
        ("tests/a.py::test_b[x@y]", "tests/a.py::test_b[x@y]"),
        ("tests/a.py::test_b[x@y]@another processor", "tests/a.py::test_b[x@y]"),
    ],
)
def test_names_lose_their_group(written: str, name: str) -> None:
    assert again.without_group(written) == name


def test_a_run_of_which_no_failure_is_known_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(again, "FAILED", tmp_path / "lastfailed")
    assert again.main() == 1
    again.FAILED.write_text("{}")
    assert again.main() == 1
