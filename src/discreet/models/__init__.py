"""A person's habits: Markov chains and hidden Markov models, learned, sampled, saved."""

from discreet.models.chain import MarkovChain
from discreet.models.hidden import HiddenMarkovModel
from discreet.models.store import load, save
from discreet.models.week import Models

__all__ = ["HiddenMarkovModel", "MarkovChain", "Models", "load", "save"]
