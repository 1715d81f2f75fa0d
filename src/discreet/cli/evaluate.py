"""`discreet evaluate`: what a mechanism shows and tells on recorded days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.batch.inputs import ends_at_midnight
from discreet.batch.judged_days import JudgedDays, JudgedPeople, JudgeOrder
from discreet.batch.truth import refused
from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.terminal import TERMINAL, note, print_json, print_json_of_many
from discreet.cli.terminal import table as aligned
from discreet.cli.truth import IF, AcceptModel, Picture, check_picture, draw, print_known, print_truth
from discreet.errors import DiscreetError
from discreet.given import counted

if TYPE_CHECKING:
    from discreet.evaluation.metrics import Evaluation
    from discreet.mechanisms.named import Spec
    from discreet.policy import Policy


@options.grouped
def evaluate(
    data: options.DataFile,
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName = options.DEFAULT,
    option: options.MechanismOptions = None,
    split: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Learn again from the first days, such as 0.7 of them, with the model's options, and evaluate "
            "the others.",
        ),
    ] = None,
    seed: options.Seed = 0,
    engine: options.EngineOptions = options.ENGINE,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    table: options.LearnedTableOptions = options.LEARNED_TABLE,
    json: options.Json = False,
) -> None:
    """Release recorded days as an experiment, and report how much was shown and what an observer learned from it.

    A date without any reading is a day of unknown, as in release. With a routine, the days are evaluated as one stream,
    across midnight. The model is tested on the days as well: is what it gives 10 % true 10 % of the time? The exit
    status is 1 if a secret was breached on some day, or if the model does not hold and --accept-model is not given.
    Days from which the habits were learned look better than later days will, and the answer says so; --split 0.7 learns
    from the first days and evaluates the rest. The table contains private data: keep it to yourself.

    If --model is a folder with a model for each person, as learn writes it, each person is evaluated alone with their
    own model, on this machine or, with --engine spark, on Spark.

    Example: discreet evaluate examples/readings.csv --model p01.model --policy examples/policy.toml
    """
    spec = read_spec(mechanism, option)
    engine.check(picture=picture)
    check_picture(picture)
    order = JudgeOrder(data, model, policy, spec, split, seed, table.reading, TERMINAL)
    if engine.engine == "spark":
        with order.by_spark(engine.master) as people:
            _tell(people, spec, accept_model, json)
        return
    if model.is_dir():
        if picture is not None:
            raise DiscreetError("--picture is of one person; give one model of the folder")
        _tell(order.everybody(engine.workers), spec, accept_model, json)
        return
    found, secrets, bad = order.one()
    draw(picture, found.truth, f"{spec.name}: where an observer is 10 % sure, is it 10 %?")
    if json:
        print_json({"mechanism": spec.name, **found.document(accept_model), "bad_rows": bad})
    else:
        _print(found, spec.name, secrets, accept_model)
        if bad:
            note(f"{bad} bad rows were skipped")
    if found.breached or refused(found.truth, accept_model):
        raise typer.Exit(1)


def _tell(judged: JudgedPeople, spec: Spec, accepted: bool, json: bool) -> None:
    """A line for each person, and how many there is nothing to say against; otherwise the exit status is 1."""
    found, bad = judged
    no = sum(one.breached or refused(one.truth, accepted) for one in found)
    if json:
        people = ({"person": one.name, **one.document(accepted)} for one in found)
        print_json_of_many({"mechanism": spec.name, "people": [], "bad_rows": bad}, "people", people)
    else:
        rows = [line for one in found for line in _lines(one)]
        print(aligned(["person", "days", "utility", "breach rate", "worst gain", "habits hold"], rows))
        untested = sum(one.truth.holds is None for one in found)
        print(f"\n{len(found) - no} of {len(found)} people are breached nowhere and have no habits that are refuted")
        if untested:
            print(f"the habits of {untested} of them were not tested")
        if bad:
            note(f"{bad} bad rows were skipped")
    if no:
        raise typer.Exit(1)


def _lines(one: JudgedDays) -> list[list[str]]:
    """A line for each part of a person's days."""
    return [
        [
            one.name + (f", {part}s" if part else ""),
            str(result.days),
            f"{result.utility:.4f}",
            f"{result.breach_rate:.4f}",
            f"{result.worst_gain:.4f}",
            {None: "not tested", True: "yes", False: "NO"}[one.truth.holds],
        ]
        for part, result in one.results.items()
    ]


def _print(found: JudgedDays, mechanism: str, policy: Policy, accepted: bool) -> None:
    """For people."""
    print_known(found.told, found.clock)
    if found.learned:
        print(f"{_seen_before(found.learned, found.days)}\n")
    for part, result in found.results.items():
        _print_part(mechanism + (f", {part}s" if part else ""), result, policy, joined=found.joined)
    if found.joined and not found.endless:
        print(f"{ends_at_midnight(mechanism)}.")
    print_truth(found.truth, accepted)


def _seen_before(learned: int, days: int) -> str:
    """What to say of days that the habits were learned from."""
    which = "These days" if learned == days else f"{learned} of these {days} days"
    return (
        f"{which} are among those that the habits were learned from: new days will not fit as well. To judge days that "
        "were not learned: --split 0.7, or give later ones."
    )


def _print_part(name: str, result: Evaluation, policy: Policy, *, joined: bool) -> None:
    from discreet.factors import in_words

    judged = ", judged as one stream, over midnight" if joined else ""
    gains = "belief minus prior, " + ("where it could exceed its delta" if joined else "at any time of any day")
    print(f"{name}: {counted(result.days, 'day')}, {counted(result.slots, 'slot')}{judged}\n")
    rows = [
        ["utility", f"{result.utility:.4f}", "mean worth of a slot: 1 if the truth is shown"],
        ["silent", f"{result.suppressed:.4f}", "of the slots"],
        ["breach rate", f"{result.breach_rate:.4f}", "pairs of secret and slot beyond delta, per slot"],
        ["breached days", str(result.breached_days), f"of {result.days}"],
        ["worst gain", f"{result.worst_gain:.4f}", gains],
        ["worst odds", in_words(result.worst_odds), "the largest factor on anybody's odds of a secret"],
        ["off model", str(result.off_model), "readings that the model holds impossible"],
        ["milliseconds", f"{1000 * result.seconds_per_decision:.3f}", "per decision"],
    ]
    width = max(len(row[1]) for row in rows)
    print("\n".join(f"{what:<13}  {value:>{width}}  {words}" for what, value, words in rows))
    if policy.secrets:
        worst = [
            [one.secret.name, f"{one.gain:.4f}", one.terms, one.word]
            for one in policy.verdicts(result.by_secret, excess=result.excess_by_secret)
        ]
        print()
        print(aligned(["secret", "worst gain", "delta", IF], worst))
    print()
