"""Where a stream without end can go on from: its public state, exactly, in a versioned form.

Everything in it is a function of outputs: no private state, and no count that depends on the truth. It does show habits
and secrets: it is for the person's own side, never served. Going on takes the checkpoint and the outputs since, not
years of replay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.rows import Rows
from discreet.errors import DiscreetError
from discreet.numerics import FloatArray, IntArray, digest_of, read_only
from discreet.outputs import Output, Skipped, from_wire, to_wire
from discreet.policy import Policy

if TYPE_CHECKING:
    from discreet.adversary.endless import EndlessAdversary

FORMAT = 3
"""What is written."""

READS = (2, 3)
"""Those of format 2 had a count of readings off the model, which depends on the truth; it is not read any more."""


class Measures(NamedTuple):
    """What a belief consists of, beside its slot."""

    stack: FloatArray
    low: FloatArray
    rows: Rows
    already_told: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def of(cls, belief: EndlessBelief) -> Measures:
        """Those of a belief."""
        return cls(belief.stack, belief.low, belief.rows, belief.already_told)

    def belief(self, adversary: EndlessAdversary, slot: int) -> EndlessBelief:
        """The belief again; refused where it is of another number of states."""
        states = adversary.filter.states
        if self.stack.shape[1] != states:
            raise DiscreetError(f"the checkpoint has {self.stack.shape[1]} states, the model {states}; it is damaged")
        return EndlessBelief(adversary, slot, self.stack, self.low, self.rows, already_told=self.already_told)

    def content(self) -> dict[str, Any]:
        """For JSON; floats in hexadecimal, hence exact."""
        return {
            "stack": _hexadecimal(self.stack),
            "low": _hexadecimal(self.low),
            "secret": self.rows.secret.tolist(),
            "opens": self.rows.opens.tolist(),
            "closes": self.rows.closes.tolist(),
            "prior": _hexadecimal(self.rows.prior),
            "delta": _hexadecimal(self.rows.delta),
            "told": [[g, opens, limit.hex()] for g, opens, limit in self.already_told],
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Measures:
        """What `content` gave."""
        stack, low = _floats(content["stack"]), _floats(content["low"])
        rows = Rows(
            _integers(content["secret"]),
            _integers(content["opens"]),
            _integers(content["closes"]),
            _floats(content["prior"]),
            _floats(content["delta"]),
        )
        shapes = {len(part) for part in rows}
        if stack.ndim != 2 or stack.shape != low.shape or shapes != {len(stack) - 1}:
            raise ValueError("its measures and rows do not fit each other")
        if not (np.isfinite(stack).all() and (stack >= 0).all() and stack[0].any()):
            raise ValueError("its measures are no probabilities")
        read_only((stack, low, *rows))
        told = tuple((int(g), int(opens), float.fromhex(limit)) for g, opens, limit in content["told"])
        return cls(stack, low, rows, told)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A public state: after how many outputs, and the belief's measures of what is live.

    `model`, `policy` and `settings` say of which mechanism; another build of the program may go on from it.
    """

    model: str
    policy: str
    settings: str
    slot: int
    skipped: bool
    """Whether the last slot was skipped, so that memory starts anew."""
    skips: int
    digest: str
    """`Session.digest`, of the kernels and outputs so far."""
    measures: tuple[Measures, ...]
    """Of the mechanism's own observer, then of the others that it has in mind."""
    cuts: tuple[int, ...] = ()
    """At which habits or the policy changed so far."""
    outputs: tuple[Output, ...] | None = None
    """Of a day: those so far. Of a stream, whose belief is in `measures`: today's where it starts anew each day."""

    @classmethod
    def of_day(cls, mechanism: Any, outputs: tuple[Output, ...], *, skips: int, digest: str) -> Checkpoint:
        """The checkpoint of a day, by its outputs so far."""
        skipped = bool(outputs) and isinstance(outputs[-1], Skipped)
        return cls(*_names(mechanism), len(outputs), skipped, skips, digest, (), outputs=outputs)

    @classmethod
    def of(cls, mechanism: Any, state: Any, *, skips: int, digest: str) -> Checkpoint:
        """The checkpoint of a mechanism's public state."""
        belief: EndlessBelief = state.belief
        return cls(
            *_names(mechanism),
            belief.slot,
            state.skipped,
            skips,
            digest,
            tuple(Measures.of(one) for one in (belief, *state.others)),
            state.cuts,
            getattr(state, "today", None),
        )

    def require(self, mechanism: Any) -> None:
        """Refuse another model, policy or kind of mechanism than the checkpoint's."""
        own = _names(mechanism)
        for what, mine, other in zip(
            ("model", "policy", "settings"), own, (self.model, self.policy, self.settings), strict=True
        ):
            if mine != other:
                raise DiscreetError(
                    f"the checkpoint is of another {what}: {other} where the mechanism has {mine}. Resume with the "
                    "mechanism that it was made by, or start a new stream"
                )

    def state_of(self, mechanism: Any) -> Any:
        """A stream's public state; another model, policy or kind of mechanism is refused."""
        self.require(mechanism)
        adversaries = mechanism.adversaries_at(self.cuts)
        if len(adversaries) != len(self.measures):
            raise DiscreetError(
                f"the checkpoint is of {len(self.measures)} observers, the mechanism has {len(adversaries)} in mind; "
                "it is damaged"
            )
        belief, *others = (
            own.belief(adversary, self.slot) for own, adversary in zip(self.measures, adversaries, strict=True)
        )
        today = {} if self.outputs is None else {"today": self.outputs}
        return mechanism.restored(belief, self.skipped, self.cuts, tuple(others), **today)

    def to_json(self) -> str:
        """As text; floats are written in hexadecimal, hence exactly. `check` is a digest of all the rest."""
        content = self._content()
        return json.dumps({**content, "check": _check(content)})

    def _content(self) -> dict[str, Any]:
        told = {} if self.outputs is None else {"outputs": [to_wire(output) for output in self.outputs]}
        return told | {
            "format": FORMAT,
            "kind": "discreet checkpoint",
            "model": self.model,
            "policy": self.policy,
            "settings": self.settings,
            "slot": self.slot,
            "skipped": self.skipped,
            "skips": self.skips,
            "digest": self.digest,
            "observers": [one.content() for one in self.measures],
            "cuts": list(self.cuts),
        }

    @classmethod
    def from_json(cls, text: str) -> Checkpoint:
        """What `to_json` wrote; another format, or anything else, is refused."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise DiscreetError(f"a checkpoint is not JSON: {error}; give what Checkpoint.to_json wrote") from None
        if not isinstance(content, dict) or content.get("kind") != "discreet checkpoint":
            raise DiscreetError("this is no checkpoint; give what Checkpoint.to_json wrote")
        if content.get("format") not in READS:
            known = " and ".join(map(str, READS))
            raise DiscreetError(
                f"the checkpoint has format {content.get('format')!r}, this program reads {known}; resume with the "
                "version that wrote it"
            )
        if content.pop("check", None) != _check(content):
            raise DiscreetError(
                "the checkpoint is damaged: it is not what was written; give what Checkpoint.to_json wrote, or the one "
                "before it and the outputs since"
            )
        try:
            return cls._read(content)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DiscreetError(f"the checkpoint is damaged: {error!r}; give what Checkpoint.to_json wrote") from None

    @classmethod
    def _read(cls, content: Mapping[str, Any]) -> Checkpoint:
        measures = tuple(Measures.read(one) for one in content["observers"])
        model, policy, settings, digest = (str(content[key]) for key in ("model", "policy", "settings", "digest"))
        slot, skips = (int(content[key]) for key in ("slot", "skips"))
        bytes.fromhex(digest)
        skipped = bool(content["skipped"])
        cuts = tuple(_integers(content["cuts"]).tolist())
        outputs = tuple(from_wire(one) for one in content["outputs"]) if "outputs" in content else None
        return cls(model, policy, settings, slot, skipped, skips, digest, measures, cuts, outputs)


def _check(content: Mapping[str, Any]) -> str:
    """A digest of what a checkpoint says: a belief that was altered would keep no promise."""
    return digest_of([json.dumps(content, sort_keys=True)]).hex()


def _names(mechanism: Any) -> tuple[str, str, str]:
    policy = Policy() if mechanism.policy is None else mechanism.policy
    return mechanism.model.fingerprint, policy.fingerprint, getattr(mechanism, "settings", type(mechanism).__name__)


def _hexadecimal(array: FloatArray) -> list[Any]:
    if array.ndim > 1:
        return [_hexadecimal(row) for row in array]
    return [value.hex() for value in array.tolist()]


def _floats(values: list[Any]) -> FloatArray:
    if values and isinstance(values[0], list):
        return np.array([_floats(row) for row in values])
    return np.array([float.fromhex(value) for value in values], dtype=np.float64)


def _integers(values: list[Any]) -> IntArray:
    if any(type(value) is not int for value in values):
        raise TypeError("a row is no whole number")
    return np.array(values, dtype=np.int64)
