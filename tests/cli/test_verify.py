"""``dpols verify``: untouched reports hold, changed ones are found."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpols import (
    Bounds,
    BudgetLedger,
    CategoricalColumn,
    Factor,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateLinearRegression,
    logit,
    ols,
    poisson,
    transforms,
)
from dpols.data.bounds import ReadFromData
from dpols.errors import ModelFileError
from dpols.report.basis import digest_of
from dpols.storage.model_file import write_model
from dpols.verification import verify_file, verify_report

METHODS = [
    ("ihm", "exact", "zero-out"),
    ("ihm", "float", "replace-one"),
    ("adassp", "exact", "replace-one"),
    ("whitened", "exact", "zero-out"),
    ("ihm-adaptive", "exact", "zero-out"),
    ("linmix-dynamic", "float", "zero-out"),
]


def fitted(method="ihm", arithmetic="exact", neighbours="zero-out", **more):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 3))
    model = PrivateLinearRegression(
        1.0,
        1e-6,
        Bounds(features=[(-1, 1)] * 3, target=(-1, 1)),
        method=method,
        arithmetic=arithmetic,
        neighbours=neighbours,
        **more,
    )
    return model.fit(X, X @ [0.3, 0.2, -0.4])


def problems(findings):
    return [finding.what for finding in findings if not finding.holds]


@pytest.mark.parametrize(("method", "arithmetic", "neighbours"), METHODS)
def test_what_a_fit_reports_holds(method, arithmetic, neighbours, tmp_path):
    model = fitted(method, arithmetic, neighbours)
    model.save(tmp_path / "model.json")
    (tmp_path / "report.json").write_text(model.privacy_report_.to_json())
    (tmp_path / "report.html").write_text(model.privacy_report_.to_html())
    for name in ("model.json", "report.json", "report.html"):
        assert problems(verify_file(tmp_path / name)) == []


@pytest.fixture(scope="module")
def report():
    return json.loads(fitted().privacy_report_.to_json())


def first_line(kind, **change):
    def apply(report):
        next(line for line in report["lines"] if line["kind"] == kind).update(change)

    return apply


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (first_line("gaussian", multiplier=5.0), ["epsilon spent", "certified delta"]),
        (first_line("gaussian", multiplier=500.0), ["epsilon spent", "certified delta"]),
        (first_line("mixing", floor=90.0), ["epsilon spent", "certified delta"]),
        (first_line("mixing", times=9), ["epsilon spent", "certified delta"]),
        (first_line("failure", probability=1e-12), ["epsilon spent", "certified delta"]),
        (lambda report: report["lines"].pop(), ["epsilon spent", "certified delta"]),
        (lambda report: report.update(spent_epsilon=0.5), ["epsilon spent"]),
        (lambda report: report.update(certified_delta=1e-9), ["certified delta"]),
        (lambda report: report.update(certified_delta=None), ["certified delta"]),
        (lambda report: report.update(relation="replace-one"), ["epsilon spent", "certified delta"]),
        (lambda report: report["asked"].update(epsilon=0.5), ["epsilon within what was asked", "certified delta"]),
        (lambda report: report["asked"].update(delta=1e-8), ["epsilon spent", "certified delta"]),
        (lambda report: report.update(seeded=True), ["fields of the report", "private as configured"]),
        (lambda report: report.update(bounds_origin="data"), ["fields of the report", "private as configured"]),
        (lambda report: report.update(seeded=True, private=False), ["private as configured"]),
        (lambda report: report.update(private=False), ["fields of the report"]),
        (lambda report: report.update(approved_by="nobody"), ["fields of the report"]),
        (lambda report: report.update(method="<h1>approved</h1>"), ["fields of the report"]),
        (lambda report: report.update(method="adassp"), ["fields of the report"]),
        (lambda report: report.update(staged=True), ["fields of the report"]),
        (lambda report: report.update(title="Perfectly private"), ["fields of the report"]),
        (lambda report: report.update(reference="Nobody (2030)"), ["fields of the report"]),
        (lambda report: report.update(rows_per_unit=5), ["rows protected together"]),
    ],
)
def test_changes_are_found(report, change, found):
    changed = json.loads(json.dumps(report))
    assert problems(verify_report(changed)) == []
    change(changed)
    assert set(found) <= set(problems(verify_report(changed)))


@pytest.fixture(scope="module", params=["weights", "units", "neither", "adassp"])
def with_hidden_rows(request):
    """The report of a fit that tells the number of rows with noise."""
    more, data = {
        "weights": ({"max_weight": 2.0}, {"sample_weight": np.resize([0.5, 1.0, 2.0], 3000)}),
        "units": ({"max_rows_per_unit": 3}, {"groups": np.arange(3000) // 3}),
    }.get(request.param, ({}, {}))
    rows = np.random.default_rng(0).uniform(-1, 1, size=(3000, 2))
    model = PrivateLinearRegression(
        1.0,
        1e-6,
        Bounds(features=[(-1, 1)] * 2, target=(-1, 1)),
        method="adassp" if request.param == "adassp" else "whitened",
        neighbours="add-remove",
        **more,
    )
    return json.loads(model.fit(rows, rows @ [0.3, 0.2], **data).privacy_report_.to_json())


def of_the_row_count(report, **change):
    (finding,) = (finding for finding in verify_report(report | change) if finding.what == "number of rows")
    return finding.holds, finding.detail


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n_rows_noise": None}, "stated with noise or not at all"),
        ({"n_rows": None}, "stated with noise or not at all"),
        ({"n_rows_noise": 0.0}, "stated with noise or not at all"),
        ({"relation": "zero-out"}, "by which it is public and has no noise"),
        ({"relation": "zero-out", "n_rows_noise": None}, "does not list the number of rows"),
    ],
)
def test_a_hidden_number_of_rows_is_stated_with_noise(with_hidden_rows, change, why):
    assert problems(verify_report(with_hidden_rows)) == []
    holds, detail = of_the_row_count(with_hidden_rows, **change)
    assert not holds
    assert why in detail


def test_a_hidden_number_of_rows_is_not_assumed_public(with_hidden_rows):
    listed = ["the number of rows and the column names", *with_hidden_rows["assumed_public"][1:]]
    holds, detail = of_the_row_count(with_hidden_rows, assumed_public=listed)
    assert not holds
    assert "lists the number of rows, which is not public with relation='add-remove'" in detail


@pytest.mark.parametrize("with_hidden_rows", ["weights", "units", "neither"], indirect=True)
def test_the_noise_of_a_number_of_rows_follows_from_its_release(with_hidden_rows):
    noise, listed = with_hidden_rows["n_rows_noise"], with_hidden_rows["assumed_public"]
    for change in ({"n_rows_noise": 0.99 * noise}, {"n_rows_noise": 1e-9}, {"n_rows": None, "n_rows_noise": None}):
        holds, detail = of_the_row_count(with_hidden_rows, **change)
        assert not holds
        assert f"{noise:.6g} follows from the release" in detail
    if len(listed) > 2:
        assert not of_the_row_count(with_hidden_rows, assumed_public=listed[:2])[0]


@pytest.mark.parametrize(
    ("bad_rows", "change"),
    [
        ("zero", {"rows_used_noise": None}),
        ("zero", {"rows_used": None}),
        ("zero", {"rows_used": 10**9}),
        ("zero", {"rows_used_noise": 0.1}),
        ("zero", {"bad_rows": "raise"}),
        ("raise", {"rows_used": 1}),
        ("raise", {"rows_used": None}),
    ],
)
def test_a_number_of_rows_in_use_follows_from_its_release(bad_rows, change):
    rows = np.random.default_rng(0).uniform(-1, 1, (1_000, 2))
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, bad_rows=bad_rows).fit(rows, rows @ [0.3, 0.2])
    report = json.loads(model.privacy_report_.to_json())
    assert of_the_row_count(report)[0]
    assert not of_the_row_count(report, **change)[0]


@pytest.mark.parametrize("with_hidden_rows", ["neither"], indirect=True)
def test_rows_in_use_are_those_of_a_hidden_number_of_rows(with_hidden_rows):
    assert not of_the_row_count(with_hidden_rows, rows_used=with_hidden_rows["n_rows"] + 1)[0]


def test_a_public_number_of_rows_cannot_be_said_to_be_hidden(report):
    assert not of_the_row_count(report, relation="add-remove")[0]
    assert not of_the_row_count(report, n_rows_noise=3.0)[0]
    other = of_the_row_count(report, n_rows_noise=3.0, versions=[["dpols", "7.0.0"]])
    assert not other[0]
    assert "cannot be checked" in other[1]


@pytest.mark.parametrize("name", ["accounting", "arithmetic", "relation", "bounds_origin"])
def test_words_that_no_fit_writes_are_refused(report, name):
    with pytest.raises(ModelFileError, match="'approved' is not"):
        verify_report(report | {name: "approved"})
    other = report | {name: "approved", "versions": [["dpols", "7.0.0"]]}
    assert {finding.about for finding in verify_report(other) if not finding.holds} == {"unchecked"}


def test_a_method_of_another_version_cannot_be_checked(report):
    other = report | {"method": "later", "versions": [["dpols", "7.0.0"]]}
    assert {finding.about for finding in verify_report(other) if not finding.holds} == {"unchecked"}


def test_the_number_of_coefficients_is_that_of_those_listed(report):
    assert problems(verify_report(report)) == []
    assert problems(verify_report(report | {"n_features": 3})) == ["fields of the report"]


def test_coefficients_of_a_model_are_those_of_its_report(tmp_path):
    path = tmp_path / "model.json"
    fitted().save(path)
    content = json.loads(path.read_text())["content"]
    content["coef"][0] += 1e-9
    write_model(path, content)
    assert problems(verify_file(path)) == ["coefficients"]


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(feature_names=["weight", "age"]),
        lambda content: content.update(feature_names=None),
        lambda content: content.update(target_range=[0.0, 2.0]),
        lambda content: content["report"].update(bounds=[["target", "[0, 2]"]], n_features=3),
    ],
    ids=["swapped", "without names", "another range", "another range in the report"],
)
def test_columns_of_a_model_are_those_of_its_report(change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    table = pd.DataFrame({"age": np.linspace(0, 1, 3000), "weight": np.linspace(1, 0, 3000)})
    bounds = Bounds(features={"age": (0, 1), "weight": (0, 1)}, target=(0, 1))
    PrivateLinearRegression(1.0, 1e-6, bounds).fit(table, table["age"]).save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    change(content)
    write_model(path, content)
    assert problems(verify_file(path)) == ["columns and ranges"]


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [
        lambda given: given["columns"]["age"].update(high=2.0),
        lambda given: given["columns"]["town"].update(categories=["south", "north"]),
        lambda given: given["columns"]["town"].update(categories=["north", "west"]),
        lambda given: given.update(target=[0.0, 2.0]),
        lambda given: given.update(columns=dict(reversed(given["columns"].items()))),
    ],
    ids=[
        "a wider range",
        "categories in another order",
        "another category",
        "another range of the target",
        "columns in another order",
    ],
)
def test_a_feature_map_of_a_model_is_that_of_its_report(change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    table = pd.DataFrame({"age": np.linspace(0, 1, 3000), "town": ["north", "south"] * 1500})
    columns = {"age": NumericColumn(0, 1), "town": CategoricalColumn(["north", "south"])}
    feature_map = FeatureMap(columns, target=(0, 1))
    PrivateLinearRegression(1.0, 1e-6, feature_map=feature_map).fit(table, table["age"]).save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    change(content["feature_map"])
    content["feature_names"] = content["feature_names"] and list(content["feature_map"]["columns"])
    write_model(path, content)
    assert problems(verify_file(path)) == ["columns and ranges"]


def test_where_the_ranges_of_a_model_come_from_is_what_its_report_says(tmp_path):
    path, age = tmp_path / "model.json", np.linspace(0, 1, 3000)
    declared = FeatureMap({"age": NumericColumn(0, 1)}, target=(0, 1))
    PrivateLinearRegression(1.0, 1e-6, feature_map=declared).fit(age[:, None], age).save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    content["feature_map"]["origin"] = "reference"
    write_model(path, content)
    assert problems(verify_file(path)) == ["origin of the bounds"]


_SINCE = 1_700_000_000.0  # of times, whose ranges are narrow against their distance from zero


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["feature_map"]["columns"]["at"].update(high=_SINCE + 600),
        lambda content: content["feature_map"]["columns"]["at"].update(missing=_SINCE),
        lambda content: content["feature_map"]["terms"][1][0].update(origin=_SINCE + 400),
        lambda content: content["feature_map"]["terms"][2][0]["transform"][0].__setitem__(1, [_SINCE + 250]),
        lambda content: content["feature_map"].update(target=[_SINCE, _SINCE + 900]),
        lambda content: content.update(target_range=[_SINCE, _SINCE + 900]),
    ],
    ids=["range", "empty cells", "origin", "knot", "target", "range of predictions"],
)
def test_numbers_far_from_zero_are_those_of_the_report(change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    table = pd.DataFrame({"at": np.linspace(_SINCE, _SINCE + 1_000, 3000)})
    terms = ["at", Factor("at", 2, origin=_SINCE + 500), Factor("at", transform=transforms.Spline([_SINCE + 200]))]
    columns = {"at": NumericColumn(_SINCE, _SINCE + 1_000, missing=_SINCE + 500)}
    feature_map = FeatureMap(columns, terms, target=(_SINCE, _SINCE + 1_000))
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=feature_map).fit(table, table["at"])
    assert dict(model.privacy_report_.bounds)["at"].startswith("[1.7e+09, 1700001000]; empty cells count as 1700000500")
    model.save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    change(content)
    write_model(path, content)
    assert problems(verify_file(path)) == ["columns and ranges"]


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.update(reference_levels=[["town", "south or undeclared"]]),
        lambda report: report.update(reference_levels=[]),
        lambda report: report.update(n_features=4),
        lambda report: report["coefficients"][2].update(name="town[south]"),
    ],
    ids=["another reference", "no reference", "another number of features", "a slope for the intercept"],
)
def test_what_a_report_says_of_columns_follows_from_the_feature_map_of_its_model(change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    table = pd.DataFrame({"age": np.linspace(0, 1, 3000), "town": ["north", "south"] * 1500})
    columns = {"age": NumericColumn(0, 1), "town": CategoricalColumn(["north", "south"])}
    PrivateLinearRegression(1.0, 1e-6, feature_map=FeatureMap(columns, target=(0, 1))).fit(table, table["age"]).save(
        path
    )
    content = json.loads(path.read_text())["content"]
    assert problems(verify_file(path)) == []
    change(content["report"])
    write_model(path, content)
    count = ["fields of the report"] if content["report"]["n_features"] != 3 else []
    assert problems(verify_file(path)) == ["columns and ranges", *count]


OUTER = {"age": (0, 100), "pay": (0, 100)}


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore:CAUTION", "ignore:the fit is NOT PRIVATE")
@pytest.mark.parametrize("formula", ["pay ~ age", "pay ~ age * C(late, levels=['yes', 'no'])", "log1p(pay) ~ age"])
@pytest.mark.parametrize(
    "bounds",
    [PaidBounds(), PaidBounds(features=OUTER), PaidBounds(features=OUTER, largest=ReadFromData(1e9))],
    ids=["no limits", "outer limits", "limits of the data"],
)
def test_a_model_whose_ranges_were_found_is_right_as_it_was_written(formula, bounds, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    if formula.startswith("log1p"):
        bounds = replace(bounds, target=(0, 100))
    age = np.linspace(0, 1, 3000)
    table = pd.DataFrame({"age": age, "pay": np.exp(age), "late": np.where(age > 0.5, "yes", "no")})
    ols(formula, table, epsilon=3.0, delta=1e-6, bounds=bounds).save(path)
    voids = ["private as configured"] if bounds.origin == "data" else []
    assert problems(verify_file(path)) == voids
    content = json.loads(path.read_text())["content"]
    content["feature_map"]["columns"]["age"]["high"] = 99.0
    write_model(path, content)
    assert problems(verify_file(path)) == ["columns and ranges", *voids]
    if formula.startswith("log1p"):  # predictions are cut to the range of the target
        ols(formula, table, epsilon=3.0, delta=1e-6, bounds=bounds).save(path)
        content = json.loads(path.read_text())["content"]
        content["feature_map"]["target"] = [2.0, 3.0]
        write_model(path, content)
        assert problems(verify_file(path)) == ["columns and ranges", *voids]


def with_a_function(table):
    bounds = Bounds(features={"age": (0, 1)}, target=(0.5, 4))
    return ols("log(pay) ~ age", table, epsilon=1.0, delta=1e-6, bounds=bounds)


def of_labels(table):
    bounds = Bounds(features={"age": (0, 1)})
    return logit("late ~ age", table, epsilon=1.0, delta=1e-6, bounds=bounds, classes=("no", "yes"))


def of_numbers(table):
    bounds, table = Bounds(features={"age": (0, 1)}), table.assign(late=(table["late"] == "yes").astype(int))
    return logit("late ~ age", table, epsilon=1.0, delta=1e-6, bounds=bounds)


def of_counts(table):
    bounds = Bounds(features={"age": (0, 1)}, target=(0, 5))
    return poisson(
        "late ~ age",
        table.assign(late=table["pay"].round()),
        epsilon=1.0,
        delta=1e-6,
        bounds=bounds,
        exposure="pay",
        exposure_range=(1, 3),
    )


def without_a_function(table):
    bounds = Bounds(features={"age": (0, 1)}, target=(0.5, 4))
    return ols("pay ~ age", table, epsilon=1.0, delta=1e-6, bounds=bounds)


@pytest.mark.extras
def test_a_model_of_one_label_is_refused(tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    age = np.linspace(0, 1, 3000)
    of_labels(pd.DataFrame({"age": age, "late": np.where(age > 0.5, "yes", "no")})).save(path)
    content = json.loads(path.read_text())["content"]
    write_model(path, content | {"classes": ["no"]})
    with pytest.raises(ModelFileError, match="lacks a part of what it predicts"):
        verify_file(path)


@pytest.mark.extras
@pytest.mark.parametrize(
    ("fit", "change"),
    [
        (without_a_function, lambda content: content["feature_map"].update(target_name="income")),
        (of_counts, lambda content: content["feature_map"].update(target_name="early")),
        (of_labels, lambda content: content["feature_map"].update(target_name="early")),
        (of_counts, lambda content: content.update(exposure_range=[1.0, 4.0])),
        (of_counts, lambda content: content.update(exposure_range=None)),
        (with_a_function, lambda content: content["feature_map"].update(target_transform=[])),
        (with_a_function, lambda content: content["feature_map"].update(target_name="income")),
        (with_a_function, lambda content: content.update(family="poisson")),
        (of_labels, lambda content: content.update(classes=["yes", "no"])),
        (of_labels, lambda content: content.update(family="poisson")),
        (of_numbers, lambda content: content.update(classes=["0", "1"])),
    ],
    ids=[
        "another target without a function",
        "another count",
        "another outcome",
        "exposure",
        "no exposure",
        "without its function",
        "another target",
        "another family",
        "swapped labels",
        "counts for labels",
        "texts for numbers",
    ],
)
def test_what_a_model_predicts_is_what_its_report_says(fit, change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    age = np.linspace(0, 1, 3000)
    fit(pd.DataFrame({"age": age, "pay": np.exp(age), "late": np.where(age > 0.5, "yes", "no")})).save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    change(content)
    write_model(path, content)
    assert problems(verify_file(path)) == ["what is predicted"]


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(feature_names=["weight"]),
        lambda content: content["feature_map"].update(formula="log(pay) ~ weight"),
    ],
    ids=["names of raw columns", "formula"],
)
def test_the_formula_of_a_model_is_that_of_its_report(change, tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "model.json"
    age = np.linspace(0, 1, 3000)
    with_a_function(pd.DataFrame({"age": age, "pay": np.exp(age)})).save(path)
    content = json.loads(path.read_text())["content"]
    change(content)
    write_model(path, content)
    assert problems(verify_file(path)) == ["columns and ranges"]


def test_intervals_of_a_model_are_those_of_its_report(tmp_path):
    path = tmp_path / "model.json"
    rows = np.random.default_rng(0).uniform(-1, 1, size=(50_000, 3))
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    # Most of the target's variance is unexplained, so that noise never hides it and there always are intervals.
    target = rows @ [0.3, 0.2, 0.4]
    PrivateLinearRegression(10.0, 1e-6, bounds, inference=True).fit(rows[:, :2], target).save(path)
    assert problems(verify_file(path)) == []
    content = json.loads(path.read_text())["content"]
    assert content["report"]["estimates"]
    for change in (
        lambda content: content["report"]["estimates"][0].update(stderr=1e-9),
        lambda content: content["report"]["estimates"][0].update(lower=None),
        lambda content: content["report"]["estimates"].pop(),
        lambda content: content.update(inference=None),
        lambda content: content["inference"].update(estimate=[9.0, 9.0, 9.0]),
    ):
        changed = json.loads(json.dumps(content))
        change(changed)
        write_model(path, changed)
        assert problems(verify_file(path)) == ["intervals"]
    for place in _numbers_in(content["inference"]):  # also those that only R^2, tests and predictions are computed from
        changed = json.loads(json.dumps(content))
        _change(changed["inference"], place)
        write_model(path, changed)
        assert problems(verify_file(path)) == ["intervals"], place


def _numbers_in(data, *place):
    """Yield the places of all numbers in plain data."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from _numbers_in(value, *place, key)
        elif isinstance(value, float):
            yield (*place, key)


def _change(data, place):
    *outer, last = place
    for key in outer:
        data = data[key]
    data[last] = np.nextafter(data[last], 1e300)


def test_a_model_whose_ranges_are_of_the_data_cannot_have_a_report_that_says_otherwise(tmp_path):
    path = tmp_path / "model.json"
    read = Bounds.from_data([[-1.0], [1.0]], unsafe_from_data=True)
    feature_map = FeatureMap({"x": NumericColumn(*read.features[0])}, target=(-1, 1))
    rows = np.linspace(-1, 1, 3000)[:, None]
    PrivateLinearRegression(1.0, 1e-6, feature_map=feature_map).fit(rows, rows[:, 0] / 2).save(path)
    assert problems(verify_file(path)) == ["private as configured"]
    content = json.loads(path.read_text())["content"]
    content["report"].update(bounds_origin="declared", private=True)
    write_model(path, content)
    assert problems(verify_file(path)) == ["origin of the bounds"]


def test_a_model_file_that_was_changed_differs_by_its_checksum(tmp_path):
    path = tmp_path / "model.json"
    fitted().save(path)
    path.write_text(re.sub('"(n_rows|rows_used)": 3000', r'"\1": 3001', path.read_text()))
    assert problems(verify_file(path)) == ["checksum of the file"]
    document = json.loads(path.read_text())
    document["content"]["intercept"] += 1.0
    path.write_text(json.dumps(document))
    assert problems(verify_file(path)) == ["checksum of the file", "coefficients"]


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.json"
    for content in ("{}", "[]", "no json", '{"format": "dpols-model"}'):
        path.write_text(content)
        with pytest.raises(ModelFileError):
            verify_file(path)
    with pytest.raises(ModelFileError, match="cannot read"):
        verify_file(tmp_path / "none")


def test_a_report_in_markdown_is_refused_with_what_can_be_verified(tmp_path):
    path = tmp_path / "report.md"
    path.write_text(fitted("adassp").privacy_report_.to_markdown())
    with pytest.raises(ModelFileError, match=r"an HTML page \(.html\) or as JSON \(.json\), and a model file"):
        verify_file(path)


@pytest.mark.parametrize("method", ["ihm", "ihm-adaptive"])
def test_a_report_must_be_charged_to_the_ledger_that_is_named(method, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-5, black_boxes=(1.0, 2e-6))
    report = json.loads(fitted(method, ledger=ledger).privacy_report_.to_json())
    assert problems(verify_report(report, ledger=ledger)) == []
    other = BudgetLedger(tmp_path / "other", epsilon=3.0, delta=1e-5)
    assert problems(verify_report(report, ledger=other)) == ["charged to the ledger"]


def of_the_ledger(report, ledger):
    (finding,) = (finding for finding in verify_report(report, ledger=ledger) if "ledger" in finding.what)
    return finding.holds, finding.detail


@pytest.mark.parametrize("method", ["whitened", "ihm-adaptive"])
def test_the_charge_of_one_fit_does_not_pay_for_an_equal_one(method, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=9.0, delta=1e-5, black_boxes=(2.0, 4e-6))
    charged = [fitted(method, ledger=ledger) for _ in range(2)]
    reports = [model.privacy_report_.to_dict() for model in charged]
    assert [report["ledger_entry"] for report in reports] == [entry.identity for entry in ledger.entries()]
    assert [of_the_ledger(report, ledger)[0] for report in reports] == [True, True]
    uncharged = fitted(method).privacy_report_.to_dict()
    assert uncharged["ledger_entry"] is None
    holds, detail = of_the_ledger(uncharged, ledger)
    assert not holds
    assert "names no entry" in detail
    assert "row 2, 4 has equal releases, which may be those of other fits" in detail


def test_an_equal_entry_of_another_ledger_is_not_that_of_the_report(tmp_path):
    ledgers = [BudgetLedger(tmp_path / name, epsilon=3.0, delta=1e-5) for name in ("one", "two")]
    reports = [fitted(ledger=ledger).privacy_report_.to_dict() for ledger in ledgers]
    for report, own, other in ((reports[0], *ledgers), (reports[1], *reversed(ledgers))):
        assert of_the_ledger(report, own)[0]
        holds, detail = of_the_ledger(report, other)
        assert not holds
        assert f"has no entry {report['ledger_entry']}" in detail


def test_the_entry_that_a_report_names_must_count_and_have_its_releases(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-5)
    model = fitted()
    what = "ihm fit at (epsilon=1, delta=1e-06), zero-out"
    entry = ledger.reserve([model.privacy_report_.releases], what=what)
    other = ledger.add(model.privacy_report_.releases[0], what="a part of it")
    report = model.privacy_report_.to_dict() | {"ledger_entry": entry.identity}
    assert of_the_ledger(report, ledger) == (False, "row 2 has no hash of a report")
    ledger.settle(entry, report=digest_of(report))
    assert of_the_ledger(report, ledger) == (True, "row 2, which has the hash of this report")
    void = ledger.reserve([model.privacy_report_.releases], what=what)
    ledger.void(void, why="it is said that nothing was released")
    report["ledger_entry"] = void.identity
    assert of_the_ledger(report, ledger) == (False, "row 5, which the report names, is void")
    report["ledger_entry"] = other.identity
    assert of_the_ledger(report, ledger) == (False, "row 3, which the report names, has other releases")


def test_a_report_that_names_no_entry_was_not_charged(tmp_path, report):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-5)
    assert of_the_ledger(report | {"ledger_entry": None}, ledger) == (
        False,
        "the report names no entry, so nothing shows that this fit was charged",
    )


@pytest.mark.parametrize("entry", ["", "2", f"2:{'g' * 64}", f"2:{'a' * 64}\n", 2, [], True])
def test_what_is_no_name_of_an_entry_is_refused(report, entry):
    with pytest.raises(ModelFileError):
        verify_report(report | {"ledger_entry": entry})


NOT_PRIVATE = {
    "seed": ({"random_state": 0}, "seed"),
    "bounds": ({"unsafe": True}, "read from the data"),
    "both": ({"random_state": 0, "unsafe": True}, "Also"),
}


def not_private(random_state=None, unsafe=False):
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    y = X @ [0.3, 0.2]
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    if unsafe:
        bounds = Bounds.from_data(X, target=y, unsafe_from_data=True)
    return PrivateLinearRegression(1.0, 1e-6, bounds, random_state=random_state).fit(X, y)


@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
@pytest.mark.parametrize("case", NOT_PRIVATE)
def test_accounting_that_holds_of_a_fit_that_is_not_private(case, tmp_path):
    parameters, word = NOT_PRIVATE[case]
    model = not_private(**parameters)
    model.save(tmp_path / "model.json")
    (tmp_path / "report.html").write_text(model.privacy_report_.to_html())
    for name in ("model.json", "report.html"):
        findings = verify_file(tmp_path / name)
        (finding,) = (finding for finding in findings if not finding.holds)
        assert (finding.what, finding.about) == ("private as configured", "privacy")
        assert finding.detail == model.privacy_report_.alarm
        assert word in finding.detail


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
@pytest.mark.parametrize("case", NOT_PRIVATE)
def test_the_command_does_not_say_ok_of_a_fit_that_is_not_private(case, dpols):
    pytest.importorskip("typer")
    not_private(**NOT_PRIVATE[case][0]).save("model.json")
    done = dpols("verify", "model.json")
    assert done.code == 3
    last = done.out.splitlines()[-1]
    assert last.startswith("NOT PRIVATE: the accounting checks out")
    assert "OK" not in done.out
    answer = json.loads(dpols("verify", "model.json", "--json").out)
    assert (answer["ok"], answer["accounting_holds"], answer["private"]) == (False, True, False)
    report = json.loads(Path("model.json").read_text())["content"]["report"]
    report["spent_epsilon"] = 0.1
    Path("report.json").write_text(json.dumps(report))
    worse = dpols("verify", "report.json")
    assert worse.code == 1
    assert worse.out.splitlines()[-1].startswith("NOT OK")
    assert "not private as configured, either" in worse.out


@pytest.mark.extras
def test_what_another_version_wrote_is_neither_right_nor_wrong(dpols, report):
    pytest.importorskip("typer")
    other = {**report, "versions": [["dpols", "7.0.0"]], "title": "A title of later days"}
    Path("report.json").write_text(json.dumps(other))
    done = dpols("verify", "report.json")
    assert done.code == 4
    assert done.out.splitlines()[-1].startswith(
        "CANNOT BE CHECKED: by its own word another version of dpols wrote this"
    )
    answer = json.loads(dpols("verify", "report.json", "--json").out)
    assert (answer["ok"], answer["accounting_holds"], answer["private"]) == (False, True, True)
    assert answer["all_checked"] is False
    # What can be checked in any version still is.
    Path("report.json").write_text(json.dumps({**other, "spent_epsilon": 0.1}))
    assert dpols("verify", "report.json").code == 1
    Path("report.json").write_text(json.dumps({**other, "later_field": [], "private": False}))
    assert dpols("verify", "report.json").code == 3


@pytest.mark.extras
def test_the_command_says_ok_or_what_differs(dpols):
    pytest.importorskip("typer")
    fitted().save("model.json")
    assert dpols("verify", "model.json").out.splitlines()[-1].startswith("OK")
    assert "what a unit is" in " ".join(dpols("verify", "model.json").out.split())
    good = dpols("verify", "model.json", "--json")
    assert (good.code, json.loads(good.out)["ok"]) == (0, True)
    report = json.loads(Path("model.json").read_text())["content"]["report"]
    report["spent_epsilon"] = 0.1
    Path("report.json").write_text(json.dumps(report))
    bad = dpols("verify", "report.json")
    assert bad.code == 1
    assert "DIFFERS" in bad.out
    findings = json.loads(dpols("verify", "report.json", "--json").out)["findings"]
    assert [finding["what"] for finding in findings if not finding["holds"]] == ["epsilon spent"]
    Path("changed.json").write_text(Path("model.json").read_text().replace('"n_rows": 3000', '"n_rows": 3001'))
    changed = dpols("verify", "changed.json")
    assert changed.code == 1
    assert "does not match" in " ".join(changed.out.split())
    shutil.copy("model.json", "damaged.json")
    Path("damaged.json").write_text(Path("damaged.json").read_text()[:-40])
    assert dpols("verify", "damaged.json").code == 2


@pytest.mark.parametrize("field", ["n_rows", "target_range", "estimate"])
def test_a_whole_number_beyond_doubles_is_refused(field, tmp_path):
    text = fitted("whitened", inference=True).to_json()
    path = tmp_path / "model.json"
    changed = re.sub(rf'("{field}": (\[\s*)?)[-0-9.e]+', rf"\g<1>{'9' * 400}", text)
    assert changed != text
    path.write_text(changed)
    with pytest.raises(ModelFileError):
        verify_file(path)
