"""The choices that the paper made by searches of its own, and what it leaves to further work, measured again.

They run in the same cells as the evaluation, with a journal of their own: `run_studies` writes its verdicts into the
folder of an evaluation, which shows them among the claims.
"""

from .forms import LONG, SHORT, Form, Study
from .listed import STUDIES
from .running import run_studies, stored_claims

__all__ = ["LONG", "SHORT", "STUDIES", "Form", "Study", "run_studies", "stored_claims"]
