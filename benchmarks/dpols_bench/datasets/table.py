"""What loading a data set gives."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, repr=False)
class Dataset:
    """Rows of features and a target, with the fixed splits that come with some of them."""

    name: str
    title: str
    features: Array  # (rows, d)
    target: Array  # (rows,)
    feature_names: tuple[str, ...]
    target_name: str
    origin: str
    licence: str
    folds: Array | None = None  # for each row the split, from 0 to 9, that tests on it

    def __repr__(self) -> str:
        n, d = self.features.shape
        return f"Dataset({self.name!r}, {n} rows, {d} features)"
