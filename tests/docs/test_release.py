"""What a release says of itself agrees: version, release notes, classifiers and workflows."""

import re
import tomllib
from pathlib import Path

import pytest

import dpols

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_stands_in_one_place():
    assert PROJECT["dynamic"] == ["version"]
    bench = tomllib.loads((ROOT / "benchmarks" / "pyproject.toml").read_text(encoding="utf-8"))
    assert bench["project"]["dynamic"] == ["version"]
    assert (ROOT / "benchmarks" / bench["tool"]["hatch"]["version"]["path"]).resolve() == (
        ROOT / "src" / "dpols" / "versions.py"
    )


def test_the_version_has_release_notes():
    notes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert dpols.__version__ in re.findall(r"^## (\S+)", notes, flags=re.MULTILINE)


def workflow():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))


def test_classified_versions_of_python_are_tried_by_the_workflow_on_every_system():
    matrix = workflow()["jobs"]["test"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(named) <= set(matrix["python"])
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert f">={min(named)}" == PROJECT["requires-python"]


def test_every_step_of_the_workflow_is_a_target_of_make():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    steps = [step["run"].split() for job in workflow()["jobs"].values() for step in job["steps"] if "run" in step]
    assert steps
    assert all(first == "make" and target in targets for first, target, *_ in steps)
