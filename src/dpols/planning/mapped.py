"""Made-up tables with categories, powers and products, as a feature map makes them of raw columns."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from ..feature_map import CategoricalColumn, FeatureMap
from ..randomness import Bits, standard_normal
from .samples import Array, RepeatedRows, Sample, distinct
from .shapes import REACH, Shape, correlation_matrix, log_spaced, target_range, target_within


@dataclass(frozen=True)
class MappedShape(Shape):
    """A shape whose features follow from raw columns, which are correlated normal numbers.

    Categories are ranges of such a number, so that all are equally frequent. All features that vary have slopes of the
    same size, in standard deviations, with signs that alternate at random.
    """

    feature_map: FeatureMap = field(kw_only=True)

    def sample(self, n_rows: int, bits: Bits) -> Sample:
        """Return a table of that many rows."""
        m, names = distinct(n_rows), self.feature_map.raw_columns
        root = np.linalg.cholesky(correlation_matrix(log_spaced(self.condition, len(names)), bits))
        signs = np.sign(standard_normal(bits, (self.n_features,)))
        noise = standard_normal(bits, (m,))
        features = self._features(np.clip(standard_normal(bits, (m, len(names))) @ root.T, -REACH, REACH))
        centred = features - features.mean(axis=0) if self.fit_intercept else features
        spread = np.sqrt(np.mean(centred**2, axis=0))
        signal = centred @ (signs / np.where(spread > 0.0, spread, np.inf))
        signal *= math.sqrt(self.r_squared / max(float(np.mean(signal**2)), 1e-300))
        joined = np.column_stack((features, np.ones(m))) if self.fit_intercept else features
        target = target_within(joined, signal, noise, 1.0 - self.r_squared, REACH)
        bounds = self.feature_map.bounds()
        target = self._stretched(target[:, None], np.array([target_range(bounds)]))[:, 0]
        source = RepeatedRows(features, target, n_rows, self.feature_map.names)
        return Sample(source, bounds, self.fit_intercept, 1.0 - self.r_squared)

    def _features(self, latent: Array) -> Array:
        """Turn numbers in standard deviations into raw columns, and those into features."""
        block = np.empty((len(latent), len(self.feature_map.columns)), dtype=object)
        places = dict(zip(self.feature_map.raw_columns, latent.T, strict=True))
        for i, (name, column) in enumerate(self.feature_map.columns.items()):
            values = places.get(name, np.zeros(len(latent)))
            if isinstance(column, CategoricalColumn):
                which = np.minimum((ndtr(values) * len(column.categories)).astype(np.int64), len(column.categories) - 1)
                block[:, i] = np.array(column.categories, dtype=object)[which]
            else:
                block[:, i] = self._stretched(values[:, None], np.array([column.interval]))[:, 0]
        return self.feature_map.transform(block)
