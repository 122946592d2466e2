"""From a path to a source of rows: which files there are, which columns they have, and how they are cut into tasks."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...errors import BoundsError, DataError, DataTypeError, did_you_mean
from ..arrow import pyarrow
from ..columns import feature_names
from ..engines import TaskEngine, task_engine
from ..id_types import require_one_type
from ..row_map import RowMap
from ..source import Block, Columns, Kernel, RowsOfWorkers, RowSource, Total, add_up
from ..threads import map_blocks
from . import csv, ipc, parquet
from .dialect import Dialect
from .formats import FORMATS, format_of
from .progress import Progress, Watch, Watched
from .summing import number, sum_of, task_blocks, task_columns
from .task import FileTask, Header, Stamp

_MOST_NAMES = 8  # that an error lists of those that are not there


@dataclass(frozen=True)
class FileSource:
    """Rows of one or more files, cut into tasks that are summed on all cores.

    Attributes
    ----------
    path : str
        The file or folder.
    columns : tuple of str
        Names of the features.
    target : str or None
        Name of the target; None where there is none.
    tasks : tuple of FileTask
        What makes up the rows. Each can be sent to another process and read there by ``task_blocks``.
    not_numbers : str or None
        What says which columns do not hold numbers, where there are any.
    text_columns : tuple of str
        Their names.
    engine : callable or None
        What makes a source of the tasks on workers elsewhere; None for the threads of this process.
    watch : Watch or None
        What is called with how far a pass has come.
    weights : str or None
        Name of the column of weights, where rows have any.
    """

    path: str
    columns: tuple[str, ...]
    target: str | None
    tasks: tuple[FileTask, ...] = field(repr=False)
    not_numbers: str | None = field(default=None, repr=False)
    text_columns: tuple[str, ...] = field(default=(), repr=False)
    engine: TaskEngine | None = field(default=None, repr=False, compare=False)
    watch: Watch | None = field(default=None, repr=False, compare=False)
    weights: str | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def is_local(self) -> bool:
        return self.engine is None

    @property
    def n_rows(self) -> int:
        return sum(task.n_rows for task in self.tasks)

    def check(self) -> None:
        """Refuse files that the first of their rows show to be unfit, before anything is charged or computed."""
        self._require_numbers()
        if self.engine is None:
            for _ in task_blocks(self.tasks[0]):
                break

    def total(self, kernel: Kernel, *args: Any) -> Total:
        if self.engine is None:
            return self.total_beside([()] * len(self.tasks), kernel, *args)
        return self._by_workers(self.engine).total(kernel, *args)

    def kept(self, row_map: RowMap) -> tuple[RowSource, Total] | None:
        """Let workers keep all rows, bounded and rounded; None where they are too many, or this process reads them."""
        kept = None if self.engine is None else self._by_workers(self.engine).kept(row_map)
        if kept is None or self.watch is None:
            return kept
        return Watched(kept[0], self.watch), kept[1]

    def _by_workers(self, engine: TaskEngine) -> RowsOfWorkers:
        """Begin a pass of workers."""
        self._require_numbers()
        if self.watch is not None:
            self.watch.start()
        return engine(self.tasks, task_blocks, self.n_rows, self.columns)

    def total_beside(self, own: Sequence[tuple[Any, ...]], kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(features, target, *own, *args)``, with some objects of each task's own.

        The threads of this process read each task once in a pass, and its rows in their order.
        """
        return self.total_by(lambda place, alone: task_blocks(self.tasks[place], threads=alone), own, kernel, *args)

    def total_by(
        self, read: Callable[[int, bool], Iterable[Block]], own: Sequence[tuple[Any, ...]], kernel: Kernel, *args: Any
    ) -> Total:
        """Return the same, where ``read`` gives the blocks of the task at a place, be it alone to use all cores."""
        self._require_numbers()
        if self.watch is not None:
            self.watch.start()
            kernel = self.watch.counting(kernel)
        alone = len(self.tasks) == 1

        def work(place: int) -> Total:
            return sum_of(read(place, alone), kernel, *own[place], *args)

        return add_up(map_blocks(work, range(len(self.tasks))))

    def columns_of(self, place: int, alone: bool) -> Iterator[Columns | Block]:
        """Yield the rows of the task at a place as columns, where its reader has such."""
        return task_columns(self.tasks[place], threads=alone)

    def mapped(
        self, raw: Sequence[str], columns: Sequence[str], make: Callable[[Any], Block], text: Sequence[str] = ()
    ) -> "FileSource":
        """Return a source of other features: ``make`` turns a table of the raw columns into features and target.

        The raw columns in ``text`` need not hold numbers.
        """
        unknown = [name for name in raw if name not in self.columns]
        if unknown:
            raise _no_column(self.path, unknown, self.columns)
        tasks = (replace(task, features=tuple(raw), make=make, text=tuple(text)) for task in self.tasks)
        made = replace(self, columns=tuple(columns), tasks=tuple(tasks), not_numbers=None, text_columns=())
        made.check()
        return made

    def require_ids(self, name: str) -> None:
        """Refuse a column of ids whose type in some files is such that ids equal none in others. No row is read."""
        typed = {"parquet": parquet.schema, "arrow": ipc.schema}
        found: list[Any] = []
        for task in {task.file: task for task in self.tasks}.values():
            if task.kind in typed and name in self.columns:  # others have their ids as text, or all as numbers
                of_folder = name in dict(task.constants)
                kind = pyarrow().string() if of_folder else typed[task.kind](task.file).field(name).type
                found += [kind] if kind not in found else []
        for first, other in combinations(found, 2):
            require_one_type(name, first, other, "files")

    def selected(self, columns: Sequence[str]) -> "FileSource":
        """Return the same rows with some of their columns."""
        wanted = [*columns, *(name for name in (self.target, self.weights) if name is not None)]
        tasks = tuple(replace(task, features=tuple(columns)) for task in self.tasks)
        wrong = [name for name in self.text_columns if name in wanted]
        return replace(self, columns=tuple(columns), tasks=tasks, not_numbers=self.not_numbers if wrong else None)

    def weighted(self, name: str) -> "FileSource":
        """Return the same rows with one of their columns as their weights."""
        features = tuple(feature_names([*self.columns, *([self.target] if self.target else [])], self.target, name))
        tasks = tuple(replace(task, features=features, weights=name) for task in self.tasks)
        return replace(self, columns=features, tasks=tasks, weights=name)

    def without_row_counts(self) -> "FileSource":
        """Return the same rows, whose progress tells of passes only."""
        return self if self.watch is None else replace(self, watch=Watch(self.watch.hook, None))

    def blocks(self) -> Iterator[Block]:
        """Yield features and target of all rows in their order, in blocks of at most 64k."""
        self._require_numbers()
        for task in self.tasks:
            yield from task_blocks(task)

    def _require_numbers(self) -> None:
        if self.not_numbers is not None:
            raise DataTypeError(self.not_numbers)


def read(
    path: str | os.PathLike[str],
    target: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    client: Any = None,
    spark: Any = None,
    progress: Progress | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> FileSource:
    """Open a file, or a folder of files of one format, as a source of rows that ``fit`` takes in place of X and y.

    Only headers are read here. A fit reads the files block by block, on all cores. In exact arithmetic the default
    method keeps as many rows in memory as take half a gibibyte there; each pass reads the other rows again, and memory
    does not grow with them.

    Parameters
    ----------
    path : str or path
        A file, or a folder that is searched for files, also in subfolders. Names of subfolders such as ``year=2024``
        are columns too. What begins with a dot or an underscore is left out.
    target : str, optional
        Name of the column to be predicted. A fit needs it.
    columns : sequence of str, optional
        Names of the features, in this order. By default all columns but the target.
    client : distributed.Client, optional
        Workers of Dask that read and sum the parts of the files, which must be at the same path for all of them. They
        keep few rows between passes, and read more of them again.
    spark : pyspark.sql.SparkSession, optional
        The same with the workers of Spark.
    progress : callable, optional
        Called as ``progress(number of the pass, rows that it has read, rows in all)`` while passes run. Where the
        number of rows is not public, both numbers of rows are 0.
    sep, decimal, encoding : str, optional
        Separator, decimal mark and encoding of text files. By default the header shows the separator, semicolons go
        with decimal commas, and each text is UTF-8 or, where it is none, Windows-1252, of which Latin-1 is a part.
    """
    dialect = Dialect(sep, decimal, encoding)
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} is one name; pass a list of names, such as columns=[{columns!r}].")
    engine = task_engine(client, spark)
    folder = Path(path) if engine is None else Path(path).absolute()  # workers have another working directory
    files = _files(folder)
    kinds = {format_of(file) for file in files}
    if len(kinds) > 1:
        raise DataError(f"{str(folder)!r} mixes files of the formats {_listed(sorted(kinds))}; read one at a time.")
    kind = kinds.pop()
    _check_names(columns)
    if target is not None and target in (columns or ()):
        raise DataError(f"target={target!r} is also among the columns; leave it out there.")
    first = _names(FORMATS[kind].header(Stamp.of(files[0], dialect)), _partition(folder, files[0]))
    features = tuple(name for name in first if name != target) if columns is None else tuple(map(str, columns))
    if not features:
        raise BoundsError(f"{str(folder)!r} has no feature columns.")
    names = (*features, *([] if target is None else [target]))
    tasks: list[FileTask] = []
    complaints: list[str] = []
    text: list[str] = []
    for file in files:
        stamp, keys = Stamp.of(file, dialect), _partition(folder, file)
        header = FORMATS[kind].header(stamp)
        _check_columns(stamp, _names(header, keys), names, first if columns is None else None)
        wrong = _text_columns(header, keys, names)
        complaints += _not_numbers(stamp, wrong)
        text += wrong
        constants = tuple((name, keys[name]) for name in names if name in keys)
        parts = FORMATS[kind].parts(stamp, [name for name in names if name not in keys])
        tasks += [FileTask(stamp, kind, part, n, features, target, constants) for part, n in parts if n > 0]
    if not tasks:
        raise DataError(f"{str(folder)!r} has no rows (0 sample(s)); at least one is required.")
    watch = None if progress is None else Watch(progress, sum(task.n_rows for task in tasks))
    complaint = complaints[0] if complaints else None
    return FileSource(str(folder), features, target, tuple(tasks), complaint, tuple(text), engine, watch)


def column_types(path: str | os.PathLike[str], dialect: Dialect = Dialect()) -> dict[str, str | None]:  # noqa: B008
    """Return each column's name with why it cannot be used, or None where it can, from the first header alone.

    A CSV file's header says nothing of types, so no column of one is ruled out. No row is read.
    """
    folder = Path(path)
    file = _files(folder)[0]
    return dict(FORMATS[format_of(file)].header(Stamp.of(file, dialect))) | dict.fromkeys(_partition(folder, file))


def table_in_memory(file: Stamp, names: Sequence[str], text: Sequence[str]) -> Any:
    """Return some columns of a whole file as a table of pyarrow, those in ``text`` as they are."""
    kind = format_of(Path(file.path))
    if kind == "csv":
        return csv.in_memory(file, names, text)
    if kind == "npy":
        raise DataError(f"{file.path!r} has no columns of names that could be ids; write it as Parquet or CSV.")
    arrow, module = pyarrow(), FORMATS[kind]
    found = [
        batch
        for part, _ in module.parts(file, names)
        for batch in module.batches(file, part, names, threads=True, text=text)
    ]
    if not found:
        raise DataError(f"{file.path!r} has no rows (0 sample(s)); at least one is required.")
    return arrow.Table.from_batches(found).select(list(names))


def _files(path: Path) -> list[Path]:
    """Return the files at a path, in the order of their names."""
    if not path.is_dir():
        format_of(path)
        with path.open("rb"):  # says clearly what is wrong with a file that is missing or not readable
            return [path]
    if (path / "_delta_log").is_dir():
        raise DataError(
            f"the folder {str(path)!r} is a Delta table, whose files may hold rows that were deleted since. Write its "
            "current rows to Parquet files, or read it with a tool that streams Arrow, such as duckdb."
        )
    try:
        everything = sorted(path.rglob("*"))
    except RecursionError:
        raise DataError(f"the folder {str(path)!r} has subfolders that are nested too deeply to be searched.") from None
    found = [
        file
        for file in everything
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    ]
    if not found:
        raise DataError(f"the folder {str(path)!r} has no files to read. Name a folder that has.")
    return found


def _partition(folder: Path, file: Path) -> dict[str, str]:
    """Return the columns that names of subfolders such as ``year=2024`` give."""
    pairs = (part.partition("=") for part in file.relative_to(folder).parts[:-1])
    return {unquote(name): unquote(value) for name, sign, value in pairs if sign}


def _names(header: Header, keys: Mapping[str, str]) -> list[str]:
    return [*(name for name, _ in header), *keys]


def _check_names(columns: Any) -> None:
    """Refuse what are no names, such as the values of a column, without quoting them."""
    wrong = [] if columns is None else [type(name).__name__ for name in columns if not isinstance(name, str)]
    if wrong:
        raise DataError(f"columns must be a list of names, and has something of type {wrong[0]} among them.")


def _no_column(path: str, unknown: Sequence[str], names: Sequence[str]) -> DataError:
    some = _listed(unknown[:_MOST_NAMES]) + " and others" * (len(unknown) > _MOST_NAMES)
    return DataError(f"{path!r} has no column {some}{columns_in_words(unknown[0], names)}.")


def columns_in_words(meant: str, names: Sequence[str]) -> str:
    """Say which columns there are in place of one that there is not, unless they may be a row of data."""
    if any(map(_is_number, names)):
        return (
            "; some of its columns are called by numbers. Where its first line is a row of data, put a line with the "
            "names of the columns above it"
        )
    return f"{did_you_mean(meant, names)}; its columns are {_listed(names)}"


def _check_columns(file: Stamp, names: Sequence[str], wanted: Sequence[str], all_names: Sequence[str] | None) -> None:
    """Require that a file has the wanted columns, each once; and no others where all are wanted."""
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise _no_column(file.path, unknown, names)
    may_be_a_row = any(map(_is_number, names))  # of data, and is not quoted
    extra = [] if all_names is None else [name for name in names if name not in all_names]
    if extra:
        which = "a column" if may_be_a_row else f"the column {_listed(extra)}"
        raise DataError(f"{file.path!r} has {which}, which the first file has not. Name the columns to use.")
    repeated = sorted({name for name in wanted if names.count(name) > 1 or wanted.count(name) > 1})
    if repeated:
        which = "of one name" if may_be_a_row else _listed(repeated)
        raise DataError(f"{file.path!r} has more than one column {which}; names must be unique.")


def _text_columns(header: Header, keys: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    text = [name for name, unusable in header if name in wanted and unusable is not None]
    return text + [name for name, value in keys.items() if name in wanted and not _is_number(value)]


def _not_numbers(file: Stamp, text: Sequence[str]) -> list[str]:
    """Say which columns of a file do not hold numbers, if any."""
    if not text:
        return []
    return [
        f"column {_listed(text)} of {file.path!r} does not hold numbers, or not everywhere. Declare its public "
        "categories (categories = [...] in the bounds file, dpols.CategoricalColumn in Python), or leave it out."
    ]


def _is_number(value: str) -> bool:
    try:
        number(value)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
