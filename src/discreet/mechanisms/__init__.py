"""The mechanisms, each `Name(model, policy, *, options)` under the contract of `discreet.contracts`."""

from discreet.mechanisms.baselines import MaskSensitive, NoMask

__all__ = ["MaskSensitive", "NoMask"]
