"""The numbers as files: CSV and JSON always, Parquet where pyarrow is installed."""

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def save_table(rows: Rows, folder: Path, name: str) -> list[Path]:
    """Write rows with the same columns as CSV, JSON and, where it can be, Parquet."""
    written = [folder / f"{name}.csv", folder / f"{name}.json"]
    with _whole_file(written[0]) as path, path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
    save_json([_plain(row) for row in rows], written[1])
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return written
    with _whole_file(folder / f"{name}.parquet") as path:
        parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), path)
    return [*written, folder / f"{name}.parquet"]


def save_json(value: Any, path: Path) -> None:
    """Write JSON that is readable."""
    save_text(json.dumps(value, indent=1) + "\n", path)


def save_text(text: str, path: Path) -> None:
    """Write a text file as a whole or not at all."""
    with _whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


class _whole_file:
    """A temporary path that takes the place of the file when the block ends well."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Path:
        return self._temporary

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that strict JSON can hold."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
