"""The mechanisms, each `Name(model, policy, *, options)` under the contract of `discreet.contracts`.

Each is imported when it is first used: compiled loops take a while to load.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a line here and one below make a mechanism known; `as` marks what is exported
    from discreet.mechanisms.adaptive.adaptive import Adaptive as Adaptive
    from discreet.mechanisms.baselines import MaskSensitive as MaskSensitive
    from discreet.mechanisms.baselines import NoMask as NoMask
    from discreet.mechanisms.capp import Capp as Capp
    from discreet.mechanisms.capp import EfficientFake as EfficientFake
    from discreet.mechanisms.events.pa_hmm import PaHmm as PaHmm
    from discreet.mechanisms.events.pa_markov import NoInternal as NoInternal
    from discreet.mechanisms.events.pa_markov import PaMarkov as PaMarkov
    from discreet.mechanisms.events.pa_markov import SensitiveMask as SensitiveMask
    from discreet.mechanisms.fdh import Fdh as Fdh
    from discreet.mechanisms.maskit.hybrid import Hybrid as Hybrid
    from discreet.mechanisms.maskit.probabilistic import Probabilistic as Probabilistic
    from discreet.mechanisms.maskit.set_labelled import SetLabelled as SetLabelled
    from discreet.mechanisms.maskit.simulatable import Simulatable as Simulatable
    from discreet.mechanisms.perturbation.dphmm import Dphmm as Dphmm
    from discreet.mechanisms.perturbation.dpls import Dpls as Dpls
    from discreet.models.bundle import Published as Published

WHERE = {
    "Adaptive": "adaptive.adaptive",
    "Capp": "capp",
    "Dphmm": "perturbation.dphmm",
    "Dpls": "perturbation.dpls",
    "EfficientFake": "capp",
    "Fdh": "fdh",
    "Hybrid": "maskit.hybrid",
    "MaskSensitive": "baselines",
    "NoInternal": "events.pa_markov",
    "NoMask": "baselines",
    "PaHmm": "events.pa_hmm",
    "PaMarkov": "events.pa_markov",
    "Probabilistic": "maskit.probabilistic",
    "SensitiveMask": "events.pa_markov",
    "SetLabelled": "maskit.set_labelled",
    "Simulatable": "maskit.simulatable",
}
"""The module of each mechanism, below this package."""

PROMISES = {
    "Adaptive": "delta: each secret, at each slot and at any; over a routine, of every day",
    "Capp": "window: one output seen alone, not a sequence",
    "Dphmm": "epsilon: a ratio of likelihoods over the edges of a graph, at each slot",
    "Dpls": "epsilon: a ratio of likelihoods within the likeliest set, at each slot",
    "EfficientFake": "window: one output seen alone, not a sequence",
    "Fdh": "window: each layer of a hierarchy on its own",
    "Hybrid": "delta: secrets at each slot, of one day",
    "MaskSensitive": "none: silence says where a secret is",
    "NoInternal": "window: each attribute of an event on its own",
    "NoMask": "none: everything is shown",
    "PaHmm": "window: a stated number of positions in a row",
    "PaMarkov": "none: attributes are checked separately, and what is withheld still leaks",
    "Probabilistic": "delta: secrets at each slot, of one day",
    "SensitiveMask": "none: withholding reveals the secret",
    "SetLabelled": "delta: secrets at each slot, of one day, against somebody who knows sets of contexts only",
    "Simulatable": "delta: secrets at each slot, of one day",
}
"""What each promises, in a line that can be read without importing it; its `Guarantee` says it in full."""

__all__ = [*WHERE, "Published"]


def __getattr__(name: str) -> object:
    if (
        name == "Published"
    ):  # no mechanism: a model with what was released under it; the name stays for those who use it
        return importlib.import_module("discreet.models.bundle").Published
    if name not in WHERE:
        from difflib import get_close_matches

        near = get_close_matches(name, WHERE, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    found: object = getattr(importlib.import_module(f"{__name__}.{WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
