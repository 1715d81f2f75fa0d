from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.files import folder_beside, folder_whole, written_whole


def test_what_is_written_is_there_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for content in (b"first", b"second"):
        with written_whole(target) as file:
            file.write(content)
        assert target.read_bytes() == content
        assert list(tmp_path.iterdir()) == [target]


def test_the_old_file_is_seen_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")
    with written_whole(str(target)) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


def half_written(target: Path, error: BaseException) -> None:
    with written_whole(target) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
@pytest.mark.parametrize("old", [None, b"old"])
def test_if_the_block_raises_the_target_stays_and_nothing_is_left(
    tmp_path: Path, error: BaseException, old: bytes | None
) -> None:
    target = tmp_path / "model"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(type(error)):
        half_written(target, error)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if old is None else [old])


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")
    for error, reason in ((OSError(28, "No space left on device"), "No space left"), (OSError("odd"), "odd")):
        with pytest.raises(DiscreetError, match=rf"model: cannot be written: {reason}.*; make room"):
            half_written(target, error)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(DiscreetError, match=r"model: cannot be written: No such file.*; choose a folder"),
        written_whole(tmp_path / "missing" / "model"),
    ):
        pass
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(DiscreetError, match=r"folder: cannot be written"), written_whole(folder) as file:
        file.write(b"x")
    assert list(tmp_path.iterdir()) == [folder]


def half_filled(target: Path) -> None:
    with folder_whole(target) as beside:
        (beside / "one").write_text("1")
        assert not target.exists()
        raise KeyboardInterrupt


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "models"
    with pytest.raises(KeyboardInterrupt):
        half_filled(target)
    assert list(tmp_path.iterdir()) == []
    with folder_whole(target) as beside:
        (beside / "one").write_text("1")
    assert [path.name for path in target.iterdir()] == ["one"]
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(DiscreetError, match="cannot be made"), folder_whole(tmp_path / "none" / "models"):
        pass


@pytest.mark.parametrize("write", [written_whole, folder_whole, folder_beside])
def test_an_address_is_nowhere_to_write(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("s3://bucket/out.parquet", Path("s3://bucket/out.parquet")):  # a path has one slash
        with pytest.raises(DiscreetError, match=r"^s3://bucket/out\.parquet: addresses .* copy it there$"):
            write(address).__enter__()
    assert list(tmp_path.iterdir()) == []
