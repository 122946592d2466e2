"""``dpols fit`` with weights: by options, by the bounds file, and what is refused."""

import numpy as np
import pytest

from dpols import PrivateLinearRegression

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

TOML = '[target]\nname = "pay"\nlow = -20\nhigh = 40\n[features.age]\nlow = 18\nhigh = 90\n'
WEIGHT = '[weight]\nname = "w"\nhigh = 4\n'


@pytest.fixture
def fit(dpols, tmp_path, monkeypatch):
    """Run a fit on a table with a column of weights, on which the slope depends; return what was done and the slope."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, weight = rng.uniform(18, 90, 3000), rng.choice([0.0, 1.0, 4.0], 3000)
    pay = 0.1 * age * weight + rng.normal(0, 1, 3000)
    rows = "\n".join(f"{a},{p},{w}" for a, p, w in zip(age, pay, weight, strict=True))
    (tmp_path / "survey.csv").write_text(f"age,pay,w\n{rows}\n")

    def run(*arguments, toml=TOML, data="survey.csv"):
        (tmp_path / "bounds.toml").write_text(toml)
        budget = ("--epsilon", "200", "--delta", "1e-6", "--random-state", "1", "--out", "model.json")
        done = dpols("fit", data, "--target", "pay", "--bounds", "bounds.toml", *budget, *arguments)
        return done, PrivateLinearRegression.load("model.json").coef_[0] if done.code == 0 else None

    return run


def test_options_and_the_bounds_file_declare_the_same_weights(fit):
    plain, weighted = fit()[1], fit("--weight", "w", "--max-weight", "4")[1]
    assert plain == pytest.approx(0.1 * 5 / 3, abs=0.02)
    assert weighted == pytest.approx(0.1 * 17 / 5, abs=0.02)
    done, declared = fit(toml=TOML + WEIGHT)
    assert declared == weighted
    assert "raking" in " ".join(done.out.split())
    assert fit("--weight", "w", "--max-weight", "4", toml=TOML + WEIGHT)[1] == weighted


def test_formulas_and_paid_bounds_take_weights(fit):
    assert fit("--formula", "pay ~ age", toml=TOML + WEIGHT)[1] == pytest.approx(0.34, abs=0.02)
    assert fit("--paid-bounds", "0.1", toml=TOML + WEIGHT)[1] == pytest.approx(0.34, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "toml", "words"),
    [
        (("--weight", "w"), TOML, "--max-weight is missing"),
        (("--max-weight", "4"), TOML, "--max-weight goes with --weight"),
        (("--weight", "v", "--max-weight", "4"), TOML, "--weight 'v' is not a column"),
        (("--weight", "age", "--max-weight", "4"), TOML, "--weight 'age' is also a feature"),
        (("--weight", "w", "--max-weight", "-4"), TOML, "max_weight=-4.0 must be positive"),
        (("--max-weight", "5"), TOML + WEIGHT, "--max-weight 5.0 contradicts 4.0 of [weight]"),
        ((), TOML + '[weight]\nname = "w"\n', "[weight] has no high"),
        ((), TOML + "[weight]\nhigh = 4\n", "[weight] has no name"),
        ((), TOML + '[weight]\nname = "w"\nhigh = 0\n', "must be above 0"),
        ((), TOML + '[weight]\nname = "w"\nhigh = 4\nlow = 1\n', "[weight] has 'low'"),
    ],
)
def test_what_contradicts_itself_is_refused_in_one_line(fit, arguments, toml, words):
    done, _ = fit(*arguments, toml=toml)
    assert done.code == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
