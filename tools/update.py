"""Renew constraints.txt, and the versions of the tools in pyproject.toml, from the newest that install together.

In an environment that is thrown away: discreet with every extra, the tools without their versions, and what it is
built with. Only names and versions are written. `make check` and `make test` say whether the newest serve.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT, CONSTRAINTS = ROOT / "pyproject.toml", ROOT / "constraints.txt"
BUILD = ("hatchling", "editables")
"""What an editable install is built with."""

HEAD = """\
# Every package that discreet was tested with, all extras included. `make .venv` installs by it, `make update` renews;
# `pip install discreet` goes by the ranges in pyproject.toml.
"""


def frozen(extras: list[str], tools: list[str]) -> str:
    """The newest versions of all of it that install together, as pip lists them."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        wanted = [*tools, *BUILD, "--editable", f".[{','.join(extras)}]"]
        subprocess.run([*pip, "install", "--quiet", *wanted], cwd=ROOT, check=True)
        listed = subprocess.run([*pip, "freeze", "--exclude-editable"], cwd=ROOT, check=True, capture_output=True)
    lines = [line for line in listed.stdout.decode().splitlines() if re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)]
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


def main() -> None:
    """Install, list, write."""
    text = PYPROJECT.read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["optional-dependencies"]
    pinned = [line for line in declared["test"] + declared["dev"] if "==" in line]
    tools = [line.partition("==")[0] for line in pinned]
    listed = frozen([name for name in declared if name not in ("test", "dev")], tools)
    found = {name.lower(): version for name, version in re.findall(r"^(.+)==(.+)$", listed, re.MULTILINE)}
    for line, tool in zip(pinned, tools, strict=True):
        text = text.replace(f'"{line}"', f'"{tool}=={found[tool.lower()]}"')
    PYPROJECT.write_text(text, encoding="utf-8")
    CONSTRAINTS.write_text(HEAD + listed, encoding="utf-8")
    sys.stdout.write(f"constraints.txt: {len(found)} packages; now run make check and make test\n")


if __name__ == "__main__":
    main()
