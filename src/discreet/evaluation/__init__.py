"""How much is released, and how much it tells: on real or simulated days."""

from discreet.evaluation.limit import Limit, limit
from discreet.evaluation.metrics import Evaluation, evaluate
from discreet.evaluation.week import evaluate_parts

__all__ = ["Evaluation", "Limit", "evaluate", "evaluate_parts", "limit"]
