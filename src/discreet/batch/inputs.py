"""What work on people is given: the models, policies and mechanisms that files and options name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.clock import Clock
from discreet.errors import DiscreetError, PolicyError

if TYPE_CHECKING:
    from discreet.contracts import AnyMechanism
    from discreet.data import BadRows
    from discreet.mechanisms.named import Spec
    from discreet.models.routine.parts import AnyModel
    from discreet.policy import Policy


class Counted(Protocol):
    """What became of the rows of a table."""

    @property
    def rows(self) -> int:
        """How many, the bad ones included."""

    @property
    def bad(self) -> BadRows:
        """Those that were skipped."""


def read_model(path: Path) -> AnyModel:
    """The model of a file; a folder of models is an error that says so."""
    from discreet.models.store import load_days

    if path.is_dir():
        some = sorted(inner.name for inner in path.iterdir())[:3]
        raise DiscreetError(f"{path}: is a folder; give one model in it as --model (it holds {', '.join(some)})")
    return load_days(path)


def read_policy_for(path: Path, model: AnyModel) -> Policy:
    """The policy, its clock times read on the model's clock, checked against the model."""
    from discreet.policy import read_policy

    policy, clock = read_policy(path, model.clock)
    check_policy(path, policy, clock, model)
    return policy


def check_policy(path: Path, policy: Policy, clock: Clock | None, model: AnyModel) -> None:
    """Refuse a policy that does not fit a model; `path` and `clock` say where it was read, and on which clock."""
    from discreet.models.routine.parts import secrets_by_part

    try:
        secrets_by_part(model, policy, clock)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


class Maker:
    """Makes the mechanism for a model and a policy, and knows afterwards whether what it made runs without end.

    Each model's is made once: a command that goes over the same days again finds what was decided before.
    """

    def __init__(self, spec: Spec, policy: Policy) -> None:
        from discreet.models.routine.parts import made_once

        self._make = made_once(lambda model: spec.make(model, policy))
        self.endless = False

    def __call__(self, model: Any) -> AnyMechanism:
        """The mechanism."""
        from discreet.contracts import runs_without_end

        made = self._make(model)
        self.endless = self.endless or runs_without_end(made)
        return made


def ends_at_midnight(name: str) -> str:
    """What to say of a mechanism that releases a routine's days one at a time."""
    return f"{name} starts anew each day: what it promises ends at midnight"
