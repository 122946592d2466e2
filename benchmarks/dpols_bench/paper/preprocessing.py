"""The paper's preprocessing: split, standardise, divide by the largest target and the largest row norm.

It looks at the data and so is not private. It belongs to the reproduction, where all methods get the same rows, and
to nothing else.
"""

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from dpols.errors import DataError

from ..datasets import SYNTHETIC, Dataset
from .published import Published, published

Array = np.ndarray[Any, np.dtype[Any]]

TRAINING_SHARE = 0.8


@dataclass(frozen=True, repr=False)
class Prepared:
    """Training rows of norm at most 1 and targets in [-1, 1], and test rows in the same units."""

    name: str
    features: Array
    target: Array
    test_features: Array
    test_target: Array


def prepare(dataset: Dataset, *, fold: int | None = None, split_seed: int = 0) -> Prepared:
    """Prepare a data set as the paper did; ``fold`` and ``split_seed`` choose another split than the usual one."""
    row = published(dataset.name)
    train = training_rows(dataset, fold=fold, split_seed=split_seed)
    features, test = dataset.features[train], dataset.features[~train]
    if row is not None and row.standardize:
        mean, std = _reference(row, features)
        features, test = (features - mean) / std, (test - mean) / std
    target_scale = float(np.abs(dataset.target[train]).max())
    row_scale = float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    features /= row_scale
    test /= row_scale
    return Prepared(
        dataset.name, features, dataset.target[train] / target_scale, test, dataset.target[~train] / target_scale
    )


def training_rows(dataset: Dataset, *, fold: int | None = None, split_seed: int = 0) -> Array:
    """Return which rows are for training."""
    row = published(dataset.name)
    n = len(dataset.target)
    train = np.zeros(n, dtype=bool)
    if row is not None and row.split == "folds":
        if dataset.folds is None:
            raise DataError(f"data set {dataset.name!r} comes without its fixed splits.")
        return np.asarray(dataset.folds != (_usual_fold(row, dataset.folds) if fold is None else fold))
    count = int(TRAINING_SHARE * n)
    if dataset.name in SYNTHETIC:
        train[:count] = True
    else:
        digest = hashlib.sha256(f"split/{dataset.name}/{split_seed}".encode()).digest()
        train[np.random.default_rng(int.from_bytes(digest[:16])).permutation(n)[:count]] = True
    return train


def _usual_fold(row: Published, folds: Array) -> int:
    """Return the fold of the published eigenvalues, else the first that leaves the published number of rows."""
    if row.fold is not None:
        return row.fold
    sizes = [int((folds != fold).sum()) for fold in range(10)]
    return sizes.index(row.n) if row.n in sizes else 0


def _reference(row: Published, features: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations that features are standardised with."""
    if row.name == "crime":
        # The paper's source standardised the whole table, of which only some rows are used, with ddof 1.
        text = files(__package__).joinpath("crime_reference.json").read_text(encoding="utf-8")
        whole = json.loads(text)
        return np.array(whole["mean"]), np.array(whole["std"])
    std = features.std(axis=0)
    return features.mean(axis=0), np.where(std == 0.0, 1.0, std)
