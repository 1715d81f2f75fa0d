"""`discreet verify`: whether a published table is the one that was written."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import print_json, table
from discreet.given import counted

if TYPE_CHECKING:
    from discreet.publish.manifest import Verified


def verify(
    published: Annotated[
        Path, typer.Argument(metavar="TABLE", help="What discreet publish wrote: a file, or a folder of files.")
    ],
    json: options.Json = False,
) -> None:
    """Check a published table against the manifest beside it, TABLE.manifest.json.

    The exit status is 0 if table and report are as they were written, 1 if a file was changed, is missing or was added,
    and 2 if there is no manifest. It names input data that have changed since then; the table itself can still be as it
    was written. The manifest is not signed: whoever can change it can make it fit another table.

    Example: discreet verify published.csv
    """
    from discreet.publish.manifest import verify_table

    found = verify_table(published)
    if json:
        files = [asdict(one) for one in found.files]
        print_json({"holds": found.holds, "files": files, "added": list(found.added), "manifest": found.manifest})
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(1)


def _print(found: Verified) -> None:
    said: Any = found.manifest
    counts, audit, promise = said["counts"], said["audit"], said["promise"]
    mechanism = said.get("mechanism", {}).get("name", "")
    people = counted(counts.get("people", 0), "person", "people")
    print(f"{found.table}: {counted(counts['events'], 'event')} of {people}, by {mechanism}")
    print(f"written {said.get('written')} by discreet {said.get('versions', {}).get('discreet')}\n")
    rows = [[one.role, one.path, one.found] for one in found.files] + [["", one, "added"] for one in found.added]
    print(table(["", "file", "found"], rows))
    alone = "; each piece alone" * (promise.get("scope") == "each piece alone")
    print(f"\nguarantee ({promise.get('kind')}): {promise['statement']}{alone}")
    print(f"worst gain {audit['worst_gain']:.4f}, breached people {audit.get('breached_people')}")
    print("The table is as it was written." if found.holds else "The table is NOT as it was written.")
