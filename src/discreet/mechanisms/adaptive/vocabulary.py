"""What adaptive release may output for each context, and what that is worth."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Events
from discreet.hierarchy import Hierarchy
from discreet.mechanisms.base import events_of
from discreet.numerics import read_only
from discreet.outputs import SUPPRESSED, Generalized, Output, Released, truthful

Outputs = Literal["suppress", "generalize", "deceive", "attributes"]

LARGEST_VALUE = 1e12
"""Values are only compared with each other; larger ones would drown the rest."""

Value = Callable[[str, Output], float]


class Vocabulary:
    """What may be output for each context, and its worth; silence, worth as stated, is always the last output."""

    def __init__(self, contexts: Sequence[str], outputs: Sequence[Sequence[Output]], value: Value) -> None:
        known: dict[Output, int] = {}
        for allowed in outputs:
            for output in allowed:
                known.setdefault(output, len(known))
        known.pop(SUPPRESSED, None)
        self.outputs: tuple[Output, ...] = (*known, SUPPRESSED)
        self.silence = len(self.outputs) - 1
        index = {output: k for k, output in enumerate(self.outputs)}
        self.worth = np.full((len(contexts), len(self.outputs)), -np.inf)  # (n, O); -inf where not allowed
        for c, context in enumerate(contexts):
            for output in {*outputs[c], SUPPRESSED}:
                worth = float(value(context, output))
                if not abs(worth) <= LARGEST_VALUE:  # also catches NaN
                    raise DiscreetError(
                        f"value({context!r}, {output!r}) is {worth}; return a finite number, at most {LARGEST_VALUE:g}"
                    )
                self.worth[c, index[output]] = worth
        # (n, O): outputs that are true of a context, and silence. One that is true of no context that is possible now
        # is known to be a fake and says no more than silence.
        true = np.array([[_is_true(context, output) for output in self.outputs] for context in contexts])
        self.truth_of = true & np.isfinite(self.worth)
        self.scale = float(np.abs(self.worth[np.isfinite(self.worth)]).max()) or 1.0
        self._value = value
        read_only(vars(self).values())

    def worth_of(self, context: str, output: Output) -> float:
        """What an output is worth in a context."""
        return float(self._value(context, output))


def _is_true(context: str, output: Output) -> bool:
    return not isinstance(output, Released) or output.context == context


def vocabulary_of(
    model: DayModel, outputs: Outputs, hierarchy: Hierarchy | None, events: Events | None, value: Value | None
) -> Vocabulary:
    """The vocabulary by the name that `Adaptive` knows it by."""
    contexts = model.contexts
    if outputs == "suppress":
        allowed: list[list[Output]] = [[Released(context)] for context in contexts]
    elif outputs == "deceive":
        allowed = [[Released(other) for other in contexts]] * len(contexts)
    elif outputs == "generalize":
        allowed = _ancestors(contexts, hierarchy)
    elif outputs == "attributes":
        own = events_of(model, events)
        kept = [subset for subset in itertools.product((True, False), repeat=len(ATTRIBUTES)) if any(subset)]
        allowed = [[own.partial(c, (a, t, where)) for a, t, where in kept] for c in range(len(contexts))]
    else:
        raise DiscreetError(
            f"outputs={outputs!r} is not known; use 'suppress', 'generalize', 'deceive' or 'attributes'"
        )

    def default(context: str, output: Output) -> float:
        if isinstance(output, Generalized) and hierarchy is not None:
            return max(0.0, 1 - hierarchy.layer_of(output.node) / 2)
        return truthful(context, output)

    return Vocabulary(contexts, allowed, default if value is None else value)


def _ancestors(contexts: tuple[str, ...], hierarchy: Hierarchy | None) -> list[list[Output]]:
    if hierarchy is None:
        raise DiscreetError("generalizing needs a hierarchy; pass hierarchy=Hierarchy({...}) over the model's contexts")
    for context in contexts:
        if context not in hierarchy or hierarchy.layer_of(context) != 0:
            raise DiscreetError(f"context {context!r} is not a leaf of the hierarchy; add it below a node")
    return [[Released(context), *map(Generalized, hierarchy.ancestors(context))] for context in contexts]
