"""Result: verdict, coefficients, predictions, downloads, and the history of the ledger."""

import math
import warnings
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..errors import DpolsError, InferenceWarning
from . import fit_page
from .declaring import outline
from .equivalents import command_line, script
from .fits import Fit, fit_of, fits_of, summary_of
from .forms import FormError, Reader
from .guard import report_headers
from .site import Visit, go, project_page

_DOWNLOADS = {
    "report.html": ("The report, as a page to print or to hand on", "text/html"),
    "report.md": ("The report in Markdown", "text/markdown"),
    "report.json": ("The report as data, for dpols verify", "application/json"),
    "model.json": ("The model, for dpols predict and Python", "application/json"),
    "bounds.toml": ("The bounds file", "application/toml"),
    "fit.py": ("The same fit in Python", "text/x-python"),
    "fit.sh": ("The same fit as a command", "text/x-shellscript"),
}


def latest(visit: Visit) -> Response:
    """Go to the newest fit."""
    made = fits_of(visit.project)
    return go(visit.path("fits", made[-1].number) if made else visit.path("confirm"))


def show(visit: Visit) -> Response:
    """Show a fit as it stands."""
    fit = fit_of(visit.project, visit.number())
    if fit is None:
        raise HTTPException(404, "There is no such fit.")
    if fit.status == "running":
        return fit_page.waiting(visit, fit)
    return fit_page.failed(visit, fit) if fit.status == "failed" else _result(visit, fit)


def _result(
    visit: Visit,
    fit: Fit,
    problems: tuple[tuple[str, str], ...] = (),
    prediction: "list[tuple[str, str]] | None" = None,
) -> Response:
    from ..report.content import guarantee, outcome_parts, summary, verdict

    model = _loaded(fit)
    report = model.privacy_report_
    return project_page(
        visit,
        "result.html",
        step="results",
        problems=problems,
        fit=fit,
        report=report,
        summary=summary(report),
        first=(*guarantee(report), verdict(report)),
        formula=outline(fit.choices.model),  # type: ignore[arg-type]
        parts=outcome_parts(report),
        inputs=_inputs(model, fit),
        values=visit.fields,
        prediction=prediction,
        downloads=[(name, words) for name, (words, _) in _DOWNLOADS.items()],
        others=[summary_of(other) for other in fits_of(visit.project)],
        other_window=visit.fields.get("other") == "yes",
    )


def _done(visit: Visit) -> Fit:
    fit = fit_of(visit.project, visit.number())
    if fit is None or fit.status != "done":
        raise HTTPException(404, "There is no such result.")
    return fit


def _loaded(fit: Fit) -> Any:
    from ..estimators import load_any

    return load_any(fit.model_file)


def _inputs(model: Any, fit: Fit) -> list[dict[str, Any]]:
    """Return the fields of the prediction form, one for each raw column."""
    assert fit.choices.model is not None
    levels = {feature.name: feature.levels for feature in fit.choices.model.features}
    names = [str(name) for name in model.feature_names_in_]
    return [{"id": f"x-{i}", "name": name, "levels": levels.get(name, ())} for i, name in enumerate(names)]


def predict(visit: Visit) -> Response:
    """Show the prediction for one row that was typed."""
    fit = _done(visit)
    model = _loaded(fit)
    fields = Reader(visit.fields)
    row: dict[str, Any] = {}
    for one in _inputs(model, fit):
        text = fields.text(one["id"])
        if one["levels"]:
            row[one["name"]] = text
            if text not in one["levels"]:
                fields.wrong(one["id"], f"{one['name']!r}: choose one of the categories.")
        else:
            row[one["name"]] = fields.number(one["id"], repr(one["name"]))
    try:
        fields.done()
        return _result(visit, fit, prediction=_predicted(model, row))
    except FormError as error:
        return _result(visit, fit, error.problems)
    except DpolsError as error:
        return _result(visit, fit, (("", str(error)),))


def _predicted(model: Any, row: dict[str, Any]) -> list[tuple[str, str]]:
    from ..data.arrow import pyarrow

    table = pyarrow().table({name: [value] for name, value in row.items()})
    if model.family == "binomial":
        value, what = float(model.predict_proba(table)[0, 1]), f"probability of {model.classes_[1]}"
    else:
        value, what = float(model.predict(table)[0]), "predicted"
    found = [(what, _amount(model, value))]
    if model.inference_ is not None:
        found.append((_LIMITS[model.family], _limits(model, table)))
    return found


_LIMITS = {
    "gaussian": "95% of such cases lie in",
    "binomial": "95% interval of this probability",
    "poisson": "95% interval of the mean count",
}


def _limits(model: Any, table: Any) -> str:
    """Return limits of a case where outcomes are numbers, else of the mean of such cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # said in place of the limits
        *_, low, high = model.predict_interval(table, alpha=0.05).to_numpy()[0]
    if math.isnan(low) or math.isnan(high):
        return "hidden by the noise"
    return f"[{_amount(model, low)}, {_amount(model, high)}]"


def _amount(model: Any, value: float) -> str:
    return f"{100 * value:.3g}%" if model.family == "binomial" else f"{value:.6g}"


def download(visit: Visit) -> Response:
    """Return a file of a fit."""
    fit, name = _done(visit), visit.request.path_params["name"]
    if name not in _DOWNLOADS:
        raise HTTPException(404, "There is no such file.")
    look = name == "report.html" and visit.fields.get("look") == "yes"
    kind = f"{_DOWNLOADS[name][1]}; charset=utf-8"
    headers = report_headers() if look else {"content-disposition": f'attachment; filename="{name}"'}
    return Response(_content(fit, name), media_type=kind, headers=headers)


def _content(fit: Fit, name: str) -> str:
    if name in ("model.json", "bounds.toml"):
        return (fit.folder / name).read_text(encoding="utf-8")
    if name == "fit.py":
        return script(fit.choices)
    if name == "fit.sh":
        return f"{command_line(fit.choices)}\n"
    report = _loaded(fit).privacy_report_
    if name == "report.html":
        return str(report.to_html())
    return str(report.to_markdown() if name == "report.md" else report.to_json() + "\n")


def registry(visit: Visit, problems: tuple[tuple[str, str], ...] = ()) -> Response:
    """Show what an entry of the registry of deployments needs that only the user knows."""
    from .registry_form import FIELDS

    fit = _done(visit)
    return project_page(
        visit, "registry.html", step="results", problems=problems, fit=fit, entries=FIELDS, values=visit.fields
    )


def registry_file(visit: Visit) -> Response:
    """Return the entry."""
    from .registry_form import filled

    fit = _done(visit)
    assert fit.choices.data is not None
    try:
        text = filled(_loaded(fit).privacy_report_, visit.fields, Path(fit.choices.data.ledger))
    except FormError as error:
        return registry(visit, error.problems)
    headers = {"content-disposition": 'attachment; filename="registry.yaml"'}
    return Response(text, media_type="application/yaml; charset=utf-8", headers=headers)


def history(visit: Visit) -> Response:
    """Show all that a project's ledger was charged."""
    from ..ledger import BudgetLedger
    from ..ledger.words import CHARGES, charges_of, facts_of

    data = visit.project.choices().data
    if data is None:
        return go(visit.path("data"))
    ledger = BudgetLedger(data.ledger)
    state = ledger.state()
    made = [summary_of(fit) for fit in fits_of(visit.project)]
    return project_page(
        visit,
        "history.html",
        step="results",
        ledger=data.ledger,
        facts=facts_of(state, ledger.head()),
        columns=CHARGES,
        charges=charges_of(state),
        fits=made,
    )


VIEWS = (
    ("GET", "/results", latest),
    ("GET", "/fits/{number:int}", show),
    ("POST", "/fits/{number:int}/predict", predict),
    ("GET", "/fits/{number:int}/files/{name}", download),
    ("GET", "/fits/{number:int}/registry", registry),
    ("POST", "/fits/{number:int}/registry", registry_file),
    ("GET", "/history", history),
)
