"""What `discreet publish` says of the table that it wrote: a document, a page of text, and notes for the publisher."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.batch.engines import CountedEvents, Target, counted_rows
from discreet.batch.truth import known_json
from discreet.cli.terminal import note, table
from discreet.cli.truth import IF, print_known
from discreet.given import counted

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.policy import Policy
    from discreet.publish import Plan, Summary
    from discreet.publish.joined import JoinedPieces

LISTED = 10
"""People in the terminal's table; --json has more, --report all."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of people, by utility."""


@dataclass(frozen=True)
class About:
    """What is said of a table that was published."""

    plan: Plan
    report: Summary
    read: CountedEvents
    sample: int
    left_out: list[str]
    target: Target
    seed: int | None
    joined: JoinedPieces | None = None

    def document(self) -> dict[str, Any]:
        """As JSON; of more people than a summary holds, those with the largest gains."""
        from discreet.events import ATTRIBUTES
        from discreet.publish import TopicHabits
        from discreet.publish.report_schema import person_json

        plan, report, read = self.plan, self.report, self.read
        habits = plan.habits
        choice = habits.choice if isinstance(habits, TopicHabits) else None
        guarantee = report.guarantee
        return {
            "out": str(self.target.out),
            "columns": list(self.target.roles.values()),
            "partitioned_by": self.target.parts,
            "left_out": self.left_out,
            "mechanism": plan.mechanism.name,
            "options": [f"{key}={_text(value)}" for key, value in plan.mechanism.options.plain().items()],
            "guarantee": {"kind": guarantee.kind, "statement": guarantee.statement},
            "habits": habits.name,
            "topics_tried": None if choice is None else {str(count): score for count, score in choice.scores.items()},
            "learned": _learned(plan),
            "learned_from": self.sample,
            "piece": plan.piece_length,
            "scope": report.scope,
            "joined": _joined(self.joined),
            "seed": self.seed,
            "policy": _policy(plan.policy),
            "rows": counted_rows(read),
            "events": report.events,
            "utility": report.utility,
            "utility_by_quantile": {f"{100 * share:g} %": report.utility_at(share) for share in QUANTILES},
            "people_by_utility": list(report.people_by_utility()),
            "shown": {name: report.shown[name] / report.events for name in ATTRIBUTES},
            "silent": report.silent,
            "breach_rate": report.breach_rate,
            "breached": report.breached,
            "breached_people": report.breached_people,
            "worst_gain": report.worst_gain,
            "off_model": report.off_model,
            "settled": report.settled,
            "by_secret": report.by_secret,
            "excess_by_secret": report.excess_by_secret,
            "known": known_json({None: report.known}),
            "number_of_people": report.people,
            "people": [person_json(one) for one in sorted(report.worst, key=lambda one: one.person)],
        }

    def print(self, truth: Truth) -> None:
        """As text; of the people, the first with the largest gains."""
        plan, report = self.plan, self.report
        pieces = "whole trajectories" if plan.piece_length is None else f"pieces of {plan.piece_length} events"
        whose = counted(report.people, "person", "people")
        print(f"{report.events} events of {whose}, by {plan.mechanism.name}, in {self.target.out}")
        print(f"judged by: {plan.habits.name}, {pieces}")
        print(f"WARNING: {doubt}\n" if (doubt := _doubt(plan)) else "")
        rows = [
            ["utility", f"{report.utility:.4f}", "of the attributes are shown"],
            ["silent", f"{report.silent / report.events:.4f}", "of the events show nothing"],
            ["breach rate", f"{report.breach_rate:.4f}", "of the positions are breached, mean over people"],
            ["worst gain", f"{report.worst_gain:.4f}", "belief minus prior"],
            ["off model", str(report.off_model), "events that the model holds impossible"],
            ["settled", str(report.settled), "positions where habits alone reveal a secret"],
        ]
        width = max(len(row[1]) for row in rows)
        print("\n".join(f"{what:<11}  {value:>{width}}  {words}" for what, value, words in rows) + "\n")
        print_known({None: report.known}, None)
        lines = [
            [one.secret.name, f"{one.gain:.4f}", one.terms, one.word]
            for one in plan.policy.verdicts(report.by_secret, excess=report.excess_by_secret)
        ]
        print(table(["secret", "worst gain", "delta", IF], lines) + "\n")
        self._print_people()
        guarantee = report.guarantee
        proven = f"proven, {IF}" if guarantee.proven else "not proven"
        alone = report.scope == "each piece alone"
        print(f"\nguarantee ({guarantee.kind}, {proven}): {guarantee.statement}{'; each piece alone' * alone}")
        if alone:
            found = "nobody in the sample has several" if self.joined is None else self.joined.in_words
            print(f"What pieces tell about each other is not bounded: {found}.")
        print(f"How true they are: {truth.figure}.")

    def tell(self) -> None:
        """What only the publisher may know goes to stderr."""
        read = self.read
        if doubt := _doubt(self.plan):
            note(f"warning: {doubt}")
        if read.bad.count:
            note(f"{read.bad.count} bad rows were skipped")
        if read.duplicates:
            note(f"{read.duplicates} rows that say the same as another were left out")
        if self.left_out:
            note(f"columns left out, for they might tell what is withheld: {', '.join(self.left_out)}")
        if self.seed is not None:
            note("drawn with --seed: whoever guesses it can undo the draws; publish without one")

    def _print_people(self) -> None:
        report = self.report
        rows = [
            [one.person, str(one.events), f"{one.utility:.4f}", f"{one.breach_rate:.4f}", f"{one.worst_gain:.4f}"]
            for one in report.worst[:LISTED]
        ]
        print(table(["person", "events", "utility", "breach rate", "worst gain"], rows))
        if report.people > LISTED:
            print(f"and {report.people - LISTED} more, none with a larger gain")
            shares = ", ".join(f"{100 * share:g} % {report.utility_at(share):.4f}" for share in QUANTILES)
            print(f"utility that so many have at most: {shares}\n\n{bars(report)}\n")
            print(f"{report.people - report.breached_people} of {report.people} people are breached nowhere")


def _policy(policy: Policy) -> dict[str, Any]:
    secrets = [
        {
            "name": one.name,
            "at": one.at,
            "delta": policy.delta_of(one),
            "cap": one.cap,
            "events": len(one.contexts),
        }
        for one in policy.secrets
    ]
    return {"delta": policy.delta, "secrets": secrets}


def _joined(found: JoinedPieces | None) -> dict[str, Any] | None:
    """What a joined observer found in a sample."""
    return None if found is None else asdict(found) | {"worst_gain": found.worst_gain}


def _learned(plan: Plan) -> dict[str, Any] | None:
    """How topics were learned; a chain has none."""
    from discreet.publish import TopicHabits

    if not isinstance(plan.habits, TopicHabits):
        return None
    model, choice = plan.habits.model, plan.habits.choice
    found = model.diagnostics
    return {
        "topics": model.topics,
        "emissions": "independent attributes" if model.strengths is None else "whole events",
        "strengths": None if model.strengths is None else asdict(model.strengths),
        "drawn_by": choice.smoothing[model.topics].drawn_by if choice and choice.smoothing else "attributes",
        "tried_secrets": {} if choice is None else {str(count): s for count, s in choice.secret_scores.items()},
        "converged": None if found is None else found.converged,
        "r_hat": None if found is None else found.r_hat,
        "sweeps": None if found is None else found.sweeps,
        "warning": _doubt(plan),
    }


def _doubt(plan: Plan) -> str | None:
    """What to say of habits that did not settle, with the options that help."""
    from discreet.publish import TopicHabits

    doubt = plan.habits.doubt if isinstance(plan.habits, TopicHabits) else None
    return None if doubt is None else f"{doubt} (--sweeps, --topics)"


def _text(value: object) -> str:
    """An option's value as --option takes it."""
    return value if isinstance(value, str) else dumps(value)


# --- as a chart


WIDTH = 50
"""Of the longest bar, in characters."""


def bars(summary: Summary) -> str:
    """A line for each tenth of utility, with as long a bar as people have it."""
    counts = summary.people_by_utility()
    most = max(counts)
    rows = [
        [f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", str(people), "#" * -(-WIDTH * people // most)]
        for tenth, people in enumerate(counts)
    ]
    width = max(len("people"), *(len(row[1]) for row in rows))
    lines = [f"{utility:<10}  {people:>{width}}  {bar}".rstrip() for utility, people, bar in rows]
    return "\n".join([f"{'utility':<10}  {'people':>{width}}", *lines])


def draw_published(picture: Path | None, truth: Truth, summary: Summary) -> None:
    """Write the picture that was asked for, now that there is a table to tell of."""
    if picture is None:
        return
    from discreet.charts.published import Shares, published
    from discreet.events import ATTRIBUTES

    events = summary.events
    shares = Shares(
        people=summary.people,
        breached=summary.breached_people,
        events=events,
        by_utility=summary.people_by_utility(),
        shown={name: summary.shown[name] / events for name in ATTRIBUTES},
        silent=summary.silent / events,
        off_model=summary.off_model / events,
        settled=summary.settled / events,
    )
    published(shares, truth, picture)
