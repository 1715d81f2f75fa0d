"""What an observer finds who joins the pieces of a person, in a sample of people.

Each piece is a day of its own to the mechanism, and its promise is about each piece alone. Who reads the table sees
them all, one after the other, and knows that habits go on from one to the next. So a table that is published in pieces
says what such an observer has gained, on people chosen by lot; what is shown for it is drawn by a seed of its own, as
for the test of truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.adversary.trajectory import TrajectoryJudge
from discreet.contracts import AnyMechanism
from discreet.events import Trajectory
from discreet.listener import Progress
from discreet.publish.plan import Plan, cut, endless_of, left_open
from discreet.publish.report import largest_of, worst_of
from discreet.publish.truth import by_lot, entropy_of
from discreet.randomness import SeededEntropy
from discreet.session import Session

EVENTS = 2_000
"""Events that are joined, of people chosen by lot: some seconds of work."""


@dataclass(frozen=True)
class JoinedPieces:
    """What the pieces of some people tell together."""

    people: int
    events: int
    breached_people: int
    """People with a position where some secret's gain is over its delta."""
    by_secret: Mapping[str, float]
    """The worst gain on each secret."""
    excess_by_secret: Mapping[str, float]
    """The largest gain on each secret beyond its own position's limit."""

    @property
    def worst_gain(self) -> float:
        """The largest gain on any secret of anybody."""
        return max(self.by_secret.values(), default=0.0)

    @property
    def in_words(self) -> str:
        """One sentence for the publisher."""
        return (
            f"who joins the pieces of {self.people} people in a sample ({self.events} events) gains up to "
            f"{self.worst_gain:.4f}; {self.breached_people} of them are beyond delta"
        )


def join_pieces(
    plan: Plan,
    trajectories: Sequence[Trajectory],
    *,
    events: int = EVENTS,
    seed: int = 0,
    progress: Progress | None = None,
) -> JoinedPieces | None:
    """What a joined observer gains on some of these people; None where nobody has two pieces."""
    length = plan.piece_length
    several = [one for one in trajectories if length is not None and len(one) > length]
    chosen = by_lot(several, events, seed)
    if not chosen:
        return None
    judges = []
    for number, one in enumerate(chosen, 1):
        judges.append(_judged(plan, one, max(1, events // (length or 1)), entropy_of(one.person, seed)))
        if progress is not None:
            progress(number, len(chosen))
    return JoinedPieces(
        people=len(judges),
        events=sum(judge.events for judge in judges),
        breached_people=sum(judge.breached > 0 for judge in judges),
        by_secret=worst_of(judge.by_secret for judge in judges),
        excess_by_secret=largest_of(judge.excess_by_secret for judge in judges),
    )


def _judged(plan: Plan, one: Trajectory, most: int, rng: SeededEntropy) -> TrajectoryJudge:
    """Publish the first pieces of a person, each alone, before an observer of all of them."""
    plan = plan.of_person(one.person)
    pieces, made = cut(one, plan.piece_length), dict[int, AnyMechanism]()
    model = endless_of(plan.habits.of(pieces, 2)[0])
    policy, _ = left_open(plan.policy, model.contexts)
    judge = TrajectoryJudge(model, policy)
    for piece in pieces[: max(2, most)]:
        if len(piece) not in made:
            habits, events = plan.habits.of(pieces, len(piece))
            made[len(piece)] = plan.mechanism.make(habits, policy, events=events)
        judge.begin(made[len(piece)])
        with Session(made[len(piece)], rng=rng) as session:
            for event in piece.events:
                kernel = session.kernel
                judge.after(kernel.likelihood(session.release(event.label)))
    judge.end()
    return judge
