"""Print the lowest versions that pyproject.toml allows, one name==version a line, for `pip install --constraint`.

They are read from pyproject.toml, so that nobody keeps a second list: of what discreet runs on, of each extra and of
the build. Tools of the `dev` extra are there with their one version.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?(>=|==)(?P<version>[0-9][0-9A-Za-z.]*)")


def requirements(pyproject: Path = PYPROJECT) -> Iterator[str]:
    """Every requirement as it is written, except discreet's own extras."""
    with pyproject.open("rb") as file:
        content = tomllib.load(file)
    project = content["project"]
    lists = [content["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (one for several in lists for one in several):
        if not requirement.startswith(f"{project['name']}["):
            yield requirement


def lowest(requirement: str) -> tuple[str, str]:
    """The name of a requirement and the lowest version that it allows; one without a lower end is an error."""
    found = REQUIREMENT.match(requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no lower end; write name>=version")
    return found["name"], found["version"]


def main() -> None:
    """Print them; a package with two different lower ends is an error, because only one of them can be installed."""
    known: dict[str, str] = {}
    for requirement in requirements():
        name, version = lowest(requirement)
        if known.setdefault(name, version) != version:
            raise SystemExit(f"pyproject.toml: {name} is >={known[name]} and >={version}; write the same everywhere")
    sys.stdout.write("".join(f"{name}=={version}\n" for name, version in sorted(known.items())))


if __name__ == "__main__":
    main()
