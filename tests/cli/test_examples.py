from __future__ import annotations

import re
import tomllib
from pathlib import Path

import typer

from discreet.cli import app
from discreet.cli.examples import FILES, shipped
from tests.cli.conftest import EXAMPLES, Discreet, error_of


def test_they_are_handed_out_and_nothing_is_overwritten(discreet: Discreet, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "examples"
    ran = discreet("examples", folder)
    assert (ran.code, ran.err) == (0, "")
    for name in FILES:
        assert (folder / name).read_bytes() == (EXAMPLES / name).read_bytes()
    (folder / "policy.toml").write_text("mine")
    (folder / "events.csv").unlink()
    again = discreet("examples", folder, "--json").json
    assert again == {"folder": str(folder), "files": list(FILES), "written": ["events.csv"]}
    assert (folder / "policy.toml").read_text() == "mine"
    assert "cannot be made" in error_of(discreet("examples", folder / "policy.toml" / "inside"))


def test_the_wheel_has_them() -> None:
    built = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    included = built["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    own = {source: target for source, target in included.items() if source.startswith("examples/")}
    assert own == {f"examples/{name}": f"discreet/examples/{name}" for name in FILES}
    assert all((shipped() / name).is_file() for name in FILES)


def test_help_cites_no_other_example() -> None:
    """Whoever installed the wheel can type what help shows."""
    cited: set[str] = set()
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for verb in verbs.values():
        cited |= set(re.findall(r"examples/([\w.]+)", verb.help or ""))
    assert {"readings.csv", "policy.toml"} <= cited <= set(FILES)
