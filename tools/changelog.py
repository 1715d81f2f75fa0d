"""The changelog from its fragments: `changelog.d/NAME.KIND.md`, one for each change that a user notices.

Fragments keep branches from changing the same lines. `python tools/changelog.py` prints what is not released yet;
`python tools/changelog.py --release 1.0.0 2027-01-31` writes it into CHANGELOG.md as that version and removes the
fragments.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {"added": "Added", "changed": "Changed", "removed": "Removed", "fixed": "Fixed"}
UNRELEASED = re.compile(r"^## \[Unreleased\]\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def fragments(root: Path = ROOT) -> list[Path]:
    """The files, in the order of their names; one of another kind is an error."""
    found = sorted((root / "changelog.d").glob("*.md"))
    for path in found:
        if path.name.count(".") != 2 or path.name.split(".")[1] not in KINDS:
            raise SystemExit(f"changelog.d/{path.name}: call it NAME.KIND.md, where KIND is one of {', '.join(KINDS)}")
    return found


def unreleased(root: Path = ROOT) -> str:
    """What has changed since the last release: fragments first, then what CHANGELOG.md has under Unreleased."""
    found = UNRELEASED.search((root / "CHANGELOG.md").read_text("utf-8"))
    kept = {heading: body.strip() for heading, body in _headed(found["body"] if found else "")}
    for kind, heading in reversed(KINDS.items()):
        new = [_entry(path) for path in fragments(root) if path.name.split(".")[1] == kind]
        if new:
            kept[heading] = "\n".join([*new, *filter(None, [kept.get(heading, "")])])
    order = [*KINDS.values(), *(heading for heading in kept if heading not in KINDS.values())]
    return "\n\n".join(f"### {heading}\n\n{kept[heading]}" for heading in order if heading in kept)


def _headed(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^### ", body, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        yield heading.strip(), text


def _entry(path: Path) -> str:
    words = " ".join(path.read_text("utf-8").split())
    return textwrap.fill(words, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def whole(root: Path = ROOT) -> str:
    """CHANGELOG.md with the fragments in their place."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    return UNRELEASED.sub(lambda _: f"## [Unreleased]\n\n{unreleased(root)}\n\n", text)


def release(version: str, date: str, root: Path = ROOT) -> None:
    """Write it as a version, and remove the fragments."""
    dt.date.fromisoformat(date)
    body = unreleased(root)
    if not body:
        raise SystemExit("nothing has changed: there is no fragment in changelog.d")
    text = (root / "CHANGELOG.md").read_text("utf-8")
    if f"## [{version}]" in text:
        raise SystemExit(f"CHANGELOG.md: {version} is there already; choose the next version")
    made = f"## [Unreleased]\n\n## [{version}] - {date}\n\n{body}\n\n"
    (root / "CHANGELOG.md").write_text(UNRELEASED.sub(lambda _: made, text).rstrip("\n") + "\n", "utf-8")
    for path in fragments(root):
        path.unlink()


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", nargs=2, metavar=("VERSION", "DATE"), help="write it into CHANGELOG.md")
    given = parser.parse_args()
    if given.release:
        release(*given.release)
    else:
        sys.stdout.write(unreleased() + "\n")


if __name__ == "__main__":
    main()
