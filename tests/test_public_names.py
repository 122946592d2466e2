"""The public names: few, each with its reason, and all of them shown by ``dir``."""

import re
from pathlib import Path

import pytest

import dpols

SOURCE = Path(dpols.__file__).read_text(encoding="utf-8")


def test_dir_shows_the_public_names():
    assert sorted(dir(dpols)) == sorted(dpols.__all__)
    assert len(dpols.__all__) <= 28


@pytest.mark.parametrize("name", dpols.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dpols, name) is not None


@pytest.mark.parametrize("name", [name for name in dpols.__all__ if name != "__version__"])
def test_every_public_name_has_a_reason(name):
    assert re.search(rf'^    "{name}",  # \w+', SOURCE, flags=re.MULTILINE)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpols.nothing
