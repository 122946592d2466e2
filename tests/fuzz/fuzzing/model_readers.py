"""Models, privacy reports and feature maps, as they are read back from files and from other programs."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from dpols.estimators import PrivateLinearRegression
from dpols.feature_map import FeatureMap
from dpols.report import PrivacyReport
from dpols.storage.model_file import read_model, write_model

from .guided import NeverFed, require

_MOST_FEATURES = 10**6  # products of many categories have more coefficients than anyone could print


def feed_model(data: bytes, folder: Path) -> None:
    """Load a model file, and save it again."""
    path = folder / "model.json"
    path.write_bytes(data)
    model = PrivateLinearRegression.load(path)
    _check_model(model)
    model.save(path)
    again = PrivateLinearRegression.load(path)
    require(again.privacy_report_ == model.privacy_report_, "a report that is written does not read back")
    require(again.feature_map_ == model.feature_map_, "a feature map that is written does not read back")
    require(np.array_equal(again.coef_, model.coef_), "coefficients that are written do not read back")


def feed_mended_model(data: bytes, folder: Path) -> None:
    """Read a file whose content was changed by someone who knows how to compute its checksum."""
    try:
        content = json.loads(data)["content"]
        write_model(folder / "mended.json", content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NeverFed from None  # no content that a checksum could be written for
    require(read_model(folder / "mended.json") == content, "content that is written does not read back")
    feed_model((folder / "mended.json").read_bytes(), folder)


def feed_report(data: bytes, folder: Path) -> None:
    """Rebuild a report from plain data, and write it in every form."""
    report = PrivacyReport.from_dict(_plain(data))
    _check_report(report)
    require(PrivacyReport.from_dict(json.loads(report.to_json())) == report, "a report does not read back")


def feed_feature_map(data: bytes, folder: Path) -> None:
    """Rebuild a feature map from plain data, and map two rows by it."""
    built = FeatureMap.from_dict(_plain(data))
    _check_feature_map(built)
    require(FeatureMap.from_dict(json.loads(json.dumps(built.to_dict()))) == built, "a map does not read back")


def _plain(data: bytes) -> Any:
    """Return JSON, numbers that are not finite included, as other sources than files may have them."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise NeverFed from None


def _check_model(model: PrivateLinearRegression) -> None:
    require(bool(np.isfinite(model.coef_).all()) and math.isfinite(model.intercept_), "coefficients are not finite")
    names = getattr(model, "feature_names_in_", None)
    require(names is None or all(isinstance(name, str) for name in names), "names that are not text")
    if model.feature_map_ is not None:
        _check_feature_map(model.feature_map_)
        require(model.coef_.shape == (len(model.feature_map_.names),), "coefficients that do not fit the map")
    else:
        require(model.coef_.shape == (model.n_features_in_,), f"coefficients of shape {model.coef_.shape}")
        require(names is None or names.shape == model.coef_.shape, "names that do not fit the coefficients")
        if names is None:
            model.predict(np.zeros((2, len(model.coef_))))
    _check_report(model.privacy_report_)


def _check_report(report: PrivacyReport) -> None:
    texts = (report.method, report.verdict, str(report), report.to_html(), report.to_markdown())
    require(all(isinstance(text, str) for text in texts), "fields not text")
    reasons = report.seeded or report.bounds_origin == "data" or bool(report.void)
    require(report.private is not reasons, "private although there is a reason why it is not, or the other way round")
    report.to_json()


def _check_feature_map(built: FeatureMap) -> None:
    require(len(built.names) <= _MOST_FEATURES, "more features than could be")
    bounds: Any = built.bounds().features
    require(list(bounds) == list(built.names), "bounds of other features")
    require(all(math.isfinite(low) and math.isfinite(high) and low < high for low, high in bounds.values()), "bounds")
    require(all(isinstance(text, str) for pair in built.describe() for text in pair), "columns that are not described")
