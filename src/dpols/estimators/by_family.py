"""The estimators by the family of their outcomes, and models of any family read back."""

from typing import Any

from ..errors import ModelFileError
from ..storage.model_file import read_model
from .linear import PrivateLinearRegression
from .logistic import PrivateLogisticRegression
from .poisson import PrivatePoissonRegressor
from .private_regression import PrivateRegression

ESTIMATORS: dict[str, type[PrivateRegression]] = {
    each.family: each for each in (PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor)
}
METHODS: dict[str, str] = {each.family: each.method for each in (PrivateLogisticRegression, PrivatePoissonRegressor)}


def load_any(path: Any) -> PrivateRegression:
    """Read a fitted model of any family back."""
    content = read_model(path)
    found = ESTIMATORS.get(str(content.get("family")))
    if found is None:
        raise ModelFileError(f"{str(path)!r} holds a model of family {content.get('family')!r}, which is not known.")
    return found.from_content(content, path)
