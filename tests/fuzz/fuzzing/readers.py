"""The entry points that read bytes or text, each with its checks.

Readers of the command line are loaded by name, since the library never imports its commands.
"""

import importlib
import math
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dpols.data import Bounds
from dpols.errors import DpolsError
from dpols.feature_map import FeatureMap
from dpols.feature_map.toml import declared_exposure, declared_weight
from dpols.privacy.budget import delta_from_rule

from . import seeds
from .file_readers import feed_file, feed_folder
from .guided import Reader, require
from .ledger_readers import feed_forged_ledger, feed_ledger
from .model_readers import feed_feature_map, feed_mended_model, feed_model, feed_report
from .trees import TreeMutator


@cache
def readers() -> dict[str, Reader]:
    """Return all readers by name."""
    return {reader.name: reader for reader in _all_readers()}


def _all_readers() -> list[Reader]:
    return [*_text_readers(), *_file_readers(), *_model_readers(), *_ledger_readers()]


def _text_readers() -> list[Reader]:
    return [
        Reader(
            "bounds file",
            _feed_bounds,
            seeds.BOUNDS,
            seeds.TOML_WORDS,
            _files("cli.bounds_file", "feature_map.toml", "feature_map.columns", "feature_map.terms"),
        ),
        Reader("delta rule", _feed_delta, seeds.DELTAS, seeds.DELTA_WORDS, _files("privacy.budget", "cli.options")),
        Reader("method options", _feed_options, seeds.OPTIONS, seeds.OPTION_WORDS, _files("cli.options")),
    ]


def _file_readers() -> list[Reader]:
    files = _files(*(f"data.files.{name}" for name in ("reading", "csv", "parquet", "ipc", "npy", "summing")))
    return [
        Reader("CSV file", feed_file(".csv"), seeds.CSV, seeds.CSV_WORDS, files),
        Reader("Parquet file", feed_file(".parquet"), seeds.parquet(), (), files),
        Reader("Arrow file", feed_file(".arrow"), seeds.arrow(), (), files),
        Reader("numpy file", feed_file(".npy"), seeds.npy(), seeds.NPY_WORDS, files),
        Reader("folder of files", feed_folder, seeds.FOLDERS, seeds.FOLDER_WORDS, files),
    ]


def _model_readers() -> list[Reader]:
    model, report = _files("storage.model_file", "estimators"), _files("report.privacy_report", "storage.plain_data")
    maps = _files("feature_map.mapping", "feature_map.columns", "feature_map.terms", "storage.plain_data")
    models, words = seeds.models(), seeds.JSON_WORDS
    return [
        Reader("model file", feed_model, models, words, model),
        Reader("model file, checksum mended", feed_mended_model, models, words, model | report | maps, TreeMutator),
        Reader("privacy report", feed_report, seeds.reports(), words, report, TreeMutator),
        Reader("feature map", feed_feature_map, seeds.feature_maps(), words, maps, TreeMutator),
    ]


def _ledger_readers() -> list[Reader]:
    files, forged = _files("ledger.budget_ledger", "ledger.store", "ledger.records"), seeds.ledger_rows()
    return [
        Reader("ledger", feed_ledger, seeds.ledgers(), seeds.JSON_WORDS, files),
        Reader("ledger, rows forged", feed_forged_ledger, forged, seeds.JSON_WORDS, files, TreeMutator),
    ]


def _feed_bounds(data: bytes, folder: Path) -> None:
    module = importlib.import_module("dpols.cli.bounds_file")
    path, table = folder / "bounds.toml", folder / "bounds.csv"
    path.write_bytes(data)
    table.write_bytes(data)
    with suppress(DpolsError):
        _require_ranges(module.read_declared(table, "pay").bounds())
    with suppress(DpolsError):
        require(bool(module.read_declared(path, "pay", family="binomial").names), "no feature")
    with suppress(DpolsError):
        require(module.read_feature_map(path, "pay").target_name in (None, "pay"), "the range of another target")
    for read in (declared_weight, declared_exposure):
        require(module.declared_beside(table, read) == (None, None), "a table of ranges declares more")
        name, limits = module.declared_beside(path, read)
        require((name is None) == (limits is None), "a column beside the others without its limits")
        require(module.settled("--x", None, name, "") == name, "a file's own word is lost")
        with suppress(DpolsError):
            require(module.settled("--x", "design", name, "") == "design", "two words for one")
    declared: FeatureMap = module.read_feature_map(path)
    require(bool(declared.raw_columns) and bool(declared.names), "no feature")
    _require_ranges(declared.bounds())
    bounds = module.read_bounds(path)
    _require_ranges(bounds)
    path.write_text(module.filled_bounds(bounds, module.feature_names(bounds)[0]), encoding="utf-8")
    require(module.read_bounds(path) == bounds, "bounds that are written do not read back")


def _require_ranges(bounds: Bounds) -> None:
    features: Any = bounds.features
    for low, high in (*(() if bounds.target is None else (bounds.target,)), *features.values()):
        require(math.isfinite(low) and math.isfinite(high) and low < high, f"bounds {low!r} and {high!r}")


def _feed_delta(data: bytes, folder: Path) -> None:
    text = data.decode("utf-8", "replace")
    for n_rows in (1, 50, 10**9):
        try:
            require(0.0 < delta_from_rule(text, n_rows) < 1.0, "a delta outside (0, 1)")
        except DpolsError:
            continue
    delta = importlib.import_module("dpols.cli.options").parsed_delta(text, 1.0)
    require(isinstance(delta, str) or 0.0 < delta < 1.0, "a delta outside (0, 1)")


def _feed_options(data: bytes, folder: Path) -> None:
    method, *pairs = data.decode("utf-8", "replace").split("\n")
    module = importlib.import_module("dpols.cli.options")
    with suppress(DpolsError):
        require(len(module.split_list("--x", pairs[-1] if pairs else "")) > 0, "a list of nothing")
    with suppress(DpolsError):
        require(all(isinstance(number, float) for number in module.numbers("--x", method)), "no numbers")
    options = module.parsed_options(method, pairs)
    require(len(options) == len(pairs), "options are lost")


def _files(*modules: str) -> frozenset[str]:
    return frozenset(str(importlib.import_module(f"dpols.{name}").__file__) for name in modules)
