"""What docs/ledger.md shows: its examples run, and its table holds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpols.algorithms import algorithm
from dpols.privacy import PrivacyBudget, delta_of
from dpols.privacy.filter import Caps, filter_charge

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \((\S+), (\S+)\) \| \((\S+), (\S+)\) \| (\S+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, flags=re.MULTILINE
)


def test_the_examples_run(tmp_path):
    code = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"3\.\d% used, head 3:", done.stdout)
    assert "'method': 'adassp'" in done.stdout or "'method': 'ihm'" in done.stdout


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
