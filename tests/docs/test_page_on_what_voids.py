"""The page on what voids the guarantee: what it links to exists, and what it says is noticed is."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpols import Bounds, PrivateLinearRegression
from dpols.errors import NotPrivateWarning

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "what_voids_the_guarantee.md").read_text(encoding="utf-8")


def test_links_and_named_tests_are_there_and_the_readme_leads_here():
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", PAGE) if not (ROOT / "docs" / link).exists()] == []
    assert [name for name in re.findall(r"`(tests/[^`]+)`", PAGE) if not (ROOT / name).exists()] == []
    assert "(docs/what_voids_the_guarantee.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_is_noticed_and_what_is_not():
    X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    y = X @ [0.5, -0.2]
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(x_norm=2.0, target=(-1, 1)))
    for noticed in (
        lambda: make_pipeline(StandardScaler(), model).fit(X, y),
        lambda: cross_val_score(model, X, y, cv=2),
        lambda: model.fit(X, y).score(X, y),
    ):
        with pytest.warns(NotPrivateWarning):
            noticed()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPrivateWarning)
        assert model.fit(StandardScaler().fit_transform(X), y).privacy_report_.private
    assert "**No**: an array does not show what was done to it" in PAGE
