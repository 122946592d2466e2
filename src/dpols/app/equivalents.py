"""The same fit by other means: the command that the app runs, and a script in Python."""

import shlex

from .choices import Choices

PAID_SHARE = 0.1  # of the budget, for ranges that are paid for
ESTIMATORS = {
    "gaussian": "PrivateLinearRegression",
    "binomial": "PrivateLogisticRegression",
    "poisson": "PrivatePoissonRegressor",
}


def fit_arguments(choices: Choices, bounds: str) -> list[str]:
    """Return the arguments of ``dpols fit`` but for the files that it writes; a value that begins with - is none."""
    data, model, ranges, plan = choices.data, choices.model, choices.ranges, choices.plan
    assert data is not None
    assert model is not None
    assert ranges is not None
    assert plan is not None
    given = [data.path, f"--target={model.target}", f"--bounds={bounds}"]
    given += [f"--epsilon={plan.epsilon!r}", f"--delta={plan.delta}", f"--ledger={data.ledger}"]
    if data.decimal is not None:
        given.append(f"--decimal={data.decimal}")
    if model.family != "gaussian":
        given.append(f"--family={model.family}")
    if model.kind == "yes-no":
        given.append(f"--classes={model.no},{model.yes}")
    if ranges.paid:
        given.append(f"--paid-bounds={PAID_SHARE}")
    if data.unit is not None:
        given += [f"--unit={data.unit}", f"--max-rows-per-unit={data.rows_per_unit}"]
    if plan.inference:
        given.append("--inference")
    if plan.bad_rows == "zero":
        given.append("--bad-rows=zero")
    return given


def command_line(choices: Choices) -> str:
    """Return the command for a shell."""
    given = ["dpols", "fit", *fit_arguments(choices, "bounds.toml"), "--out=model.json", "--report=report.html"]
    return " \\\n    ".join(shlex.quote(part) for part in given).replace(" \\\n    fit", " fit", 1)


def script(choices: Choices) -> str:
    """Return a script in Python."""
    data, model, ranges, plan = choices.data, choices.model, choices.ranges, choices.plan
    assert data is not None
    assert model is not None
    assert ranges is not None
    assert plan is not None
    delta = plan.delta if _is_number(plan.delta) else repr(plan.delta)
    given = [f"epsilon={plan.epsilon!r}", f"delta={delta}", "feature_map=declared"]
    given += [f"bounds=dpols.PaidBounds(share={PAID_SHARE})"] if ranges.paid else []
    given += [f"classes=({model.no!r}, {model.yes!r})"] if model.kind == "yes-no" else []
    given += ["inference=True"] if plan.inference else []
    given += [f"unit={data.unit!r}", f"max_rows_per_unit={data.rows_per_unit}"] if data.unit is not None else []
    given += ['bad_rows="zero"'] if plan.bad_rows == "zero" else []
    given += [f"ledger={data.ledger!r}"]
    arguments = "".join(f"    {one},\n" for one in given)
    return (
        "import tomllib\nfrom pathlib import Path\n\nimport dpols\n"
        "from dpols.feature_map.toml import feature_map_from_toml\n\n"
        'declared = feature_map_from_toml(tomllib.loads(Path("bounds.toml").read_text(encoding="utf-8")))\n'
        f"{_reading(choices)}\n"
        f"model = dpols.{ESTIMATORS[model.family]}(\n{arguments})\n"
        "model.fit(rows)\n"
        'model.save("model.json")\n'
        'Path("report.html").write_text(model.privacy_report_.to_html(), encoding="utf-8")\n'
        "print(model.privacy_report_)\n"
    )


def _reading(choices: Choices) -> str:
    """Return a line that opens the table."""
    data, model = choices.data, choices.model
    assert data is not None
    assert model is not None
    names = [feature.name for feature in model.features] + ([] if data.unit is None else [data.unit])
    mark = "" if data.decimal is None else f", decimal={data.decimal!r}"
    return f"rows = dpols.read({data.path!r}, target={model.target!r}, columns={names!r}{mark})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
