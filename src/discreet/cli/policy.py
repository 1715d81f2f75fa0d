"""`discreet policy`: what might be secret, and what each choice of delta and vocabulary costs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.batch.inputs import read_model, read_policy_for
from discreet.cli import options
from discreet.cli.compiling import on_cores
from discreet.cli.terminal import note, percent, print_json, progress, table_line
from discreet.cli.truth import IF, check_picture, if_true
from discreet.errors import DiscreetError, PolicyError

if TYPE_CHECKING:
    from discreet.adversary.known import Known
    from discreet.choosing import Choice, Choices, Suggested
    from discreet.clock import Clock
    from discreet.models.routine.parts import AnyModel
    from discreet.models.routine.routine import Routine
    from discreet.policy import Policy

WIDTH = 80

policy = typer.Typer(
    name="policy",
    help="Choose what is secret: suggestions by stated rules, what each choice costs, and what a policy says in words. "
    "Each has --json.\n\nExample: discreet policy suggest p01.model --out policy.toml",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The habits, a routine from discreet learn.")]
Deltas = Annotated[
    list[float] | None,
    typer.Option("--delta", help="A delta to compare; may be repeated.", show_default="0.02, 0.05, 0.1, 0.2"),
]
Vocabularies = Annotated[
    list[str] | None,
    typer.Option(
        "--vocabulary",
        metavar="NAME",
        help="What may be shown instead of the truth: suppress (nothing), deceive (another context), generalize (a "
        "wider place, where the map of --places has some); may be repeated.",
        show_default="all",
    ),
]
VOCABULARY_WORDS = {
    "suppress": "the truth or nothing",
    "deceive": "any context, true or made up",
    "generalize": "the truth, a wider place, or nothing",
}


@policy.command("suggest")
def suggest_policy(
    model: Model,
    places: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The map from discreet places, for the kinds of places and for wider areas."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Where to write the policy, for you to edit.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw what each choice shows (.png, .svg, .pdf).")
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="CONTEXT", help="A secret besides those that are suggested; may be repeated."),
    ] = None,
    delta: Deltas = None,
    vocabulary: Vocabularies = None,
    weeks: Annotated[
        int, typer.Option(min=2, help="How many weeks to simulate from the routine for the comparison.")
    ] = 8,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Propose secrets by stated rules, and show what each choice of delta and vocabulary would cost.

    Rules go by names (health, belief, politics, sex life, justice, bars and gambling), by nights spent elsewhere, and
    by what is rare. Each suggestion says why. Edit what --out writes: the rules know words and hours, but not you. The
    exit status is 1 if nothing is found.

    Example: discreet policy suggest p01.model --places places.geojson --out policy.toml --picture choices.png
    """
    from discreet.choosing import choices, suggest
    from discreet.choosing.choices import DELTAS, checked_delta, hierarchy_for, possible, spec_of
    from discreet.choosing.policy_text import suggested_text
    from discreet.files import private_files, written_whole
    from discreet.models.store import truth_of
    from discreet.places import read_places

    check_picture(picture)
    if out is not None and out.exists():
        raise DiscreetError(f"{out}: is there already, and somebody may have edited it; write to another file")
    routine = read_routine(model)
    drawn = None if places is None else read_places(places)
    found = suggest(routine, drawn, also=secret or ())
    if not found.proposed:
        note("no rule finds a secret in this routine; name one with --secret, such as --secret hospital")
        if json:
            print_json({"suggestions": [], "choices": []})
        raise typer.Exit(1)
    tree = hierarchy_for(routine, drawn)
    rows = ChoiceRows(vocabulary or possible(tree), weeks)
    for name in vocabulary or ():  # bad use is refused before the first line is printed
        spec_of(name, tree)
    for one in delta or ():
        checked_delta(one, "delta")
    if not json:
        print_suggested(found, routine)
        print(flush=True)
    with progress("comparing choices") as report:
        compared = choices(
            routine,
            found.policy(),
            deltas=delta or DELTAS,
            vocabularies=vocabulary,
            hierarchy=tree,
            weeks=weeks,
            seed=seed,
            progress=report,
            each=on_cores(),
            known=None if json else rows.known,
        )
    if out is not None:
        with private_files(), written_whole(out) as file:
            file.write(suggested_text(found, routine).encode("utf-8"))
    if picture is not None:
        from discreet.charts.choices import chart

        chart(compared, "What is shown, by delta and vocabulary", picture)
    if json:
        print_json(_document(found, compared, routine))
        return
    rows.end(compared)
    print(f"\n{textwrap.fill(if_true(truth_of(model)), WIDTH)}")
    written = [str(path) for path in (out, picture) if path is not None]
    print(f"written: {', '.join(written)}" if written else "Write the policy with --out policy.toml, then edit it.")


@policy.command("show")
def show_policy(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy: a TOML file.")],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="The habits, to show what they reveal and what belief may reach."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain in words what a policy promises and, with the habits, how far belief in each secret may rise.

    Example: discreet policy show policy.toml --model p01.model
    """
    from discreet.choosing.odds import odds
    from discreet.policy import read_policy

    habits = None if model is None else read_model(model)
    if habits is None:
        try:
            secrets, clock = read_policy(file)
        except PolicyError as error:
            hint = ", or give the habits with --model" if "no clock" in str(error) else ""
            raise PolicyError(f"{error}{hint}") from None
        told = {}
    else:
        assert model is not None
        secrets, clock = read_policy_for(file, habits), habits.clock
        told = odds(habits, secrets)
    if json:
        terms = {key: getattr(secrets, key) for key in ("delta", "share", "odds", "doubt")}
        print_json({**terms, "secrets": _secrets(secrets, clock, told)})
        return
    for one in _secrets(secrets, clock, told):
        print(_wrapped(str(one["name"]), str(one["words"])))
    print(
        f"All of this holds {IF}, whatever is shown, against everybody who knows the habits."
        if secrets.secrets
        else "Nothing is secret."
    )


# --- reading


def read_routine(path: Path) -> Routine:
    """The routine of a file; habits of single days are an error."""
    from discreet.models.routine.pairs import PairRoutine
    from discreet.models.routine.routine import Routine

    habits: AnyModel = read_model(path)
    if isinstance(habits, PairRoutine):
        raise DiscreetError(f"{path}: has habits over two contexts, and this needs one; learn it again with --order 1")
    if not isinstance(habits, Routine):
        raise DiscreetError(f"{path}: has habits of single days, and a routine is needed; learn without --day-by-day")
    return habits


# --- for people


def print_suggested(found: Suggested, routine: Routine, *, numbered: bool = False) -> None:
    """Each suggestion with its contexts, why, and what its delta means; with numbers to choose by."""
    from discreet.choosing.odds import odds, odds_in_words, when_in_words
    from discreet.policy import Policy

    everything = Policy([found.secret_of(one) for one in found.suggestions], delta=found.delta)
    told = odds(routine, everything)
    for k, one in enumerate(found.suggestions, 1):
        number = f"{k}. " if numbered else ""
        when = when_in_words(one.secret, routine.clock)
        limit = f"A stranger's guess may rise {odds_in_words(told[one.name])}, {when}."
        print(_wrapped(number + one.name + ("" if one.proposed else " (only listed)"), f"{one.why}. {limit}"))


def _wrapped(name: str, text: str) -> str:
    body = textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return f"{name}\n{body}"


class ChoiceRows:
    """A line a delta, a column a vocabulary: the share of the time that is shown as it was. Each as soon as known."""

    def __init__(self, vocabularies: Sequence[str], weeks: int) -> None:
        self.vocabularies, self.weeks = list(dict.fromkeys(vocabularies)), weeks
        self.widths = [5, *(max(8, len(one)) for one in self.vocabularies), 15]
        self.own: list[Choice] = []
        self.first = True

    def known(self, one: Choice) -> None:
        """Another choice: they come in the order of deltas."""
        self.own.append(one)
        if len(self.own) < len(self.vocabularies):
            return
        if self.first:
            coarse = " (a wider place counts half)" if "generalize" in self.vocabularies else ""
            said = f"Share of the time that applications would see as it was{coarse}"
            print(textwrap.fill(f"{said}, over {self.weeks} weeks drawn from the habits:", WIDTH) + "\n")
            print(table_line(["delta", *self.vocabularies, "worst found"], self.widths))
            self.first = False
        print(table_line([f"{one.delta:g}", *map(_shown, self.own), _worst(self.own)], self.widths), flush=True)
        self.own = []

    def end(self, compared: Choices) -> None:
        """What the columns say."""
        print("\ndelta: how much anybody's belief in a secret may rise, unless it has its own")
        for vocabulary in self.vocabularies:
            print(f"{vocabulary}: {VOCABULARY_WORDS[vocabulary]}")
        false = [one.false for one in compared.choices if one.vocabulary == "deceive"]
        if false:
            least, most = percent(min(false)), percent(max(false))
            print(f"With deceive, {least if least == most else f'{least} to {most}'} of the time is shown falsely.")
        print("worst found: the largest rise of a belief that the audit found")
        print(_verdict(compared))


def _shown(one: Choice) -> str:
    return f"{100 * one.utility.mean:.0f} % ± {max(1, round(100 * one.utility.half_width))}"


def _worst(own: list[Choice]) -> str:
    """The largest gain that the audits of a line found."""
    found = [one.worst for one in own if one.worst is not None]
    if not found:
        return "-"
    worst = max(found, key=lambda one: one.gain)
    return f"{percent(worst.prior)} to {percent(worst.belief)}"


def _verdict(compared: Choices) -> str:
    if all(one.holds for one in compared.choices):
        proof = " by its proof" if any(one.rests_on == "proof" for one in compared.choices) else ""
        return f"Audit: every choice holds{proof}, {IF}."
    bad = [f"{one.vocabulary} at {one.delta:g}" for one in compared.choices if not one.holds]
    return f"Audit: {', '.join(bad)} is not proven to hold."


# --- for machines


def _document(found: Suggested, compared: Choices, routine: Routine) -> dict[str, object]:
    from discreet.choosing.choices import choice_json
    from discreet.choosing.odds import odds
    from discreet.policy import Policy

    told = odds(routine, Policy([found.secret_of(one) for one in found.suggestions], delta=found.delta))
    suggestions = [
        {
            "rule": one.rule.name,
            "name": one.name,
            "contexts": sorted(one.secret.contexts),
            "at": one.secret.at,
            "between": one.between,
            "delta": found.secret_of(one).delta or found.delta,
            "why": one.why,
            "proposed": one.proposed,
            "prior": told[one.name].highest,
            "limit": told[one.name].limit,
        }
        for one in found.suggestions
    ]
    return {
        "delta": found.delta,
        "suggestions": suggestions,
        "weeks": compared.weeks,
        "seed": compared.seed,
        "choices": [choice_json(one) for one in compared.choices],
    }


def _secrets(policy: Policy, clock: Clock | None, told: dict[str, Known]) -> list[dict[str, object]]:
    from discreet.choosing.odds import odds_in_words, reserves_in_words, when_in_words

    found: list[dict[str, object]] = []
    for one in policy.secrets:
        delta = policy.delta_of(one)
        cap = "" if one.cap is None else f" and to at most {percent(one.cap)}"
        rise = f"by at most {percent(delta).removesuffix(' %')} points{cap}"
        own = told.get(one.name)
        if own is not None:
            rise = f"{odds_in_words(own)} (by at most {percent(delta).removesuffix(' %')} points{cap})"
        where = " or ".join(sorted(one.contexts))
        words = f"Nobody's belief in being at {where}, {when_in_words(one, clock)}, may rise {rise}."
        words += "".join(f" {sentence}" for sentence in reserves_in_words(policy, one))
        found.append({"name": one.name, "words": words, "delta": delta, "cap": one.cap, "odds": policy.odds_of(one)})
        if own is not None:
            found[-1] |= asdict(own)
    return found
