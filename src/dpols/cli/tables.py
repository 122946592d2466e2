"""Tables in files: what columns there are, and the columns that a command needs. Messages never quote a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def column_types(path: Path) -> dict[str, str | None]:
    """Return each column's name with why it cannot be used, or None where it can, from the header alone."""
    from ..data import files

    return files.column_types(path)


def read_columns(path: Path, names: Sequence[str]) -> Any:
    """Return the named columns, all numeric, as a pyarrow table in this order; for tables that fit into memory."""
    import numpy as np

    from ..data import files
    from ..data.arrow import pyarrow

    features = np.concatenate([features for features, _ in files.read(path, columns=names).blocks()])
    return pyarrow().table({name: features[:, i] for i, name in enumerate(names)})
