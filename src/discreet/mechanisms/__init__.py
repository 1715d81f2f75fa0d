"""The mechanisms, each `Name(model, policy, *, options)` under the contract of `discreet.contracts`."""

from discreet.mechanisms.adaptive import Adaptive
from discreet.mechanisms.baselines import MaskSensitive, NoMask
from discreet.mechanisms.deception import Capp, EfficientFake
from discreet.mechanisms.hierarchical import Fdh
from discreet.mechanisms.hybrid import Hybrid
from discreet.mechanisms.perturbation.dphmm import Dphmm
from discreet.mechanisms.probabilistic import Probabilistic
from discreet.mechanisms.publishing import PaHmm
from discreet.mechanisms.simulatable import Simulatable
from discreet.mechanisms.trajectories import NoInternal, PaMarkov, SensitiveMask
from discreet.mechanisms.weaker import Published, SetLabelled

__all__ = [
    "Adaptive",
    "Capp",
    "Dphmm",
    "EfficientFake",
    "Fdh",
    "Hybrid",
    "MaskSensitive",
    "NoInternal",
    "NoMask",
    "PaHmm",
    "PaMarkov",
    "Probabilistic",
    "Published",
    "SensitiveMask",
    "SetLabelled",
    "Simulatable",
]
