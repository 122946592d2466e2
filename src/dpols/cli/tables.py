"""Tables in files: what columns there are, and the columns that a command needs. Messages never quote a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrow import pyarrow
from ..data.files import column_types, read

__all__ = ["column_types", "read_columns"]


def read_columns(path: Path, names: Sequence[str]) -> Any:
    """Return the named columns, all numeric, as a pyarrow table in this order; for tables that fit into memory."""
    source = read(path, columns=names)
    features = np.concatenate([features for features, _ in source.blocks()])
    return pyarrow().table({name: features[:, i] for i, name in enumerate(names)})
