"""``dpols fit --family``: yes/no targets by text levels and counts, and predictions of the models."""

import csv as csv_format

import numpy as np
import pytest

from dpols import PrivateLogisticRegression, PrivatePoissonRegressor

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

BOUNDS = """
[features.age]
low = 18
high = 90

[features.city]
categories = ["town", "village"]
"""
BUDGET = ("--epsilon", "4", "--delta", "1e-6", "--random-state", "1")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(5)
    age, city = rng.integers(18, 91, 3000), rng.choice(["town", "village"], 3000)
    eta = 0.08 * (age - 54) + (city == "village")
    sick = np.where(rng.random(3000) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    visits = np.minimum(rng.poisson(np.exp(0.3 * eta)), 20)
    lines = [f"{a},{c},{s},{v}" for a, c, s, v in zip(age, city, sick, visits, strict=True)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(("age,city,sick,visits", *lines)) + "\n")
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    (tmp_path / "counts.toml").write_text(BOUNDS + "\n[target]\nlow = 0\nhigh = 20\n")
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv_format.DictReader(file))


@pytest.mark.parametrize("by", [("--target", "sick"), ("--formula", "sick ~ age + C(city)")])
def test_yes_or_no_by_text_levels(dpols, data, by):
    fit = ("fit", data, *by, "--bounds", "bounds.toml", *BUDGET, "--family", "binomial", "--classes", "no,yes")
    done = dpols(*fit, "--out", "model.json")
    assert done.code == 0, done.err
    assert "yes/no" in done.out
    model = PrivateLogisticRegression.load("model.json")
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.coef_[0], [0.08, 1.0], atol=0.35)
    assert dpols("predict", "model.json", data, "--out", "found.csv").code == 0
    found = rows_of("found.csv")
    assert {row["prediction"] for row in found} == {"no", "yes"}
    assert all((float(row["probability"]) > 0.5) == (row["prediction"] == "yes") for row in found)
    assert dpols("report", "model.json", "--out", "report.html").code == 0
    assert dpols("verify", "report.html").code != 2


@pytest.mark.parametrize("by", [("--target", "sick"), ("--formula", "sick ~ age + C(city)")])
def test_a_yes_or_no_target_needs_no_limits_in_a_template(dpols, data, by):
    assert dpols("bounds-template", data, "--target", "sick", "--categories", "city", "--out", "filled.toml").code == 0
    template = data.with_name("filled.toml")
    _, target, *_ = template.read_text().split("\n[")
    assert "# low =" in target
    template.write_text(f"[{target}{BOUNDS}")
    fit = ("fit", data, "--bounds", template, *BUDGET, "--family", "binomial", "--classes", "no,yes", "--out")
    assert dpols(*fit, "a.json", *by).code == 0
    assert dpols(*fit, "b.json", *by[:1], by[1].replace("sick", "visits")).code == 2  # the file is about another one
    normal = dpols("fit", data, "--bounds", template, *BUDGET, "--target", "sick", "--out", "c.json")
    assert "[target] has no low; fill it in" in normal.err


def test_labels_that_are_not_declared_are_0_and_1(dpols, data):
    numbers = data.with_name("numbers.csv")
    numbers.write_text(data.read_text().replace(",yes,", ",1,").replace(",no,", ",0,"))
    fit = ("--target", "sick", "--bounds", "bounds.toml", *BUDGET, "--family", "binomial")
    assert dpols("fit", numbers, *fit, "--out", "a.json").code == 0
    assert dpols("fit", data, *fit, "--classes", "no,yes", "--out", "b.json").code == 0
    one, two = (PrivateLogisticRegression.load(f"{name}.json") for name in "ab")
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    texts = data.with_name("texts.csv")
    texts.write_text(data.read_text().replace(",yes,", ",Zulu,").replace(",no,", ",Quebec,"))
    done = dpols("fit", texts, *fit, "--out", "c.json")
    assert done.code != 0
    assert "pass --classes no,yes" in " ".join(done.err.split())
    assert "Zulu" not in done.err  # cells are not quoted
    assert "Quebec" not in done.err


def test_units_go_with_labels(dpols, data):
    people = data.with_name("people.csv")
    head, *lines = data.read_text().splitlines()
    people.write_text("\n".join((f"{head},id", *(f"{line},{i // 2}" for i, line in enumerate(lines)))) + "\n")
    fit = ("fit", people, "--target", "sick", "--bounds", "bounds.toml", *BUDGET, "--family", "binomial")
    done = dpols(*fit, "--classes", "no,yes", "--unit", "id", "--max-rows-per-unit", "2", "--out", "model.json")
    assert done.code == 0, done.err


def test_counts(dpols, data):
    fit = ("fit", data, "--target", "visits", "--bounds", "counts.toml", *BUDGET, "--family", "poisson")
    done = dpols(*fit, "--out", "model.json")
    assert done.code == 0, done.err
    model = PrivatePoissonRegressor.load("model.json")
    np.testing.assert_allclose(model.coef_, [0.024, 0.3], atol=0.2)
    assert dpols("predict", "model.json", data, "--out", "found.csv").code == 0
    assert all(0.0 < float(row["prediction"]) <= 20.0 for row in rows_of("found.csv"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--family", "poisson", "--classes", "a,b"), "--classes goes with --family binomial"),
        (("--classes", "a,b"), "--classes goes with --family binomial"),
        (("--family", "binomial", "--classes", "a"), "must be two labels"),
        (("--family", "binomial", "--method", "ihm"), "is for --family gaussian"),
        (("--family", "poisson", "--constraint", "nonnegative"), "--constraint is for --family gaussian; leave it out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(dpols, data, options, words):
    done = dpols("fit", data, "--target", "visits", "--bounds", "counts.toml", *BUDGET, *options, "--out", "m.json")
    assert done.code != 0
    assert words in " ".join(done.err.split())


def test_a_transform_of_a_count_is_refused(dpols, data):
    logged = ("--formula", "log1p(visits) ~ age", "--bounds", "counts.toml", "--family", "poisson")
    done = dpols("fit", data, *logged, *BUDGET, "--out", "m.json")
    assert done.code != 0
    assert "leave the transform out" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("target", "family"), [("visits", ("poisson",)), ("sick", ("binomial", "--classes", "no,yes"))]
)
def test_paid_bounds_within_outer_limits(dpols, data, target, family):
    declared = "counts.toml" if target == "visits" else "bounds.toml"
    asked = ("--target", target, "--bounds", declared, "--paid-bounds", "0.1", "--family", *family)
    done = dpols("fit", data, *asked, *BUDGET, "--out", "m.json")
    assert done.code == 0, done.err
    assert "age, found" in done.out
    assert "counts of values by quantile" in " ".join(done.out.split())


def test_a_model_of_a_count_without_inference_has_no_intervals(dpols, data):
    fit = ("fit", data, "--target", "visits", "--bounds", "counts.toml", *BUDGET, "--family", "poisson")
    assert dpols(*fit, "--out", "m.json").code == 0
    for command, words in {
        ("predict", "m.json", data, "--interval", "mean", "--out", "p.csv"): "fitted with --inference, and",
        ("predict", "m.json", data, "--raw", "--out", "p.csv"): "--raw is for models of --family gaussian; leave it",
        ("predict", "m.json", data, "--interval", "observation", "--out", "p.csv"): "use --interval mean",
    }.items():
        done = dpols(*command)
        assert done.code != 0
        assert words in " ".join(done.err.split())


def test_intervals_of_a_count_on_the_command_line(dpols, data):
    fit = ("fit", data, "--target", "visits", "--bounds", "counts.toml", "--epsilon", "30", "--delta", "1e-6")
    fit = (*fit, "--family", "poisson", "--bad-rows", "zero", "--option", "clip=tail", "--inference")
    done = dpols(*fit, "--out", "m.json")
    assert done.code == 0, done.err
    shown = dpols("summary", "m.json")
    assert shown.code == 0
    assert "Private Poisson regression" in shown.out
    assert "rate ratio" in shown.out or "No intervals" in shown.out


def test_a_public_table_gives_ranges_and_categories_for_a_yes_or_no_target(dpols, data):
    public = data.with_name("public.csv")
    public.write_text("age,city,sick\n18,town,no\n90,village,yes\n")
    asked = ("--target", "sick", "--features", "age,city", "--reference-bounds", public)
    done = dpols("fit", data, *asked, *BUDGET, "--family", "binomial", "--classes", "no,yes", "--out", "m.json")
    assert done.code == 0, done.err
    model = PrivateLogisticRegression.load("m.json")
    assert model.feature_map_.names == ("age", "city[village]")
    np.testing.assert_allclose(model.coef_[0], [0.08, 1.0], atol=0.35)
    assert model.privacy_report_.bounds_origin == "reference"


@pytest.fixture
def exposed(tmp_path):
    rng = np.random.default_rng(6)
    age, years = rng.uniform(18, 90, 4000), rng.uniform(0.1, 2.0, 4000)
    visits = np.minimum(rng.poisson(years * np.exp(0.02 * (age - 54))), 20)
    path = tmp_path / "exposed.csv"
    lines = [f"{a!r},{e!r},{v}" for a, e, v in zip(age.tolist(), years.tolist(), visits.tolist(), strict=True)]
    path.write_text("\n".join(("age,years,visits", *lines)) + "\n")
    declared = "[features.age]\nlow = 18\nhigh = 90\n\n[target]\nlow = 0\nhigh = 20\n"
    (tmp_path / "plain.toml").write_text(declared)
    (tmp_path / "exposed.toml").write_text(declared + '\n[exposure]\nname = "years"\nlow = 0.1\nhigh = 2\n')
    return path


def test_exposure_by_options_or_by_the_bounds_file(dpols, exposed):
    fit = ("fit", exposed, "--target", "visits", "--family", "poisson", *BUDGET)
    by_options = ("--bounds", "plain.toml", "--exposure", "years", "--exposure-range", "0.1:2")
    for more, out in ((by_options, "model.json"), (("--bounds", "exposed.toml"), "other.json")):
        done = dpols(*fit, *more, "--out", out)
        assert done.code == 0, done.err
        assert "exposure" in done.out
    model, other = (PrivatePoissonRegressor.load(name) for name in ("model.json", "other.json"))
    assert model.exposure_range == other.exposure_range == (0.1, 2.0)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_allclose(model.coef_, [0.02], atol=0.005)
    for more, name in (((), "rates.csv"), (("--exposure", "years"), "counts.csv")):
        assert dpols("predict", "model.json", exposed, *more, "--out", name).code == 0
    rates, counts = (
        np.array([float(row["prediction"]) for row in rows_of(name)]) for name in ("rates.csv", "counts.csv")
    )
    years = np.array([float(row["years"]) for row in rows_of(exposed)])
    np.testing.assert_allclose(counts, rates * years)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--exposure", "years"), "--exposure-range LOW:HIGH is missing"),
        (("--exposure-range", "0.1:2"), "goes with --exposure"),
        (("--exposure", "years", "--exposure-range", "two"), "must be LOW:HIGH"),
        (("--exposure", "days", "--exposure-range", "1:2"), "not a column"),
        (("--exposure", "years", "--exposure-range", "0:2"), "above 0"),
        (
            ("--exposure", "years", "--exposure-range", "0.1:2", "--weight", "age", "--max-weight", "2"),
            "also a feature",
        ),
        (("--exposure", "years", "--exposure-range", "0.1:2", "--family", "gaussian"), "--family poisson"),
    ],
)
def test_exposure_that_contradicts_itself_is_refused(dpols, exposed, more, words):
    fit = ("fit", exposed, "--target", "visits", "--bounds", "plain.toml", *BUDGET, "--out", "model.json")
    done = dpols(*fit, *(() if "--family" in more else ("--family", "poisson")), *more)
    assert done.code == 2
    assert words in done.err
