"""``dpols guarantee``: the calculators on the command line."""

import json
import math

import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras

# log(1/delta) = 16 and log(1/failure) = 25, as in the tests of the calculators.
SETTING = ("--no-intercept", "--failure-probability", repr(math.exp(-25.0)), "--theta-norm", 2)


@pytest.fixture
def guarantee(dpols):
    def run(*arguments):
        return dpols(
            "guarantee", "--rows", 1000, "--features", 9, "--epsilon", 2, "--delta", repr(math.exp(-16.0)), *arguments
        )

    return run


def test_the_numbers_are_those_of_the_calculators(guarantee):
    done = guarantee(
        *SETTING, "--lambda-min", 100, "--lambda-max", 106, "--lambda-min-joint", 15, "--loss", 200, "--json"
    )
    found = json.loads(done.out)
    assert found["guarantees"]["ihm"]["bound"] == pytest.approx(5.0)
    assert found["guarantees"]["adassp"]["bound"] == pytest.approx(45.0)
    assert found["guarantees"]["linmix"]["bound"] == pytest.approx(225.0)
    assert found["parameters"]["condition_term"] == pytest.approx(9.0)
    assert found["parameters"]["best_iterations"] == pytest.approx(math.log(100.0))
    assert found["parameters"]["suggested_iterations"] == 5
    assert found["parameters"]["sketch_size"] == int(6.0 * (25.0 + math.log(12.0)))
    assert found["closed_form"]["valid"]
    assert done.err == ""


def test_bounds_with_all_constants_are_those_of_the_calculators(guarantee):
    spectrum = ("--lambda-min", 100, "--lambda-max", 106, "--lambda-min-joint", 15, "--loss", 515)
    done = guarantee(*SETTING, *spectrum, "--json")
    found = json.loads(done.out)["explicit"]
    assert found["no_clipping_level"] == 12.0
    assert (found["best_linmix_floor"], found["best_linmix_bound"]) == (pytest.approx(50.0), pytest.approx(360.0))
    assert found["largest_lambda_min_joint"] == 100.0
    assert found["sheffet_sketch_size"] == int(2.5 * (25.0 + math.log(2.0)))
    assert found["sheffet_saturation"] == pytest.approx(515.0 * math.sqrt((25.0 + math.log(2.0)) / 64.0))
    assert (found["constant_a0"], found["constant_a1"]) == (96.0, 1.0)
    assert found["residual_bound"] > 12.0
    assert found["risk_total"] is None  # residuals may be clipped
    assert done.err == ""


def test_the_risk_is_bounded_where_nothing_is_clipped(dpols):
    from dpols.theory import residual_bound_at, risk_bound

    sizes = ("--rows", 10**6, "--features", 9, "--epsilon", 2, "--delta", "1e-6", "--no-intercept")
    more = ("--lambda-min", 1e5, "--lambda-max", 1.06e5, "--sketch-size", 4000, "--failure-probability", 0.01)
    content = json.loads(dpols("guarantee", *sizes, *more, "--json").out)
    found, parameters = content["explicit"], content["parameters"]
    steps = {
        "n_features": 9,
        "n_iterations": 3,
        "distortion": math.sqrt(9.0 / 4000.0),
        "noise": 6.0 * parameters["gradient_multiplier"],
        "failure_probability": 0.01,
        "theta_norm": 1.0,
        "smallest": 1e5,
        "largest": 1.06e5,
    }
    assert parameters["floor"] < 1e5  # nothing is added
    assert found["risk_total"] == pytest.approx(risk_bound(**steps, shift=0.0).total)
    assert found["residual_bound"] == pytest.approx(residual_bound_at(**steps, target_bound=1.0, iteration=2))
    assert found["residual_bound"] < 6.0


def test_bounds_that_do_not_hold_are_not_printed_as_numbers(guarantee):
    done = guarantee(*SETTING, "--sketch-size", 10)  # chi = sqrt(9 / 10)
    assert "does not hold" in done.out
    found = json.loads(guarantee(*SETTING, "--sketch-size", 10, "--json").out)["explicit"]
    assert found["risk_total"] is None
    assert found["residual_bound"] is None


def test_eigenvalues_that_no_data_has_are_warned_about(guarantee):
    done = guarantee(*SETTING, "--lambda-min", 10, "--lambda-min-joint", 11)
    assert done.code == 0
    assert done.err.startswith("warning: no data has lambda_min_joint = 11")
    assert "= 10." in done.err


def test_what_is_not_given_is_taken_at_its_worst_and_said(guarantee):
    found = json.loads(guarantee(*SETTING, "--target-bound", 3, "--json").out)
    assert found["assumed"]["lambda_max"] == 1000.0
    assert found["assumed"]["loss"] == 9000.0
    assert found["guarantees"]["ihm"]["eigenvalue_term"] is None
    assert "lambda_max = 1000" in guarantee(*SETTING).out


def test_the_tables_are_printed(guarantee):
    done = guarantee(*SETTING, "--lambda-min", 100, "--lambda-max", 106)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    for words in (
        "gamma",
        "scale C^2",
        "T* of the theorem",
        "g^X",
        "a large C clips nothing",
        "epsilon that it costs",
        "6 max(C_Y, |theta*|)",
        "gamma* of LinMix",
        "Sheffet's sketch stops",
    ):
        assert words in done.out


def test_a_closed_form_for_few_sketch_rows_is_warned_about(dpols):
    setting = ("--rows", 500, "--features", 2, "--epsilon", 10, "--delta", "1e-6", "--no-intercept")
    done = dpols("guarantee", *setting, "--iterations", 1, "--sketch-size", 4)
    assert done.code == 0
    assert done.err.startswith("warning: the closed form is not valid for so few sketch rows (k T = 4)")
    assert "no, see the warning" in done.out
    few = ("--method", "ihm", "--option", "n_iterations=1", "--option", "sketch_size=4")
    costs = dpols("cost", *setting, *few, "--json")
    assert costs.err.startswith("warning: the closed form is not valid")
    assert not json.loads(costs.out)["closed_form"]["valid"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "-1"], ["epsilon=-1.0"]),
        (["--lambda-min", "7", "--lambda-max", "3"], ["eigenvalues"]),
        (["--failure-probability", "2"], ["failure_probability=2.0"]),
        (["--sketch-size", "3"], ["sketch_size=3"]),
        (["--theta-norm", "-1"], ["--theta-norm"]),
    ],
)
def test_bad_arguments_are_refused(guarantee, arguments, words):
    done = guarantee(*arguments)
    assert (done.code, done.out) == (2, "")
    assert [word for word in words if word not in done.err] == []


def test_cost_compares_all_methods(dpols):
    setting = ("--rows", 5000, "--features", 4, "--epsilon", 1, "--delta", "1e-6")
    found = json.loads(dpols("cost", *setting, "--method", "all", "--json").out)["methods"]
    assert {"ihm", "linmix", "linmix-dynamic", "adassp", "boosted-adassp", "dp-gd", "sheffet"} <= set(found)
    assert all(plans["exact"]["exact_epsilon"] == pytest.approx(1.0, rel=1e-6) for plans in found.values())
    assert all(plans["paper"]["exact_epsilon"] <= 1.0 for plans in found.values() if "paper" in plans)
    printed = dpols("cost", *setting, "--method", "all").out
    assert [method for method in found if method not in printed] == []
    assert dpols("cost", *setting, "--method", "all", "--option", "n_iterations=2").code == 2
