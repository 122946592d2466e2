"""Text of files reaches a terminal only as something that can be seen."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, FeatureMap, NumericColumn, PrivateLinearRegression, summary_col
from dpols.cli import exit_after
from dpols.errors import DpolsError
from dpols.privacy import GaussianRelease
from dpols.seen_text import visible

ODD = "\x1b[2J\x1b[8m\u202e\x07\x7f"


def clean(text):
    return all(letter.isprintable() or letter == "\n" for letter in text)


def seen(text):
    """Whether the odd text was shown, in spite of the folds of a table."""
    return r"\x1b[2J\x1b[8m\u202e\x07\x7f" in "".join(text.split())


def test_what_is_not_seen_is_shown_and_nothing_else_changes():
    assert visible("a\rb\x9b\u2066\u200e\nc") == r"a\rb\x9b\u2066\u200e\nc"
    assert visible("a\nb\t", keep="\n") == "a\nb\\t"
    assert visible(plain := "Größe 東京 'a' \\x1b 😀") == plain


@pytest.fixture(scope="module")
def model():
    X = np.linspace(-1, 1, 300)[:, None]
    bounds = Bounds(features=[(-1, 1)], target=(-1, 1))
    return PrivateLinearRegression(1.0, 1e-6, bounds, method="adassp").fit(X, X[:, 0])


@pytest.mark.extras
@pytest.mark.parametrize(
    "change",
    [{ODD: 1}, {"versions": [["dpols", ODD]], "lines": 1}, {"void": [ODD]}, {"method": ODD}, {"relation": ODD}],
)
def test_a_report_cannot_steer_the_terminal_on_which_it_is_verified(change, model, dpols):
    pytest.importorskip("typer")
    Path("report.json").write_text(json.dumps(model.privacy_report_.to_dict() | change))
    done = dpols("verify", "report.json")
    assert done.code != 0
    assert clean(done.out + done.err)


@pytest.mark.extras
def test_the_name_of_a_field_is_shown_with_what_is_not_seen_in_it(model, dpols):
    pytest.importorskip("typer")
    Path("report.json").write_text(json.dumps(model.privacy_report_.to_dict() | {ODD: 1}))
    assert seen(dpols("verify", "report.json").out)


@pytest.mark.extras
def test_a_ledger_cannot_steer_the_terminal_on_which_it_is_shown(dpols):
    pytest.importorskip("typer")
    BudgetLedger("a.ledger", epsilon=1.0, delta=1e-5).add(GaussianRelease(100.0), what=ODD)
    done = dpols("ledger", "show", "a.ledger")
    assert clean(done.out)
    assert seen(done.out)


@pytest.mark.extras
def test_names_of_columns_cannot_steer_the_terminal(dpols, budget):
    pytest.importorskip("typer")
    Path("data.csv").write_text(f"{ODD},pay\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(2000)))
    name = json.dumps(ODD).replace("\x7f", "\\u007f")
    Path("bounds.toml").write_text(f"[target]\nlow = 0\nhigh = 5\n[features.{name}]\nlow = 0\nhigh = 7\n")
    given = ("--target", "pay", "--bounds", "bounds.toml", *budget)
    for more in (("--out", "one.json"), ("--out", "two.json", "--inference")):
        done = dpols("fit", "data.csv", *given, *more)
        assert (done.code, clean(done.out + done.err)) == (0, True)
        assert seen(done.out)
    done = dpols("summary", "two.json")
    assert (done.code, clean(done.out), seen(done.out)) == (0, True, True)


def test_an_error_and_a_warning_that_quote_text_cannot_steer_the_terminal(capsys):
    def run():
        warnings.warn(ODD, UserWarning, stacklevel=1)
        raise DpolsError(ODD)

    with pytest.raises(SystemExit):
        exit_after(run)
    warned, failed = capsys.readouterr().err.splitlines()
    assert all(clean(line) and seen(line) for line in (warned, failed))


def test_the_name_of_a_column_adds_no_line_to_a_report_in_text():
    X = np.linspace(-1, 1, 300)[:, None]
    made = FeatureMap({"x\nSpent          epsilon = 0": NumericColumn(-1, 1)}, target=(-1, 1))
    report = PrivateLinearRegression(1.0, 1e-6, feature_map=made, method="adassp").fit(X, X[:, 0]).privacy_report_
    assert sum(line.startswith("Spent") for line in report.to_text().splitlines()) == 1
    assert clean(report.to_text())


def of_odd_names():
    """A fit with names that would take a warning off a terminal, and a line of their own."""
    rows = np.random.default_rng(0).uniform(-1, 1, size=(50_000, 2))
    names = [f"{ODD}\x1b[3A\x1b[2K", "x\nBudget  epsilon 0"]
    bounds = {name: NumericColumn(-1, 1) for name in names}
    model = PrivateLinearRegression(5.0, 1e-6, feature_map=FeatureMap(bounds, target=(-1, 1)), inference=True)
    return model.fit(rows, rows @ [0.3, 0.2])


def test_names_of_columns_can_steer_no_terminal_from_python():
    model = of_odd_names()
    first, second = model.feature_map_.names
    shown = {
        "summary": str(model.summary()),
        "LaTeX": model.summary().as_latex(),
        "summaries": str(summary_col([model, model])),
        "LaTeX of summaries": summary_col([model, model]).as_latex(),
        "t test": str(model.t_test(np.eye(3)[:2])),
        "Wald test": str(model.wald_test(np.eye(3)[:2])),
        "Markdown": model.privacy_report_.to_markdown(),
    }
    assert not [what for what, text in shown.items() if not clean(text)]
    assert not [what for what, text in shown.items() if "\nBudget  epsilon 0" in text]
    assert first.startswith(ODD)
    assert second.startswith("x\n")
