"""What a model file holds of a fitted model, and the model that a file holds."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.bounds import ReadFromData
from ..errors import ModelFileError
from ..families import FamilyName
from ..feature_map import FeatureMap
from ..inference import Inference
from ..ledger import Entry
from ..report import PrivacyReport
from ..storage.model_file import model_bytes, read_model, write_model
from ..storage.plain_data import finite_number, text, tuple_of


class Storing:
    """The way of a fitted model to a file and back; part of an estimator."""

    family: ClassVar[FamilyName]
    coef_: Any
    intercept_: Any
    n_features_in_: int
    feature_names_in_: Any
    target_range_: tuple[float, float]
    feature_map_: FeatureMap | None
    privacy_report_: PrivacyReport
    inference_: Inference | None
    ledger_entry_: Entry | None

    def _set_coefficients(self, slopes: Any, intercept: float) -> None:
        """Keep coefficients in the shape that scikit-learn has for the family."""
        self.coef_, self.intercept_ = slopes, intercept

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file: released values and public parameters only."""
        write_model(path, self._content())

    def to_json(self) -> str:
        """Return what ``save`` writes, as text."""
        return model_bytes(self._content()).decode()

    def _content(self) -> dict[str, Any]:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "coef": [float(value) for value in np.ravel(self.coef_)],
            "intercept": float(np.ravel(self.intercept_)[0]),
            "target_range": list(self.target_range_),
            "feature_names": None if names is None else [str(name) for name in names],
            "feature_map": None if self.feature_map_ is None else self.feature_map_.to_dict(),
            "report": self.privacy_report_.to_dict(),
            "inference": None if self.inference_ is None else self.inference_.to_dict(),
            **self._own_content(),
        }

    def _own_content(self) -> dict[str, Any]:
        """Return what only some families have in their model files."""
        return {"family": self.family}

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a fitted model back."""
        return cls.from_content(read_model(path), path)

    @classmethod
    def from_content(cls, content: dict[str, Any], path: Any) -> Self:
        """Return the model that the content of a file describes; ``path`` is what messages call it."""
        if content.get("family") != cls.family:
            raise ModelFileError(
                f"{str(path)!r} holds a model of family {content.get('family')!r}, and {cls.__name__} is of "
                f"{cls.family!r}; load it with the estimator of its family."
            )
        try:
            report = PrivacyReport.from_dict(content["report"])
            coefficients, intercept = tuple_of(finite_number)(content["coef"]), finite_number(content["intercept"])
            low, high = tuple_of(finite_number)(content["target_range"])
            if not low < high:
                raise ValueError("a target_range with low < high")
            names = None if content["feature_names"] is None else tuple_of(text)(content["feature_names"])
            given = content["feature_map"]
            feature_map = None if given is None else FeatureMap.from_dict(given)
            inputs = coefficients if feature_map is None else feature_map.raw_columns
            features = names if feature_map is None else feature_map.names
            if not coefficients or (features is not None and len(features) != len(coefficients)):
                raise ValueError("one name for each coefficient")
            inference = None if content["inference"] is None else Inference.from_dict(content["inference"])
            if inference is not None and len(inference.names) != len(coefficients) + inference.intercept:
                raise ValueError("one estimate for each coefficient")
            parameters, attributes = cls._own_parts(content)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{str(path)!r} lacks a part of the model: {error}.") from None
        estimator: type[Any] = cls
        model: Self = estimator(
            epsilon=report.asked.epsilon,
            delta=report.asked.delta,
            feature_map=feature_map,
            inference=inference is not None,
            **parameters,
        )
        model.__dict__.update(attributes, inference_=inference)
        model._set_coefficients(np.array(coefficients), intercept)
        model.feature_map_ = feature_map
        number = ReadFromData if report.bounds_origin == "data" else float
        model.target_range_ = (number(low), number(high))
        model.n_features_in_, model.privacy_report_, model.ledger_entry_ = len(inputs), report, None
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return model

    @classmethod
    def _own_parts(cls, content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return parameters and attributes that only some families have; ValueError says what a file lacks."""
        return {}, {}
