"""An entry for the registry has what the fit knows, and asks for what only the user knows."""

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression
from dpols.errors import ParameterError
from dpols.report.registry import QUESTIONS

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.extras

HOSTILE = 'yes: "no" # {a} \u202e\x85\u2028 \\ \'\n- b: [1]'
ANSWERS = {name: question.choices[0] if question.choices else f"about {name}" for name, question in QUESTIONS.items()}
ANSWERS |= {"publication_date": "2026-11-18", "data_curators": "A, B"}


def fitted(**more):
    x = np.linspace(-1.0, 1.0, 500)[:, None]
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": Bounds(features=[(-1, 1)], target=(-3, 3)), **more}
    return PrivateLinearRegression(**given).fit(x, 2 * x[:, 0]).privacy_report_


def test_an_entry_has_the_answers_and_what_the_fit_knows():
    report = fitted()
    entry = yaml.safe_load(report.to_registry_yaml(ANSWERS))["deployment"]
    assert entry["basic"]["intended_use"] == "about intended_use"
    assert entry["basic"]["data_curators"] == [{"data_curator_name": "A"}, {"data_curator_name": "B"}]
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert entry["privacy_loss"]["privacy_unit"] == "Row"
    assert "zero-out" in entry["privacy_loss"]["privacy_unit_details"]
    assert "exact: the guarantee holds for the program" in entry["implementation"]["mechanisms"]
    assert entry["dp_variant"]["variant_name"] == "Approximate DP"
    assert report.assumed_public[0] in entry["dp_variant"]["unprotected_quantities"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_only_the_user_knows_is_never_made_up(name):
    report = fitted()
    for answers in ({**ANSWERS, name: " "}, {key: value for key, value in ANSWERS.items() if key != name}):
        with pytest.raises(ParameterError, match=f"{name}: no answer is given"):
            report.to_registry_yaml(answers)


@pytest.mark.parametrize(
    ("answers", "match"),
    [
        ({"release_type": "Sometimes"}, "release_type='Sometimes' must be one of"),
        ({"publication_date": "tomorrow"}, "YYYY-MM-DD"),
        ({"epsilon": "0.1"}, "'epsilon' is not asked for"),
    ],
)
def test_other_answers_are_refused(answers, match):
    with pytest.raises(ParameterError, match=match):
        fitted().to_registry_yaml({**ANSWERS, **answers})


def test_a_fit_that_is_not_private_says_so_in_three_places():
    text = fitted(random_state=0).to_registry_yaml(ANSWERS)
    assert text.startswith("# NOT PRIVATE")
    entry = yaml.safe_load(text)["deployment"]
    assert "NOT PRIVATE" in entry["dp_variant"]["variant_name"]
    assert "NOT PRIVATE" in entry["privacy_loss"]["privacy_parameters_details"]


def test_hostile_answers_are_read_back_as_they_are():
    entry = yaml.safe_load(fitted().to_registry_yaml({**ANSWERS, "name": HOSTILE, "justification": HOSTILE}))
    assert entry["deployment"]["basic"]["name"] == HOSTILE
    assert entry["deployment"]["implementation"]["justification"] == HOSTILE


def test_several_fits_on_one_ledger_state_its_total(tmp_path):
    ledger = BudgetLedger(tmp_path / "a.ledger", epsilon=4.0, delta=1e-5)
    report = fitted(ledger=ledger)
    alone = yaml.safe_load(report.to_registry_yaml(ANSWERS, ledger=ledger))["deployment"]["privacy_loss"]
    assert alone["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    fitted(ledger=ledger)
    both = yaml.safe_load(report.to_registry_yaml(ANSWERS, ledger=ledger))["deployment"]["privacy_loss"]
    assert both["privacy_parameters"] == {"epsilon": 4.0, "delta": 1e-5}
    assert "all 2 charges" in both["privacy_parameters_details"]
    with pytest.raises(ParameterError, match="ledger is missing"):
        report.to_registry_yaml(ANSWERS)
    with pytest.raises(ParameterError, match="not the one"):
        fitted(ledger=BudgetLedger(tmp_path / "b.ledger", epsilon=4.0, delta=1e-5)).to_registry_yaml(
            ANSWERS, ledger=ledger
        )


def test_the_unit_is_named():
    x = np.linspace(-1.0, 1.0, 500)[:, None]
    model = PrivateLinearRegression(
        1.0, 1e-6, Bounds(features=[(-1, 1)], target=(-3, 3)), max_rows_per_unit=2
    ).fit(x, x[:, 0], groups=np.arange(500) // 2)  # fmt: skip
    loss = yaml.safe_load(model.privacy_report_.to_registry_yaml(ANSWERS))["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "unit of groups, up to 2 rows"
