"""Build what is released, into dist: `make release` calls it once the checks and the tests have passed.

Wheel and sdist of both distributions are built twice, and must have the same bytes both times. Beside them stand their
checksums and the notes of this version from CHANGELOG.md. Nothing is uploaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import changelog

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = (ROOT, ROOT / "experiments")


def git(*arguments: str) -> str:
    """What git says."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def version_of(folder: Path) -> str:
    """The version that a distribution declares."""
    with (folder / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def versions_agree() -> str:
    """The one version of both distributions, of the package and of the citation; stops where they differ."""
    package = re.search(r'^__version__ = "(.+)"', (ROOT / "src/discreet/__init__.py").read_text("utf-8"), re.MULTILINE)
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    found = {str(folder.relative_to(ROOT) / "pyproject.toml"): version_of(folder) for folder in DISTRIBUTIONS}
    found |= {
        "src/discreet/__init__.py": package[1] if package else "",
        "CITATION.cff": citation[1] if citation else "",
    }
    if len(set(found.values())) != 1:
        raise SystemExit(f"versions differ: {found}; write the same in each")
    return version_of(ROOT)


def built(folder: Path, out: Path, epoch: str) -> list[Path]:
    """Wheel and sdist of a distribution, with the time of the commit in place of now."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
    return sorted(out.iterdir())


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def built_twice(dist: Path, epoch: str) -> list[Path]:
    """Everything that is released; stops where the second build differs from the first."""
    with tempfile.TemporaryDirectory() as other:
        for number, folder in enumerate(DISTRIBUTIONS):
            built(folder, dist, epoch)
            for again in built(folder, Path(other) / str(number), epoch):
                if digest(again) != digest(dist / again.name):
                    raise SystemExit(f"{again.name}: two builds of the same commit differ")
    return sorted(dist.iterdir())


def notes(version: str) -> str:
    """What the changelog says of this version, or of what is not released yet."""
    text = changelog.whole(ROOT)
    for heading in (rf"\[{re.escape(version)}\]", r"\[Unreleased\]"):
        found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if found:
            return f"# discreet {version}\n\n{found[1].strip()}\n"
    raise SystemExit(f"CHANGELOG.md: nothing about {version}; write what has changed")


def main(dist: Path = ROOT / "dist") -> None:
    """Build, compare, write."""
    if changed := git("status", "--porcelain"):
        raise SystemExit(f"these files are not committed:\n{changed}\ncommit them, or remove them")
    version = versions_agree()
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    packages = built_twice(dist, git("log", "-1", "--format=%ct"))
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in packages)
    (dist / "SHA256SUMS.txt").write_text(sums, encoding="utf-8")
    (dist / "notes.md").write_text(notes(version), encoding="utf-8")
    sys.stdout.write(f"{sums}discreet {version} is in {dist}; nothing was uploaded\n")


if __name__ == "__main__":
    main()
