"""Without a unit the guarantee is about rows, and everything that is shown says so."""

import re

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression, release_sketch

X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
Y = X @ [0.5, -0.2]
CAVEAT = "people with several rows are not fully covered"
# A claim about people: the caveat is the only sentence in which they may occur.
PEOPLE = re.compile(r"\b(person|persons|people|individuals?|someone|somebody|anybody|everyone)\b", re.IGNORECASE)


def texts(model):
    """Everything that is rendered of a fit, by name."""
    report = model.privacy_report_
    return {
        "text": report.to_text(),
        "markdown": report.to_markdown(),
        "page": report.to_html().partition("<script")[0],
        "summary": str(model.summary()),
        "page of the summary": model.summary()._repr_html_(),
    }


def plain(text):
    return " ".join(re.sub(r"<style.*?</style>|<[^>]+>|\\", " ", text, flags=re.DOTALL).split())


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (20.0, 1e-6), (1.0, 0.01), (1.0, 1e-3)])
def test_without_a_unit_rows_are_protected_and_people_are_not_promised_anything(relation, epsilon, delta):
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    model = PrivateLinearRegression(epsilon, delta, bounds, neighbours=relation, inference=True).fit(X, Y)
    shown = {name: plain(text) for name, text in texts(model).items()}
    for name in ("text", "markdown", "page"):
        assert CAVEAT in shown[name]
        assert "single rows" in shown[name]
    for text in shown.values():
        assert PEOPLE.findall(text.replace(CAVEAT, "")) == []


def test_with_a_unit_it_is_named_and_nothing_is_said_of_single_rows():
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, max_rows_per_unit=3).fit(X, Y, groups=np.arange(400) // 4)
    shown = {name: plain(text) for name, text in texts(model).items()}
    for name in ("text", "markdown", "page"):
        assert "all rows of one unit of groups together, of which at most 3 are used" in shown[name]
        assert CAVEAT not in shown[name]
        assert "single rows" not in shown[name]


def test_a_sketch_protects_rows():
    report = release_sketch(X, bounds=Bounds(features=[(-1, 1)] * 2), epsilon=1.0, delta=1e-6, rows=20).report
    text = plain(report.to_text())
    assert CAVEAT in text
    assert PEOPLE.findall(text.replace(CAVEAT, "")) == []
    assert max(map(len, report.to_text().splitlines())) <= 100
