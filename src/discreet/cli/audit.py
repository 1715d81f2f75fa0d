"""`discreet audit`: the most that any output of a mechanism could tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isinf
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.batch.inputs import Maker, ends_at_midnight, read_model, read_policy_for
from discreet.batch.truth import known_json
from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.terminal import percent, print_json, stages, table
from discreet.cli.truth import IF, if_true, print_known

if TYPE_CHECKING:
    from discreet.adversary.audit import Audit, Witness
    from discreet.clock import Clock
    from discreet.models.routine.parts import AnyModel
    from discreet.outputs import Output
    from discreet.policy import Policy


def audit(
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName = options.DEFAULT,
    option: options.MechanismOptions = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="KERNELS", help="How many kernels to examine before answering with an interval."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="How long to search before answering with an interval.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="For a routine: how many days in a row to audit; by default 2.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="For a routine: the first of these days; by default a Monday."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Find the most that an observer who knows the habits could learn about each secret.

    The exit status is 0 if every gain is proven to stay within its delta, and 1 if one exceeds it or the question stays
    open. If not every output can be examined, the proof may be the mechanism's own; the answer then says so.

    For a routine, several days in a row are audited, with an observer who knows how nights join them. Mechanisms that
    release without end run across midnight. Others start again each day, and the audit finds what they leak across
    midnight.

    Example: discreet audit --model p01.model --policy examples/policy.toml
    """
    from discreet.adversary.audit import all_hold, audit_observers, audit_parts
    from discreet.adversary.known import known
    from discreet.models.store import truth_of

    spec = read_spec(mechanism, option)
    habits = read_model(model)
    secrets = read_policy_for(policy, habits)
    make = Maker(spec, secrets)
    with stages(f"auditing {spec.name}") as report:
        looked: dict[str, Any] = {"budget": budget, "seconds": seconds, "days": days, "since": since}
        audits = audit_parts(habits, make, **looked, progress=report)
        others = audit_observers(habits, make, **looked, progress=report)
    holds = all_hold([*audits.values(), *others])
    told = known(habits, secrets)
    if json:
        parts = [_object(part, result, secrets, habits.clock) for part, result in audits.items()]
        found: dict[str, Any] = {
            "mechanism": spec.name,
            "without_end": make.endless,
            "holds": holds,
            "observers": [_before(result) for result in others],
            "truth": truth_of(model),
        }
        print_json({**found, "days": _days(habits, days), "parts": parts, "known": known_json(told)})
    else:
        judged = _days(habits, days)
        print_known(told, habits.clock)
        over = "" if judged is None else f" over {judged} day{'s' if judged > 1 else ''}"
        for part, result in audits.items():
            _print(spec.name + over + (f", {part}s" if part else ""), result, secrets, habits.clock)
        if judged is not None and not make.endless:
            print(f"{ends_at_midnight(spec.name)}.")
        if others:
            print(_before_others(others))
        print(if_true(truth_of(model)))
    if not holds:
        raise typer.Exit(1)


def _days(habits: AnyModel, given: int | None) -> int | None:
    """How many days in a row are judged; None for habits of single days."""
    from discreet.adversary.audit import OVER_MIDNIGHT
    from discreet.models.routine.parts import AnyRoutine

    if not isinstance(habits, AnyRoutine):
        return None
    return OVER_MIDNIGHT if given is None else given


# --- for machines


def _object(part: str | None, result: Audit, policy: Policy, clock: Clock | None) -> dict[str, object]:
    return {
        "part": part,
        "holds": result.holds,
        "exact": result.exact,
        "rests_on": result.rests_on,
        "worst_gain": result.worst_gain,
        "worst_odds": result.worst_odds,
        "bound": result.bound,
        "excess": result.excess,
        "secrets": [
            {
                "name": secret.name,
                "at": secret.at,
                "delta": policy.delta_of(secret),
                "cap": secret.cap,
                "odds": policy.odds_of(secret),
                "worst_odds": policy.worst(secret, result.odds_by_secret),
                "worst_gain": policy.worst(secret, result.by_secret),
                "bound": policy.worst(secret, result.bound_by_secret),
                "excess": policy.worst(secret, result.excess_by_secret),
                "bound_excess": policy.worst(secret, result.bound_excess_by_secret),
            }
            for secret in policy.secrets
        ],
        "witness": None if result.witness is None else _witness(result.witness, clock),
        "breach": None if result.breach is None else _witness(result.breach, clock),
        "kernels": result.kernels,
        "searched": result.method,
    }


def _before(result: Audit) -> dict[str, object]:
    """What was found before one of the other observers."""
    found = {"holds": result.holds, "exact": result.exact, "rests_on": result.rests_on}
    return {**found, "worst_gain": result.worst_gain, "bound": result.bound, "excess": result.excess}


def _witness(witness: Witness, clock: Clock | None) -> dict[str, object]:
    from discreet.outputs import to_wire

    return {
        "secret": witness.secret,
        "slot": witness.slot,
        "time": None if clock is None or witness.slot is None else clock.label(witness.slot % clock.slots),
        "day": None if clock is None or witness.slot is None else 1 + witness.slot // clock.slots,
        "prior": witness.prior,
        "belief": witness.belief,
        "gain": witness.gain,
        "outputs": [to_wire(output) for output in witness.outputs],
    }


# --- for people


def _print(name: str, result: Audit, policy: Policy, clock: Clock | None) -> None:

    print(f"{name}: {_verdict(result)}\n")
    if policy.secrets:
        rows = []
        for one in policy.verdicts(
            result.by_secret,
            result.bound_by_secret,
            excess=result.excess_by_secret,
            bound_excess=result.bound_excess_by_secret,
        ):
            when = "some slot" if one.secret.at == "any" else "each slot"
            rows.append([one.secret.name, when, f"{one.gain:.4f}", f"{one.bound:.4f}", one.terms, one.word])
        print(table(["secret", "at", "worst gain", "proven bound", "delta", IF], rows, left=2))
        print()
    witness = result.breach or result.witness
    if witness is not None:
        _print_witness(witness, clock)
    if result.witness is not None:
        if isinf(result.worst_odds):
            print("Some outputs leave no doubt of a secret, so the factor on its odds has no bound.")
        else:
            found = "at most" if result.exact else "as far as was searched, at most"
            print(f"Outputs multiply anybody's odds of a secret by {found} {result.worst_odds:.3g}.")
    print(f"Searched: {result.method}.")


def _before_others(others: Sequence[Audit]) -> str:
    from discreet.adversary.audit import all_hold

    worst = max(result.worst_gain for result in others)
    said = {True: "no gain exceeds its delta", False: "some gain exceeds its delta", None: "left open"}
    return (
        f"Before {len(others)} observers who may have learned the habits elsewhere, by their own priors: "
        f"{said[all_hold(others)]}; the worst that was met is {worst:.4f}."
    )


def _verdict(result: Audit) -> str:
    if result.holds and result.rests_on == "proof":
        return (
            f"holds by its proof, {IF}. No gain that was met exceeds its delta; not every output was looked at, and "
            "the rest rests on the mechanism's proof."
        )
    if result.holds:
        return f"holds, {IF}. Whatever is shown, no gain exceeds its delta."
    if result.holds is False:
        return "does not hold. Some output gains more than its delta."
    return (
        f"open. The worst gain lies between {result.worst_gain:.4f} (found) and {result.bound:.4f} (proven), "
        "and that leaves some delta undecided."
    )


def _print_witness(witness: Witness, clock: Clock | None) -> None:
    slots = len(witness.outputs) if clock is None else clock.slots  # of a day
    several = len(witness.outputs) > slots
    where = "" if witness.slot is None else f" at {_time(witness.slot % slots, clock)}"
    if several and witness.slot is not None:
        where += f" of day {1 + witness.slot // slots}"
    print(
        f"The worst: {percent(witness.belief)} sure of {witness.secret!r}{where}, "
        f"instead of {percent(witness.prior)} before any output. Outputs that do it:"
    )
    for day, first in enumerate(range(0, len(witness.outputs), slots), 1):
        for number, (begin, after, shown) in enumerate(runs(witness.outputs[first : first + slots])):
            opening = "" if not several else f"{f'day {day}' if number == 0 else '':<8}"
            print(f"  {opening}{_time(begin, clock)} to {_time(after, clock)}  {shown}")
    print()


def runs(outputs: tuple[Output, ...]) -> Iterator[tuple[int, int, str]]:
    """(first slot, slot after the last, what was shown) of each run of equal outputs."""
    from discreet.outputs import text_of

    for output, slots in groupby(range(len(outputs)), key=lambda slot: outputs[slot]):
        run = list(slots)
        yield run[0], run[-1] + 1, text_of(output) or "(silence)"


def _time(slot: int, clock: Clock | None) -> str:
    return f"slot {slot}" if clock is None else clock.label(slot)
