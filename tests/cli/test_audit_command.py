"""``dpols audit``: what was found reaches the screen and the files, and a refuted claim the exit code."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.extras


@pytest.fixture
def dpols(capsys):
    from dpols.cli import main

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main(list(arguments))
        return int(exited.value.code or 0), capsys.readouterr().out

    return run


def test_json_and_picture_are_kept(dpols, tmp_path):
    code, out = dpols("audit", "--runs", "400", "--json", "--out", str(tmp_path / "found"))
    found = json.loads(out)
    assert code == 0
    assert found == json.loads((tmp_path / "found" / "audit.json").read_text())
    assert (tmp_path / "found" / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert {"claimed_epsilon", "exact_epsilon", "lower_bound", "runs"} <= found.keys()
    assert (found["claimed_epsilon"], found["runs"], found["arithmetic"], found["holds"]) == (4.0, 400, "float", True)
    assert {audit["name"] for audit in found["audits"]} >= {"ihm, data A", "ihm, data B", "gaussian", "mix_gram"}
    for audit in found["audits"]:
        assert audit["lower_bound"] == max(audit["lower_bound_remove"], audit["lower_bound_add"])
        assert audit["lower_bound"] <= audit["exact_epsilon"]


def test_a_table_is_printed(dpols, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out = dpols("audit", "--runs", "100", "--method", "adassp", "--arithmetic", "exact")
    assert code == 0
    assert "exact arithmetic" in out
    assert "adassp, data B" in out
    assert "No claim is refuted." in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_refuted_claim_is_said_and_ends_with_1(dpols, monkeypatch):
    from dpols.audit import lower_bound

    true_audit = lower_bound.audit
    monkeypatch.setattr(
        lower_bound, "audit", lambda *args, **kwargs: replace(true_audit(*args, **kwargs), lower_bound=9.0)
    )
    code, out = dpols("audit", "--runs", "100", "--method", "sheffet")
    assert code == 1
    assert "REFUTED: sheffet, data A" in out


@pytest.mark.parametrize("arguments", [("--method", "no-such"), ("--method", "ihm-adaptive"), ("--runs", "1")])
def test_what_cannot_be_audited_is_refused(dpols, arguments):
    assert dpols("audit", *arguments)[0] not in (0, 1)
