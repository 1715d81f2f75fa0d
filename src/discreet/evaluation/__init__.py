"""How much is released, and how much it tells: on real or simulated days."""

from discreet.evaluation.limit import Limit, limit
from discreet.evaluation.metrics import Evaluation, evaluate

__all__ = ["Evaluation", "Limit", "evaluate", "limit"]
