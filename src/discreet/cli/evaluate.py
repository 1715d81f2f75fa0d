"""`discreet evaluate`: what a mechanism shows and tells on recorded days."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from discreet.cli import options
from discreet.cli.inputs import ReadingOptions, read_model, read_policy_for, read_spec
from discreet.cli.terminal import note, print_json, progress, table

if TYPE_CHECKING:
    from discreet.evaluation.metrics import Evaluation
    from discreet.policy import Policy


def evaluate(
    data: options.DataFile,
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName,
    option: options.MechanismOptions = None,
    seed: options.Seed = 0,
    person: options.Person = None,
    carry: options.Carry = "4h",
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    json: options.Json = False,
) -> None:
    """Release recorded days as an experiment, and say how much was shown and how much it told an observer.

    Leaves with 1 if some secret was breached on some day. The table speaks of the truth: keep it to yourself.

    Example: discreet evaluate examples/readings.csv --model p01.model --policy examples/policy.toml --mechanism no-mask
    """
    from discreet.evaluation.metrics import evaluate as run_evaluation
    from discreet.models.week import days_by_part, parts_of

    spec = read_spec(mechanism, option)
    habits = read_model(model)
    secrets = read_policy_for(policy, habits)
    mechanisms = {part: spec.make(habit, secrets) for part, habit in parts_of(habits).items()}
    reading = ReadingOptions(user, time, context, start, end, naive_zone, carry, skip_bad, person)
    days, readings = reading.read_one(data, habits)
    by_part = days_by_part(habits, days)
    results: dict[str | None, Evaluation] = {}
    done = 0
    with progress("evaluating") as report:

        def one_more() -> None:
            nonlocal done
            done += 1
            report(done, len(days))

        for part, own in by_part.items():
            contexts = mechanisms[part].model.contexts
            known = [day.fitted(contexts) for day in own]
            results[part] = run_evaluation(mechanisms[part], known, seed=seed, progress=one_more)
    breached = any(result.breached_days for result in results.values())
    if json:
        parts = [{"part": part, **asdict(result)} for part, result in results.items()]
        document = {"mechanism": spec.name, "seed": seed, "breached": breached, "parts": parts}
        print_json({**document, "bad_rows": readings.bad.count})
    else:
        for part, result in results.items():
            _print(spec.name + (f", {part}s" if part else ""), result, secrets)
        if readings.bad.count:
            note(f"{readings.bad.count} bad rows were skipped")
    if breached:
        raise typer.Exit(1)


def _print(name: str, result: Evaluation, policy: Policy) -> None:
    from discreet.numerics import exceeds

    print(f"{name}: {result.days} days, {result.slots} slots\n")
    rows = [
        ["utility", f"{result.utility:.4f}", "of the slots were shown as they were"],
        ["silent", f"{result.suppressed:.4f}", "of the slots"],
        ["breach rate", f"{result.breach_rate:.4f}", "secrets and slots over their delta, a slot"],
        ["breached days", str(result.breached_days), f"of {result.days}"],
        ["worst gain", f"{result.worst_gain:.4f}", "belief minus prior, at any time of any day"],
        ["off model", str(result.off_model), "readings that the model has no place for"],
        ["milliseconds", f"{1000 * result.seconds_per_decision:.3f}", "a decision"],
    ]
    width = max(len(row[1]) for row in rows)
    print("\n".join(f"{what:<13}  {value:>{width}}  {words}" for what, value, words in rows))
    if policy.secrets:
        worst = [
            [secret.name, f"{gain:.4f}", f"{delta:.4f}", "breached" if exceeds(gain, delta) else "kept"]
            for secret in policy.secrets
            for gain, delta in [(result.by_secret.get(secret.name, 0.0), policy.delta_of(secret))]
        ]
        print()
        print(table(["secret", "worst gain", "delta", ""], worst))
    print()
