"""Tables in files: the columns that a command needs. Messages never quote a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data import files
from ..data.arrow import pyarrow


def read_columns(path: Path, names: Sequence[str]) -> Any:
    """Return the named columns, all numeric, as a pyarrow table in this order; for tables that fit into memory."""
    features = np.concatenate([features for features, _ in files.read(path, columns=names).blocks()])
    return pyarrow().table({name: features[:, i] for i, name in enumerate(names)})
