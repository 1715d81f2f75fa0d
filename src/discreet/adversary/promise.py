"""What a mechanism promises of each gain, where it has a proof: the audit's bound where nothing else bounds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contracts import AnyMechanism, DayModel
from discreet.numerics import SLACK, FloatArray
from discreet.policy import Policy


def promised_gains(mechanism: AnyMechanism, adversary: Adversary) -> FloatArray | None:
    """(R + A,): delta + SLACK of every gain, if each is promised and proven; None otherwise.

    A promise speaks of the mechanism's own model and those of the observers it has in mind, and of secrets as they
    stand in its own policy. Each of them is bounded on its own, so that an observer may be asked about some and not
    others.
    """
    guarantee = mechanism.guarantee
    own: Policy | None = getattr(mechanism, "promised", mechanism.policy)  # days in a row may be judged by another
    if not guarantee.proven or own is None or not _in_mind(mechanism, adversary.model):
        return None
    known = {own.terms_of(secret) for secret in own.secrets}
    asked = adversary.policy
    if not all(guarantee.promises_delta(secret.at) and asked.terms_of(secret) in known for secret in asked.secrets):
        return None
    limits = adversary.deltas + SLACK
    # Rounded up, the sum would be further from delta than SLACK: an audit must not call its own bound a breach.
    limits = np.where(limits - adversary.deltas > SLACK, np.nextafter(limits, 0.0), limits)
    return np.asarray(np.minimum(limits, 1 - adversary.priors))


def _in_mind(mechanism: AnyMechanism, model: DayModel) -> bool:
    """Whether the mechanism promises anything before an observer with this model."""
    observers: Sequence[object] = getattr(mechanism, "observers", ())
    return any(model is one for one in (mechanism.model, *observers))
