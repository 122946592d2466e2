"""One table in every kind of file and object that a fit takes, and readers that cut files into many small parts."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dpols.data.files import csv, ipc, npy, parquet, task

N_ROWS = 3000
NAMES = tuple(f"x{i}" for i in range(6))
FEATURES, TARGET = NAMES[:-1], NAMES[-1]


def numbers(n_rows: int = N_ROWS) -> np.ndarray:
    """Features and target as the columns of one array; some values lie beyond the bounds of the tests."""
    rng = np.random.default_rng(7)
    values = rng.standard_normal((n_rows, len(NAMES)))
    values[:, 1] = np.rint(20.0 * values[:, 1])
    values[:, -1] = values[:, :3].sum(axis=1) / 20.0 + 0.1 * values[:, -1]
    return values


def arrow_table(values: np.ndarray | None = None):
    pyarrow = pytest.importorskip("pyarrow")
    values = numbers() if values is None else values
    return pyarrow.table({name: values[:, i] for i, name in enumerate(NAMES)})


def write_parquet(folder: Path, table) -> Path:
    from pyarrow import parquet as writer

    writer.write_table(table, folder / "rows.parquet", row_group_size=700)
    return folder / "rows.parquet"


def write_parquet_folder(folder: Path, table) -> Path:
    """Files of different lengths in subfolders, one of them empty, beside what other tools leave there."""
    from pyarrow import parquet as writer

    home = folder / "parquet-folder"
    cuts = (0, 0, 1, 1300, 1300, len(table))
    for i, (start, stop) in enumerate(pairwise(cuts)):
        (home / f"part{i}").mkdir(parents=True)
        writer.write_table(table.slice(start, stop - start), home / f"part{i}" / "rows.parquet", row_group_size=450)
    (home / "_SUCCESS").write_text("")
    (home / ".rows.crc").write_text("x")
    return home


def write_partitions(folder: Path, table) -> Path:
    """Hive partitions by the column x1."""
    from pyarrow import parquet as writer

    writer.write_to_dataset(table, folder / "partitions", partition_cols=["x1"])
    return folder / "partitions"


def write_csv(folder: Path, table) -> Path:
    from pyarrow import csv as writer

    writer.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


def write_csv_folder(folder: Path, table) -> Path:
    from pyarrow import csv as writer

    home = folder / "csv-folder"
    home.mkdir()
    for i, start in enumerate(range(0, len(table), 1100)):
        writer.write_csv(table.slice(start, 1100), home / f"{i}.csv")
    return home


def write_feather(folder: Path, table) -> Path:
    from pyarrow import feather

    feather.write_feather(table, folder / "rows.feather", chunksize=800)
    return folder / "rows.feather"


def write_arrow(folder: Path, table) -> Path:
    from pyarrow import feather

    feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    return folder / "rows.arrow"


def write_npy(folder: Path, table) -> Path:
    np.save(folder / "rows.npy", np.column_stack([table.column(name).to_numpy() for name in table.column_names]))
    return folder / "rows.npy"


def write_records(folder: Path, table) -> Path:
    columns = [table.column(name).to_numpy() for name in table.column_names]
    np.save(folder / "records.npy", np.rec.fromarrays(columns, names=list(table.column_names)))
    return folder / "records.npy"


WRITERS = {
    "parquet": write_parquet,
    "parquet folder": write_parquet_folder,
    "partitions": write_partitions,
    "csv": write_csv,
    "csv folder": write_csv_folder,
    "feather": write_feather,
    "arrow": write_arrow,
    "npy": write_npy,
    "records": write_records,
}


@pytest.fixture
def small_parts(monkeypatch):
    """Cut files into parts and blocks so small that a few thousand rows make many of them."""
    monkeypatch.setattr(task, "TASK_CELLS", 1 << 12)
    monkeypatch.setattr(npy, "TASK_CELLS", 1 << 12)
    monkeypatch.setattr(csv, "_TASK_BYTES", 20_000)
    for module in (csv, ipc, npy, parquet):
        monkeypatch.setattr(module, "BLOCK_ROWS", 333)
