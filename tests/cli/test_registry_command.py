"""``dpols registry``: questions to answer, then an entry."""

import pytest

from dpols import BudgetLedger

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.extras


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "my.ledger", epsilon=2.0, delta=1e-5)


@pytest.fixture
def model(fit):
    assert fit().code == 0
    return "model.json"


def answered(path):
    """Answer the questions in a file."""
    lines = []
    choices = ""
    for line in path.read_text().splitlines():
        choices = line.removeprefix("# One of: ").split(", ")[0] if line.startswith("# One of") else choices
        name = line.partition(" = ")[0]
        answer = "2026-11-18" if name == "publication_date" else choices or "an answer"
        lines.append(f'{name} = "{answer}"' if line.endswith('""') else line)
        choices = "" if line.endswith('""') else choices
    path.write_text("\n".join(lines))


def test_questions_are_written_answered_and_become_an_entry(dpols, model, ledger, tmp_path):
    assert dpols("registry", model, "--out", "q.toml").code == 0
    refused = dpols("registry", model, "--answers", "q.toml", "--out", "e.yaml", "--ledger", ledger.path)
    assert refused.code == 2
    assert "no answer is given, and none is made up" in refused.err
    answered(tmp_path / "q.toml")
    assert dpols("registry", model, "--answers", "q.toml", "--out", "e.yaml", "--ledger", ledger.path).code == 0
    entry = yaml.safe_load((tmp_path / "e.yaml").read_text())
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1.0
    assert "ledger is missing" in dpols("registry", model, "--answers", "q.toml", "--out", "f.yaml").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--out", "e.yaml"), "--answers is missing"),
        (("--out", "e.txt"), "must end in .yaml"),
        (("--out", "q.toml", "--answers", "model.json"), "is for new questions"),
        (("--out", "e.yaml", "--answers", "model.json"), "not valid TOML"),
    ],
)
def test_a_mistake_is_one_line(dpols, model, arguments, said):
    done = dpols("registry", model, *arguments)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1
