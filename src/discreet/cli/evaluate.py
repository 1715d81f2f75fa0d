"""`discreet evaluate`: what a mechanism shows and tells on recorded days."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.inputs import (
    Maker,
    ReadingOptions,
    ends_at_midnight,
    read_model,
    read_policy_for,
    read_spec,
)
from discreet.cli.known import known_json, print_known
from discreet.cli.terminal import note, print_json, progress, table
from discreet.cli.truth import (
    IF,
    AcceptModel,
    Picture,
    already_learned,
    check_released,
    draw,
    print_truth,
    refused,
    truth_json,
)
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.contexts import Day
    from discreet.evaluation.metrics import Evaluation
    from discreet.models.parts import AnyModel
    from discreet.policy import Policy


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
            help="Learn anew from the first days, such as 0.7 of them, by the model's rules, and judge the others.",
        ),
    ] = None,
    seed: options.Seed = 0,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    person: options.Person = None,
    carry: options.LearnedCarry = None,
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    separator: options.Separator = None,
    time_format: options.TimeFormat = None,
    skip_bad: options.SkipBad = False,
    user: options.LearnedUser = None,
    time: options.LearnedTime = None,
    context: options.LearnedContext = None,
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Release recorded days as an experiment, and say how much was shown and how much it told an observer.

    The days are those that release has: a date without any reading is a day of unknown. Those of a routine are judged
    as one stream, over midnight. The habits are held against the days as well: where they say 10 %, is it 10 %? Leaves
    with 1 if some secret was breached on some day, or if the habits do not hold and --accept-model is not given. Days
    that the habits were learned from look better than others will, and the answer says so; --split 0.7 learns anew
    from the first days and judges the rest. The table speaks of the truth: keep it to yourself.

    Example: discreet evaluate examples/readings.csv --model p01.model --policy examples/policy.toml
    """
    from discreet.adversary.known import known
    from discreet.evaluation.week import evaluate_parts
    from discreet.models.routine import Routine

    spec = read_spec(mechanism, option)
    habits = read_model(model)
    secrets = read_policy_for(policy, habits)
    make = Maker(spec, secrets)
    reading = ReadingOptions.as_learned(
        model,
        user=user,
        time=time,
        context=context,
        start=start,
        end=end,
        naive_zone=naive_zone,
        carry=carry,
        skip_bad=skip_bad,
        person=person,
        separator=separator,
        time_format=time_format,
        places=places,
    )
    carried = reading.carried(habits.clock)
    days, readings = reading.as_they_came().read_one(data, habits)
    if split is not None:
        habits, days = _parted(habits, days, secrets, split, carried)
    learned = already_learned(habits, days)
    with progress("evaluating") as report:
        results = evaluate_parts(habits, make, days, carry=carried, seed=seed, progress=report)
    truth = check_released(habits, make, days, secrets, spec.name, carry=carried, seed=seed)
    draw(picture, truth, f"{spec.name}: where an observer is 10 % sure, is it 10 %?")
    breached = any(result.breached for result in results.values())
    told = known(habits, secrets)
    if json:
        parts = [{"part": part, **asdict(result)} for part, result in results.items()]
        document = {"mechanism": spec.name, "without_end": make.endless, "seed": seed, "breached": breached}
        document |= {"split": split, "learned_days": learned}
        held = {"known": known_json(told), "truth": truth_json(truth, accept_model)}
        print_json({**document, "parts": parts, **held, "bad_rows": readings.bad.count})
    else:
        joined = isinstance(habits, Routine)
        print_known(told, habits.clock)
        if learned:
            print(f"{_seen_before(learned, len(days))}\n")
        for part, result in results.items():
            _print(spec.name + (f", {part}s" if part else ""), result, secrets, joined=joined)
        if joined and not make.endless:
            print(f"{ends_at_midnight(spec.name)}.")
        print_truth(truth, accept_model)
        if readings.bad.count:
            note(f"{readings.bad.count} bad rows were skipped")
    if breached or refused(truth, accept_model):
        raise typer.Exit(1)


def _parted(habits: AnyModel, days: list[Day], policy: Policy, share: float, carry: int) -> tuple[AnyModel, list[Day]]:
    """Habits of the first days, by the rules that the model was learned by, and the days that are left to judge."""
    from discreet.contexts import carry_forward
    from discreet.models.held_out import relearned
    from discreet.models.held_out import split as parted

    if not 0 < share < 1:
        raise DiscreetError(f"--split is {share:g}; give the share of the days to learn from, such as 0.7")
    earlier, later = parted(days, 1 - share)
    if not earlier or not later:
        raise DiscreetError(f"--split {share:g} of {len(days)} days leaves none to learn from, or none to judge")
    note(
        f"learned anew from the {len(earlier)} days until {earlier[-1].date}, by the rules of the model; "
        f"judged are the {len(later)} from {later[0].date} on"
    )
    return relearned(habits, carry_forward(earlier, carry), policy), list(later)


def _seen_before(learned: int, days: int) -> str:
    """What to say of days that the habits were learned from."""
    which = "These days" if learned == days else f"{learned} of these {days} days"
    return (
        f"{which} are among those that the habits were learned from: new days will not fit as well. To judge days that "
        "were not learned: --split 0.7, or give later ones."
    )


def _print(name: str, result: Evaluation, policy: Policy, *, joined: bool) -> None:
    judged = ", judged as one stream, over midnight" if joined else ""
    gains = "belief minus prior, " + ("where it could exceed its delta" if joined else "at any time of any day")
    print(f"{name}: {result.days} days, {result.slots} slots{judged}\n")
    rows = [
        ["utility", f"{result.utility:.4f}", "the worth of a slot: 1 where it is shown as it was"],
        ["silent", f"{result.suppressed:.4f}", "of the slots"],
        ["breach rate", f"{result.breach_rate:.4f}", "secrets and slots over their delta, a slot"],
        ["breached days", str(result.breached_days), f"of {result.days}"],
        ["worst gain", f"{result.worst_gain:.4f}", gains],
        ["off model", str(result.off_model), "readings that the model has no place for"],
        ["milliseconds", f"{1000 * result.seconds_per_decision:.3f}", "a decision"],
    ]
    width = max(len(row[1]) for row in rows)
    print("\n".join(f"{what:<13}  {value:>{width}}  {words}" for what, value, words in rows))
    if policy.secrets:
        worst = [
            [one.secret.name, f"{one.gain:.4f}", one.terms, one.word]
            for one in policy.verdicts(result.by_secret, excess=result.excess_by_secret)
        ]
        print()
        print(table(["secret", "worst gain", "delta", IF], worst))
    print()
