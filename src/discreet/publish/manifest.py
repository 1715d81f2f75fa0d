"""The manifest beside a published table: what it was made from, by what, with which promise, and digests to check it.

It is JSON, for its owner alone. It names neither people nor secrets, but its gains depend on the truth, and whoever has
a guess of the data or of the policy can confirm the guess by its digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import DataError
from discreet.files import refuse_address, written_whole
from discreet.publish.draws import ARITHMETIC, build
from discreet.publish.plan import Plan, TopicHabits

if TYPE_CHECKING:
    from discreet.publish.summary import Summary

FORMAT, VERSION = "discreet published table", 1
PACKAGES = (*ARITHMETIC, "polars")

Found = Literal["same", "changed", "missing", "not checked"]


@dataclass(frozen=True)
class FileDigest:
    """A file with its size and SHA-256; both are None of an address that only Spark's workers read."""

    path: str
    bytes: int | None
    sha256: str | None

    @classmethod
    def of(cls, path: Path) -> FileDigest:
        """Of a file as it is now."""
        with path.open("rb") as file:
            return cls(str(path), path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())

    def beside(self, folder: Path) -> FileDigest:
        """With the path as seen from a folder, so that table and manifest can be moved together."""
        if self.sha256 is None:
            return self
        try:
            path = Path(os.path.relpath(self.path, folder)).as_posix()
        except ValueError:  # on another drive
            path = str(Path(self.path).absolute())
        return FileDigest(path, self.bytes, self.sha256)


@dataclass(frozen=True)
class Origins:
    """What a table was made from, as far as the plan and the report do not say."""

    engine: Literal["local", "spark"]
    inputs: Sequence[FileDigest]
    rows: dict[str, int]
    """Rows that were read, bad, duplicate and out of order."""
    learned_from: int | None = None
    """People whom habits were learned from."""
    model_holds: bool | None = None
    """Whether the test of the habits found nothing against them; None where they were not tested."""
    command: Sequence[str] = ()
    """The command line, without what it says of secrets (`masked`)."""


def digests_of(files: Iterable[Path]) -> list[FileDigest]:
    """Of each file, in order."""
    return [FileDigest.of(path) for path in files]


def manifest_beside(table: Path) -> Path:
    """Where the manifest of a table is."""
    return table.with_name(f"{table.name}.manifest.json")


def write_manifest(table: Path, report: Path | None, plan: Plan, summary: Summary, origins: Origins) -> Path:
    """Write the manifest of a table that is there; the file appears whole or not at all."""
    path = manifest_beside(table)
    outputs = [file for made in (table, report) if made is not None for file in _files(made)]
    folder = path.parent.absolute()
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(origins.command),
        "versions": _versions(origins.engine),
        "engine": origins.engine,
        "inputs": [asdict(one.beside(folder)) for one in origins.inputs],
        **_rules(plan, origins),
        "outputs": [asdict(one.beside(folder)) for one in digests_of(outputs)],
        "counts": {"people": summary.people, "events": summary.events, **origins.rows},
        **_promise(summary, origins),
    }
    with written_whole(path, private=True) as file:
        file.write((json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    return path


def _versions(engine: str) -> dict[str, str]:
    packages = (*PACKAGES, *(("pyspark",) if engine == "spark" else ()))
    found = {"discreet": _version("discreet"), "python": platform.python_version()}
    return {**found, **{name: _version(name) for name in packages}, "build": build()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # brought along without its metadata, by a bundle
        return ""


def _rules(plan: Plan, origins: Origins) -> dict[str, Any]:
    """Digests of habits and policy, and who decided."""
    habits = plan.habits
    options = {key: str(value) for key, value in sorted(plan.mechanism.options.plain().items())}
    return {
        "habits": {
            "name": habits.name,
            "digest": habits.fingerprint if isinstance(habits, TopicHabits) else None,
            "learned_from": origins.learned_from,
            "hold": origins.model_holds,
        },
        "policy": {"secrets": len(plan.policy.secrets), "digest": plan.policy.fingerprint},
        "mechanism": {"name": plan.mechanism.name, "options": options, "piece": plan.piece_length},
    }


def _promise(summary: Summary, origins: Origins) -> dict[str, Any]:
    """What is promised of the table, and what was found by following an observer through it."""
    guarantee = summary.guarantee
    return {
        "promise": {
            "kind": guarantee.kind,
            "statement": guarantee.statement,
            "proven": guarantee.proven,
            "scope": summary.scope,
        },
        "audit": {
            "worst_gain": summary.worst_gain,
            "worst_excess": max(summary.excess_by_secret.values(), default=None),
            "breached": summary.breached,
            "breached_people": summary.breached_people,
            "breach_rate": summary.breach_rate,
            "off_model": summary.off_model,
            "settled": summary.settled,
        },
    }


def _files(made: Path) -> list[Path]:
    """A file, or those of a folder in order of their names."""
    if not made.is_dir():
        return [made]
    return sorted(inner for inner in made.rglob("*") if inner.is_file())


# --- checking


@dataclass(frozen=True)
class CheckedFile:
    """A file of the manifest, and what was found in its place."""

    path: str
    role: Literal["output", "input"]
    found: Found


@dataclass(frozen=True)
class Verified:
    """A manifest, and whether the files are those that it describes."""

    table: Path
    manifest: dict[str, Any]
    files: tuple[CheckedFile, ...]
    added: tuple[str, ...]
    """Files in the table's folder that it did not have when it was published."""

    @property
    def holds(self) -> bool:
        """Whether every output is as it was written; inputs may have changed or gone since."""
        return not self.added and all(one.found == "same" for one in self.files if one.role == "output")


def verify_table(table: Path) -> Verified:
    """Compare a published table with the manifest beside it."""
    path = manifest_beside(table)
    manifest = _read(table, path)
    folder = path.parent
    roles: tuple[tuple[Literal["output", "input"], str], ...] = (("output", "outputs"), ("input", "inputs"))
    try:
        named = [(role, FileDigest(**one)) for role, key in roles for one in manifest[key]]
        checked = tuple(CheckedFile(one.path, role, _compared(folder, one)) for role, one in named)
        known = {(folder / one.path).absolute() for _, one in named}
        _ = (manifest["counts"]["events"], manifest["promise"]["statement"], manifest["audit"]["worst_gain"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: the manifest is damaged ({error}); take it from a copy") from None
    known |= {Path(os.path.normpath(one)) for one in known}
    added = [one for one in _files(table) if table.is_dir() and one.absolute() not in known]
    return Verified(table, manifest, checked, tuple(str(one) for one in added))


def _read(table: Path, path: Path) -> dict[str, Any]:
    refuse_address(table)
    if not path.is_file():
        what = "there is no such table, and" if not table.exists() else "the table has"
        raise DataError(f"{table}: {what} no manifest {path.name}; discreet publish writes one beside its table")
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: the manifest cannot be read ({error}); take it from a copy") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: is no manifest of a published table; take it from a copy")
    if manifest.get("version") != VERSION:
        raise DataError(
            f"{path}: the manifest has version {manifest.get('version')}, and this discreet knows {VERSION}; "
            "use the discreet that wrote it, or a newer one"
        )
    return manifest


def _compared(folder: Path, was: FileDigest) -> Found:
    if was.sha256 is None:
        return "not checked"
    path = folder / was.path
    if not path.is_file():
        return "missing"
    try:
        now = FileDigest.of(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check who may read it") from None
    return "same" if now.sha256 == was.sha256 else "changed"
