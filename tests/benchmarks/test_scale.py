"""The scale benchmark: real measurements of small tables, and verdicts that follow from ratios."""

import json
from functools import partial

import pytest

from dpols_bench import scale, scale_engines, scale_files
from dpols_bench.scale import Line, Size
from dpols_bench.steps import Step

pytestmark = pytest.mark.extras


def test_a_verdict_compares_the_ratio_with_the_goal():
    assert [Line("a", 1.0, "b", 4.0, goal).verdict for goal in (0.25, 0.2, None)] == ["met", "missed", "no goal"]


def test_a_fit_in_memory_is_compared_with_scikit_learn_and_the_machine():
    lines = list(scale.in_memory(Size(20_000, 5, 0.25, 0.5), quick=True))
    assert [line.what for line in lines] == ["1,000 x 5 in memory, float"] * 2 + ["1,000 x 5 in memory, exact"] * 2
    assert [line.goal for line in lines] == [0.25, None, 0.5, None]
    assert all(line.ours > 0 and line.theirs > 0 for line in lines)
    assert lines[0].ours == lines[1].ours
    assert lines[0].theirs == lines[2].theirs


def test_a_fit_by_dask_is_compared_with_the_same_fit_by_threads(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("distributed")
    path = scale_files.make_file(tmp_path, 3_000, 3)
    fits = []

    def fit(*data):
        fits.append(data)
        return scale._fit("IHM", "float", *data)

    with scale_engines.dask_client() as client:
        seconds = scale_engines.dask_seconds(path, client, fit, 1)
    assert list(seconds) == ["threads", "Dask, row groups", "Dask DataFrame", "Dask DataFrame, persisted"]
    assert len(fits) == 8  # the first of each is not timed
    assert [data[0].engine is None for data in fits[:2]] == [True, False]


@pytest.fixture
def two_parts(monkeypatch):
    """A run of which one part measures and the other is not installed."""

    def measured(*_):
        yield Line("fit", 3.0, "reader", 2.0, 1.0)
        yield Line("fit", 3.0, "limit", 4.0, None, "MB")

    def missing(*_):
        raise scale_engines.MissingEngine("Spark needs Java")

    monkeypatch.setattr(scale, "IN_MEMORY", ())
    monkeypatch.setattr(scale, "in_files", measured)
    monkeypatch.setattr(scale, "on_dask", lambda *_: iter(()))
    monkeypatch.setattr(scale, "on_spark", missing)


def test_a_run_goes_on_without_what_is_not_installed(two_parts):
    steps = []
    rows = scale.run(progress=steps.append)
    assert steps == [Step("Parquet files", 0, 3), Step("Dask", 1, 3), Step("Spark", 2, 3)]
    assert [row["verdict"] for row in rows] == ["missed", "no goal", "not measured: Spark needs Java"]
    head, *lines, last, _ = scale.render(rows).splitlines()
    assert head.split() == ["measured", "ours", "against", "theirs", "ratio", "goal", "verdict"]
    assert [line.split() for line in lines[:2]] == [
        ["fit", "3", "s", "reader", "2", "s", "1.5", "<=", "1", "missed"],
        ["fit", "3", "MB", "limit", "4", "MB", "0.75", "no", "goal"],
    ]
    assert lines[2].startswith("Spark")
    assert last.startswith("1 goals missed")


def test_a_quick_run_is_not_judged(two_parts):
    assert scale.run(quick=True)[0]["verdict"] == "not judged"


def test_the_command_prints_a_table_or_json_and_keeps_the_numbers(two_parts, tmp_path, monkeypatch):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from dpols_bench.cli.app import bench

    call = partial(runner.invoke, bench)
    monkeypatch.chdir(tmp_path)
    shown = call(["scale"])
    assert shown.exit_code == 0
    assert shown.stdout == scale.render(scale.run()) + "\n"
    printed = call(["scale", "--json", "--out", "results"])
    assert json.loads(printed.stdout) == json.loads((tmp_path / "results" / "scale.json").read_text()) == scale.run()
