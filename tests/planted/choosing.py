"""A pytest plugin: runs the tests that a file lists, by name or by their own file, in its order, and no others."""

import json
import os
from pathlib import Path

import pytest

LIST = "DPOLS_PLANTED_TESTS"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    listed = json.loads(Path(os.environ[LIST]).read_text(encoding="utf-8"))
    ranks = {test: rank for rank, test in enumerate(listed)}

    def rank(item):
        return ranks.get(item.nodeid, ranks.get(item.nodeid.partition("::")[0]))

    config.hook.pytest_deselected(items=[item for item in items if rank(item) is None])
    items[:] = sorted((item for item in items if rank(item) is not None), key=rank)
