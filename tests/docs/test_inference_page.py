"""What the page on inference shows works as it stands there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "inference.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_example_runs_and_looks_like_what_is_shown(capsys):
    example, *_ = EXAMPLES
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names = {}
    exec(example, names)
    printed = capsys.readouterr().out.splitlines()
    for one, other in zip(shown.splitlines(), printed, strict=False):
        assert one.split()[0] == other.split()[0]
    low, high = names["model"].conf_int(1e-5).to_numpy().T
    assert (low < [300, 900, 5000]).all()
    assert (high > [300, 900, 5000]).all()


def test_the_words_and_tests_run_and_find_what_is_true(capsys):
    names = {}
    for example in EXAMPLES:
        exec(example, names)
    model = names["model"]
    printed = capsys.readouterr().out
    for words in ("mean_se", "r_squared", r"\toprule", "Tests of linear restrictions", "chi2(1) = "):
        assert words in printed
    assert model.f_test("age = 300, hours = 900, intercept = 5000").pvalue > 1e-6
    assert model.f_test(["age", "hours"]).pvalue < 1e-6
    assert model.rsquared == pytest.approx(0.82, abs=0.1)


def test_every_word_of_the_table_is_there():
    from dpols import PrivateLinearRegression

    table = PAGE.partition("| word | meaning |")[2].partition("\n\n")[0]
    words = [word for row in table.splitlines() for word in re.findall(r"`(\w+)", row.split("|")[1] if row else "")]
    assert len(words) > 15
    assert [word for word in words if not hasattr(PrivateLinearRegression, word)] == []


def test_links_and_named_tests_are_there():
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", PAGE) if not (DOCS / link).exists()] == []
    assert [name for name in re.findall(r"`(tests/[^`]+)`", PAGE) if not (DOCS.parent / name).exists()] == []
