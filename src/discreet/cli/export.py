"""`discreet export`: a table of decisions, for a phone that decides by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.batch.inputs import read_model, read_policy_for
from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.terminal import print_json, progress
from discreet.cli.truth import IF
from discreet.errors import DiscreetError


def export(
    model: options.ModelFile,
    policy: options.PolicyFile,
    out: Annotated[Path, typer.Option(metavar="DECISIONS", help="Where to write the table: a new JSON file.")],
    mechanism: options.MechanismName = options.DEFAULT,
    option: options.MechanismOptions = None,
    json: options.Json = False,
) -> None:
    """Write a table with which a phone decides what to show, without this program.

    For each last release, and how long ago it was, the table has the weights of showing the truth, as integers. A
    reader of a hundred lines, in Python or JavaScript, looks them up and draws (docs/phone.md). The habits must be of
    single days: learn them with --day-by-day. The mechanism must be one that shows the truth or nothing: adaptive,
    simulatable, probabilistic or hybrid.

    The table reveals habits and secrets to anybody who reads it: keep it on the person's own device. It has none of
    their readings. A secret with at = "any" is refused.

    Example: discreet export --model p01.model --policy policy.toml --out decisions.json
    """
    from discreet.decisions import decisions_of, document_bytes
    from discreet.files import written_whole

    spec = read_spec(mechanism, option)
    habits = _of_one_day(model)
    secrets = read_policy_for(policy, habits)
    if out.exists():
        raise DiscreetError(f"{out}: is there already; remove it first, or choose another name")
    made = spec.make(habits, secrets)
    with progress(f"deciding by {spec.name}") as report:
        document = decisions_of(made, progress=report)
    content = document_bytes(document)
    with written_whole(out, private=True) as file:
        file.write(content)
    _tell(out, spec.name, document, len(content), json)


def _of_one_day(path: Path) -> Any:
    """The habits of a file, if they are of a single day that is the same for all dates."""
    from discreet.models.chain.week import Models
    from discreet.models.routine.parts import AnyRoutine

    habits = read_model(path)
    if isinstance(habits, AnyRoutine | Models):
        kind = "days without end" if isinstance(habits, AnyRoutine) else "several kinds of day"
        raise DiscreetError(
            f"{path}: holds habits of {kind}, and a table is of a single day; learn with --day-by-day --alike"
        )
    return habits


def _tell(out: Path, name: str, document: dict[str, Any], size: int, json: bool) -> None:
    runs, decisions = document["runs"], document["decisions"]
    counts = {
        "slots": document["slots"],
        "contexts": len(document["contexts"]),
        "runs": len(runs),
        "decisions": len(decisions),
        "weights": sum(len(decision[2]) for decision in decisions),
        "bytes": size,
    }
    if json:
        same = {key: document[key] for key in ("version", "guarantee", "model", "policy", "digest")}
        memory = document["memory"] is not None
        print_json({"out": str(out), "mechanism": name, **counts, "memory": memory, **same})
        return
    print(
        f"{out}: the decisions of {name} for {counts['slots']} slots and {counts['contexts']} contexts: {len(runs)} "
        f"runs, {len(decisions)} decisions, {counts['weights']} weights, {size:,} bytes."
    )
    promised = f"{document['guarantee']}, {IF}" if document["guarantee"] != "none" else "nothing"
    print(f"Promised: {promised}. Each day starts again from the beginning, and nothing is promised over midnight.")
    print("Keep it on the person's own device: it shows habits and secrets to whoever reads it.")
