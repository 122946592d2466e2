"""``dpols-bench``: rows from the benchmark reach the screen and the file."""

import json

import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras


@pytest.fixture
def measured(monkeypatch):
    from dpols_bench import speed

    asked = []

    def run(*, quick, progress):
        progress("10 x 2")
        asked.append(quick)
        return [{"rows": 10}]

    monkeypatch.setattr(speed, "run", run)
    monkeypatch.setattr(speed, "render", lambda rows: f"a table of {len(rows)} row")
    return asked


def test_a_table_is_printed(bench, measured):
    assert bench("speed").out == "a table of 1 row\n"
    assert measured == [False]


def test_json_is_printed_and_kept(bench, measured, tmp_path):
    done = bench("speed", "--quick", "--json", "--out", "results")
    assert json.loads(done.out) == [{"rows": 10}]
    assert json.loads((tmp_path / "results" / "speed.json").read_text()) == [{"rows": 10}]
    assert measured == [True]


def test_a_bad_folder_is_refused_before_measuring(bench, measured, tmp_path):
    (tmp_path / "results").write_text("in the way")
    assert bench("speed", "--out", "results").code == 2
    assert measured == []


def test_alone_it_shows_its_help(bench):
    done = bench()
    assert done.code == 0
    assert "speed" in done.out
