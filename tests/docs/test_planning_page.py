"""What the page on planning shows works as it stands there."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")


def test_the_python_examples_run(capsys):
    first, outlook, second = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    exec(outlook, {})
    assert capsys.readouterr().out.startswith("none probably no coefficient will have an interval")
    exec(first.replace("r_squared=0.4", "r_squared=0.4, trials=4") + second.replace("d=8", "d=8, trials=4"), {})
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:16:4]] == ["whitened", "ihm", "adassp", "dp-gd"]
    assert "epsilon" in printed[16]
    epsilon, n = (float(line.split()[0]) for line in printed[17:])
    assert 0.01 < epsilon < 10
    assert 5_000 < n < 5_000_000
