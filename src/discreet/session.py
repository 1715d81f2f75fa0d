"""One person's day, live: a mechanism, the belief it leaves an observer with, and chance. No input or output of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contexts import UNKNOWN
from discreet.contracts import Kernel, Mechanism, Rng, covers_everything
from discreet.errors import DiscreetError
from discreet.numerics import FloatArray
from discreet.outputs import SUPPRESSED, Output
from discreet.randomness import SystemEntropy


class Session:
    """Releases a day slot by slot: `with Session(mechanism) as today: output = today.release("home")`.

    Draws from the operating system's entropy unless given a seeded source, which is for experiments. `off_model` counts
    the readings that the model has no place for: labels it never learned, and contexts that it holds impossible now.
    They are suppressed, because what a release of the impossible would tell, no model can say; a kernel that has an
    output for everything (noise around the nearest possible context) gives that instead, and they are counted all the same.
    """

    def __init__(
        self, mechanism: Mechanism[Any], *, rng: Rng | None = None, adversary: Adversary | None = None
    ) -> None:
        self.mechanism = mechanism
        self.adversary = Adversary(mechanism) if adversary is None else adversary
        self.off_model = 0
        self._rng: Rng = SystemEntropy() if rng is None else rng
        self._state = mechanism.start()
        self._belief: Belief = self.adversary.start()
        self._private: int | None = None
        self._forgotten = False
        self._index = {context: k for k, context in enumerate(mechanism.model.contexts)}
        self._remembers = not np.array_equal(mechanism.private_contexts, np.arange(len(self._index)))

    @classmethod
    def resume(
        cls,
        mechanism: Mechanism[Any],
        outputs: Iterable[Output],
        private: int | None = None,
        *,
        rng: Rng | None = None,
        adversary: Adversary | None = None,
    ) -> Session:
        """Go on after a crash: public outputs are replayed, nothing is drawn twice.

        `private` is the last private state, from the person's own store. A mechanism that remembers and has lost it is
        silent until the next day, and each such slot is counted as off-model.
        """
        session = cls(mechanism, rng=rng, adversary=adversary)
        for output in outputs:
            session._take(mechanism.kernel(session._state), output)
        session._private = private
        session._forgotten = session._remembers and private is None and session.slot > 0
        return session

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._private = None  # the truth does not outlive the day

    @property
    def slot(self) -> int:
        """The slot that comes next: how many outputs there were."""
        return self._belief.slot

    @property
    def private(self) -> int | None:
        """The last private state, for the person's own store; never to be kept beside public outputs."""
        return self._private

    @property
    def belief(self) -> Belief:
        """What an observer of the outputs so far believes."""
        return self._belief

    def release(self, context: str | None) -> Output:
        """What applications see in this slot, given the true context; None where there is no reading."""
        if self.slot >= self.mechanism.model.slots:
            raise DiscreetError(
                f"the day has {self.mechanism.model.slots} slots and all are released; start a new session"
            )
        kernel = self.mechanism.kernel(self._state)
        index = self._index.get(UNKNOWN if context is None else context)
        self._private = None if index is None else self.mechanism.remember(self._private, index)
        possible = self._private is not None and not self._forgotten and self._belief.predicted()[self._private] > 0
        self.off_model += not possible
        if self._private is not None and not self._forgotten and (possible or covers_everything(kernel)):
            output = kernel.sample(self._private, self._rng)
        else:
            output = SUPPRESSED
        self._take(kernel, output)
        return output

    def _take(self, kernel: Kernel, output: Output) -> None:
        self._belief = self._belief.after(kernel.likelihood(output))
        self._state = self.mechanism.advance(self._state, output)

    def gains(self) -> Mapping[str, FloatArray | float]:
        """What the outputs so far tell: {secret: (T,) gains at each slot, or one gain for a secret at="any"}."""
        return self._belief.by_secret()
