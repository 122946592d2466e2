"""How accurate methods are: every data set at every epsilon, against the paper's method, zero and an oracle."""

from .contenders import CONTENDERS, DEFAULT, Contender
from .evaluation import Scores, Settings, score

__all__ = ["CONTENDERS", "DEFAULT", "Contender", "Scores", "Settings", "score"]
