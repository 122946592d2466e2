"""What the page on features shows works as it stands there."""

import re
import tomllib
from pathlib import Path

import pytest

from dpols.cli.demo_data import staff
from dpols.feature_map.toml import feature_map_from_toml

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "features.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_python_examples_run(tmp_path, monkeypatch):
    from dpols.cli.demo import write_csv

    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo-output").mkdir()
    write_csv(tmp_path / "demo-output" / "staff.csv", staff(20_000, seed=0))
    first, *others = blocks("python")
    names = {}
    exec(first, names)
    assert names["model"].feature_map_.names[-3:] == ("age^2", "hours:contract[temporary]", "hours:contract[other]")
    for other in others:
        exec(other, names)
    assert names["curved_model"].feature_map_.names[:2] == ("bs(age)[1]", "bs(age)[2]")


def test_the_bounds_file_is_read():
    (text,) = blocks("toml")
    names = feature_map_from_toml(tomllib.loads(text)).names
    assert {"(age - 43)^2", "(age - 43):(hours - 30)", "(hours - 30):contract[other]"} <= set(names)


def test_links_and_named_tests_are_there():
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", PAGE) if not (DOCS / link).exists()] == []
    assert [name for name in re.findall(r"`(tests/[^`]+)`", PAGE) if not (DOCS.parent / name).exists()] == []
