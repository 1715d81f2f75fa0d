"""Answers with noise shaped by a policy graph: graphs, sensitivity hulls, K-norm noise, DPHMM."""

from discreet.mechanisms.perturbation.dphmm import Dphmm
from discreet.mechanisms.perturbation.dpls import Dpls
from discreet.mechanisms.perturbation.hull import Hull
from discreet.mechanisms.perturbation.kernel import PerturbedKernel
from discreet.mechanisms.perturbation.noise import ContinuousNoise, LatticeNoise
from discreet.mechanisms.perturbation.odometer import Odometer, OdometerReading, OdometerSums
from discreet.mechanisms.perturbation.policy_graph import PolicyGraph
from discreet.mechanisms.perturbation.protection import degrees_of_protection, exposed, protectable, sensitivity_hull

__all__ = [
    "ContinuousNoise",
    "Dphmm",
    "Dpls",
    "Hull",
    "LatticeNoise",
    "Odometer",
    "OdometerReading",
    "OdometerSums",
    "PerturbedKernel",
    "PolicyGraph",
    "degrees_of_protection",
    "exposed",
    "protectable",
    "sensitivity_hull",
]
