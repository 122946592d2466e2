"""What docs/ledger.md shows: its examples run, and its table holds."""

import re
from pathlib import Path

import pytest

from dpols.algorithms import algorithm
from dpols.privacy import PrivacyBudget, delta_of
from dpols.privacy.filter import Caps, filter_charge

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \((\S+), (\S+)\) \| \((\S+), (\S+)\) \| (\S+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, flags=re.MULTILINE
)


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    code = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    printed = capsys.readouterr().out
    assert re.match(r"3\.\d% used, head 3:", printed)
    assert "'method': 'adassp'" in printed or "'method': 'ihm'" in printed


def test_there_is_a_table():
    assert len(ROWS) == 6


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_table_holds(row):
    epsilon, delta, fit_epsilon, fit_delta = map(float, row[:4])
    summed, admitted, in_advance = map(int, row[5:])
    plan = algorithm(row[4]).plan(PrivacyBudget(fit_epsilon, fit_delta), n_rows=50_000, n_features=8)
    charge = filter_charge([plan.releases], Caps.of(PrivacyBudget(epsilon, delta)))
    assert int(1.0 / max(charge.gaussian, charge.leak)) == admitted
    assert min(round(epsilon / fit_epsilon), round(delta / fit_delta)) == summed
    assert delta_of(plan.releases * in_advance, epsilon) <= delta < delta_of(plan.releases * (in_advance + 1), epsilon)
