"""A table is published with a manifest, and `discreet verify` says whether it is still that table."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest

from discreet.cli.publish import masked
from discreet.publish import manifest as manifests
from tests.cli.conftest import Discreet, error_of
from tests.cli.test_publish import cards as cards
from tests.cli.test_publish import given

SECRET = ["--secret", "what=activity 1"]


@pytest.fixture
def out(discreet: Discreet, cards: Path, tmp_path: Path) -> Path:
    """A table and its report."""
    out = tmp_path / "out.csv"
    report = tmp_path / "report.csv"
    ran = discreet(*given(cards, out, "--secret", "activity=activity 1", "--accept-model", "--report", report))
    assert ran.code in (0, 1), ran.err
    return out


def manifest_of(out: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((out.parent / "out.csv.manifest.json").read_text(encoding="utf-8"))
    return found


def test_the_manifest_says_what_the_table_was_made_from(discreet: Discreet, cards: Path, out: Path) -> None:
    said = discreet("verify", out, "--json")
    assert said.code == 0
    manifest = said.json["manifest"]
    digest = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.parent.glob("*.csv")}
    assert {one["path"]: one["sha256"] for one in manifest["inputs"]} == {"cards.csv": digest["cards.csv"]}
    assert {one["path"]: one["sha256"] for one in manifest["outputs"]} == {
        name: digest[name] for name in ("out.csv", "report.csv")
    }
    rows = len(cards.read_text(encoding="utf-8").splitlines()) - 1
    events = len(out.read_text(encoding="utf-8").splitlines()) - 1
    assert manifest["counts"] == {
        "people": 4,
        "events": events,
        "read": rows,
        "bad": 0,
        "duplicates": rows - events,
        "unordered": manifest["counts"]["unordered"],
    }
    assert manifest["engine"] == "local"
    assert manifest["versions"]["discreet"]
    assert len(manifest["policy"]["digest"]) == 64 or manifest["policy"]["digest"]
    assert manifest["promise"]["kind"] == "exact delta"
    assert manifest["audit"]["worst_gain"] <= 0.1
    assert manifest["command"][:2] == ["discreet", "publish"]


def test_the_manifest_names_no_secret_no_person_and_no_seed(cards: Path, out: Path) -> None:
    path = manifests.manifest_beside(out)
    text = path.read_text(encoding="utf-8")
    assert "activity 1" not in text
    assert "person" not in text.replace("breached_people", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    command = manifest_of(out)["command"]
    assert isinstance(command, list)
    assert command[command.index("--secret") + 1] == command[command.index("--seed") + 1] == "..."


def test_a_command_line_is_masked() -> None:
    given = [
        "publish",
        "s3://key:word@bucket/x",
        "--secret=a=b",
        "--seed",
        "7",
        "https://x.example/t.csv?sig=abc",
        "-o",
        "a=b",
    ]
    assert masked(given) == [
        "discreet", "publish", "s3://...bucket/x", "--secret=...", "--seed", "...", "https://x.example/t.csv?...",
        "-o", "a=b",
    ]  # fmt: skip


def test_what_was_changed_is_named(discreet: Discreet, cards: Path, out: Path) -> None:
    assert "The table is as it was written." in discreet("verify", out).out
    cards.write_text("other data", encoding="utf-8")
    changed = discreet("verify", out, "--json")
    assert changed.code == 0  # the table is still the one that was made
    assert {one["path"]: one["found"] for one in changed.json["files"]} == {
        "out.csv": "same",
        "report.csv": "same",
        "cards.csv": "changed",
    }
    (out.parent / "report.csv").unlink()
    gone = discreet("verify", out, "--json")
    assert (gone.code, gone.json["holds"]) == (1, False)
    content = bytearray(out.read_bytes())
    content[-2] ^= 1
    out.write_bytes(content)
    said = discreet("verify", out)
    assert said.code == 1
    assert "The table is NOT as it was written." in said.out
    assert [line.split()[-1] for line in said.out.splitlines() if line.startswith(("output", "input"))] == [
        "changed",
        "missing",
        "changed",
    ]


def test_table_and_manifest_are_moved_together(discreet: Discreet, cards: Path, out: Path) -> None:
    other = out.parent / "other"
    other.mkdir()
    for name in ("out.csv", "report.csv", "out.csv.manifest.json"):
        (out.parent / name).rename(other / name)
    said = discreet("verify", other / "out.csv", "--json")
    assert said.code == 0
    assert [one["found"] for one in said.json["files"]] == ["same", "same", "missing"]


def test_a_file_that_was_added_to_a_folder_is_found(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "parted"
    assert discreet(
        *given(cards, out, *SECRET[:1], "activity=activity 1", "--accept-model", "--partition-by", "place")
    ).code in (0, 1)
    assert discreet("verify", out).code == 0
    some = next(out.rglob("*.parquet"))
    (some.parent / "more.parquet").write_bytes(some.read_bytes())
    said = discreet("verify", out, "--json")
    assert said.code == 1
    assert [Path(one).name for one in said.json["added"]] == ["more.parquet"]


def test_without_a_manifest_there_is_no_answer(discreet: Discreet, cards: Path, out: Path) -> None:
    assert "has no manifest cards.csv.manifest.json" in error_of(discreet("verify", cards))
    assert "there is no such table" in error_of(discreet("verify", out.parent / "nothing.csv"))
    path = manifests.manifest_beside(out)
    whole = path.read_text(encoding="utf-8")
    for text, said in (
        ("", "cannot be read"),
        ("[]", "is no manifest"),
        (whole.replace('"version": 1', '"version": 9'), "version 9"),
        (whole.replace('"outputs"', '"gone"'), "is damaged"),
        (whole.replace('"counts"', '"gone"'), "is damaged"),
    ):
        path.write_text(text, encoding="utf-8")
        assert said in error_of(discreet("verify", out))


def test_a_run_that_ends_before_its_manifest_writes_it_when_it_is_resumed(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.csv"
    told = [*given(cards, out), "--secret", "activity=activity 1", "--accept-model"]

    def ended(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(manifests, "write_manifest", ended)
        assert discreet(*told).code == 130
    first = out.read_bytes()
    assert "no manifest" in error_of(discreet("verify", out))
    assert discreet(*told, "--resume").code in (0, 1)
    assert out.read_bytes() == first
    assert discreet("verify", out).code == 0
