"""A person's habits: Markov chains and hidden Markov models, learned, sampled, saved."""

from discreet.models.chain.markov import MarkovChain
from discreet.models.chain.week import Models
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.models.store import load, save

__all__ = ["HiddenMarkovModel", "MarkovChain", "Models", "load", "save"]
