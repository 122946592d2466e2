"""``dpols-bench paper``: lists become settings, and results reach the screen."""

import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.extras


@pytest.fixture
def asked(monkeypatch):
    """The settings that the command asked for, in place of a run."""
    from dpols_bench import paper

    found = []

    def evaluate(settings, out, *, progress):
        found.append((settings, out))
        raise RuntimeError("that is enough")

    monkeypatch.setattr(paper, "evaluate", evaluate)
    return found


def test_defaults_are_the_papers(bench, asked):
    bench("paper")
    settings, out = asked[0]
    assert len(settings.datasets) == 35
    assert settings.trials == 500
    assert [round(e, 3) for e in settings.epsilons] == [0.1, 0.251, 0.631, 1.585, 3.981, 10.0]
    assert settings.accountings == ("paper", "exact")
    assert settings.arithmetic == "float"
    assert out.name == "paper-results"


def test_lists_choose_subsets(bench, asked):
    bench(
        "paper", "--quick", "--datasets", "synthetic, pol,pol", "--methods", "ihm,sheffet",
        "--epsilons", "1,2.5", "--accounting", "exact", "--arithmetic", "exact", "--jobs", 3,
    )  # fmt: skip
    settings, _ = asked[0]
    assert settings.datasets == ("mlp", "sphere", "pol")
    assert settings.methods == ("ihm", "sheffet")
    assert settings.epsilons == (1.0, 2.5)
    assert settings.trials == 20
    assert settings.accountings == ("exact",)
    assert settings.arithmetic == "exact"
    assert settings.jobs == 3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--datasets", "nothing"),
        ("--methods", ","),
        ("--epsilons", "1,two"),
        ("--trials", "1"),
        ("--arithmetic", "half"),
    ],
)
def test_bad_options_are_refused(bench, asked, option, value):
    done = bench("paper", option, value)
    assert done.code == 2
    assert done.err.startswith("error:")
    assert asked == []


def test_a_run_prints_claims_and_leaves_a_report(bench, tmp_path):
    arguments = ("--datasets", "diabetes", "--methods", "dp-gd,ihm", "--epsilons", "1", "--trials", "2", "--jobs", "1")
    done = bench("paper", *arguments, "--out", "results")
    assert done.code == 0
    assert "float arithmetic" in done.out
    assert (tmp_path / "results" / "report.html").exists()
    again = bench("paper", *arguments, "--out", "results", "--json")
    assert json.loads(again.out)["about"]["batches_already_there"] == 4
