"""What a report says, section by section, whatever it is written in."""

import re
from typing import Any

from ..pages.parts import Bars, Bullets, Chances, Code, Part, Scatter, Section, Shares, Table, notebook_part
from ..privacy import Neighbours
from ..privacy.attacker import success_against, success_under
from .bars import bar_of
from .basis import ACCOUNTING
from .calibration import differences
from .residuals import residual_picture, shares_of_sizes

TITLE = "Privacy report"


_KINDS = {"logistic": "A logistic regression", "poisson": "A Poisson regression"}
_IN_WORDS = {"Dep. variable": "outcome", "Reference": "compared with"}
_MOST_TERMS = 12  # that are named in a line


def title_of(report: Any) -> str:
    """Return the title of a report, which names what was predicted."""
    return TITLE if report.target_name is None else f"{TITLE}: {report.target_name}"


def guarantee(report: Any) -> tuple[str, ...]:
    """Return in a line that a fit is private, how strongly and for whom; nothing where an alarm says that it is not."""
    return () if report.alarm is not None else (f"{report.guarantee[:1].upper()}{report.guarantee[1:]}.",)


def verdict(report: Any) -> str:
    """Return in a sentence whether the fit is of use."""
    return f"{report.verdict[:1].upper()}{report.verdict[1:]}: {report.verdict_reason}"


def summary(report: Any) -> str:
    """Return the guarantee in one sentence."""
    kind = next((words for method, words in _KINDS.items() if report.method.startswith(method)), "A linear regression")
    return (
        f"{kind} on {report.rows_in_words}, fitted with epsilon = {report.asked.epsilon:.6g} and delta = "
        f"{report.asked.delta:.4g} under {report.relation} neighbours, in {report.arithmetic} arithmetic."
    )


def in_a_notebook(report: Any) -> str:
    """Return the report as a part of a page, in which what came out stands first."""
    first = [
        Section("", (*guarantee(report), verdict(report), summary(report))),
        *_outline(report),
        Section("What came out", outcome_parts(report)),
    ]
    shown = [section.title for section in first]
    more = [section for section in sections(report) if section.title not in shown]
    return notebook_part(TITLE, first, more=more, alarm=report.alarm, cautions=report.cautions)


def _outline(report: Any) -> list[Section]:
    return [Section("What was fitted", (Table(("", ""), _fitted(report)),))]


def sections(report: Any) -> tuple[Section, ...]:
    """Return all sections of a report."""
    return (
        Section("What came out", outcome_parts(report)),
        *_outline(report),
        Section("What is protected", _protected(report)),
        Section("What the guarantee means", _meaning(report)),
        Section("What was released", _released(report)),
        Section("What it cost", (_cost(report),)),
        *_residuals(report),
        *_calibration(report),
        Section("What it rests on", _assumptions(report)),
        Section("How to check it", _checks(report)),
    )


def _fitted(report: Any) -> tuple[tuple[str, str], ...]:
    rows = ("rows", f"{report.row_count}{report.used_in_words}, {report.n_features} coefficients")
    empty = ("empty cells", report.empty_cells)
    model = () if report.formula is not None or report.target_name is None else (("model", _model(report)),)
    facts = ((_IN_WORDS.get(name, f"{name[:1].lower()}{name[1:]}"), fact) for name, fact in report.described)
    return (*facts, *model, rows, empty)


def _model(report: Any) -> str:
    """Return target and features as a formula, where the fit was not by one; categories by their column."""
    names = [coefficient.name for coefficient in report.coefficients if coefficient.name != "intercept"]
    columns = list(dict.fromkeys(re.sub(r"\[[^\]]*\]", "", name) for name in names))
    rest = [f"{len(columns) - _MOST_TERMS} more"] if len(columns) > _MOST_TERMS else []
    return f"{report.target_name} ~ {' + '.join((*columns[:_MOST_TERMS], *rest))}"


def _protected(report: Any) -> tuple[Part, ...]:
    relation = report.relation_in_words
    return (
        f"Protected: {report.protects}.",
        f"{relation[:1].upper()}{relation[1:]}.",
        "Whoever sees the coefficients, this report and everything else that was released can hardly tell whether this "
        f"was done to {_one(report)}, even if all other rows are known.",
    )


def _one(report: Any) -> str:
    return "any one row" if report.unit is None else f"the rows of any one {report.unit}"


def _meaning(report: Any) -> tuple[Part, ...]:
    promised = success_under(report.asked)
    rows = [("a blind guess", 0.5)]
    who = "one row is" if report.unit is None else f"the rows of one {report.unit} are"
    words = (
        "Take an attacker who knows all other rows, sees everything that was released, and must decide at even odds "
        f"whether {who} in the data. The best that any attack can do is to be right with this probability:"
    )
    more = (
        f"The promise holds for every mechanism with this epsilon and delta: (e^epsilon + delta) / (1 + e^epsilon) = "
        f"{promised:.6g}."
    )
    if not report.staged:
        exact = success_against(report.releases, relation=Neighbours(report.relation))
        rows.append(("the best attack on what was released", min(exact, promised)))
        more += (
            " What was released here allows less: (1 + D) / 2, where D is the smallest delta at which the recorded "
            "releases are private with epsilon = 0, which is the largest total variation distance between neighbours."
        )
    rows.append(("what epsilon and delta promise", promised))
    void = () if report.alarm is None else ("This fit is not private, so that none of this holds for it.",)
    return *void, words, Chances(tuple(rows)), more


def _released(report: Any) -> tuple[Part, ...]:
    table = Table(
        (">times", "what", "noise"), tuple((str(line.times), line.what, line.describe()) for line in report.lines)
    )
    return (
        "Each value left the computation with noise that was drawn for it, and was recorded as it did. The "
        "coefficients and everything else in this report are computed from these values and from public numbers.",
        table,
    )


def _cost(report: Any) -> Table:
    rows = [
        ("asked", report.asked_in_words),
        ("spent", report.spent_in_words),
        ("certified", report.certificate_in_words),
        ("accounting", f"{report.accounting}: {ACCOUNTING[report.accounting]}"),
        ("method", f"{report.title} ({report.method}); {report.reference}"),
        *([] if report.ledger_entry is None else [("charged as", f"ledger row {report.ledger_entry}")]),
    ]
    return Table(("", ""), tuple(rows))


_SLOPES = {
    "logistic": "A slope is by how much the log-odds of a yes{yes} change for one more unit of its feature, all others "
    "being equal; its exponential is an odds ratio.",
    "poisson": "A slope is by how much the logarithm of the mean count changes for one more unit of its feature, all "
    "others being equal; its exponential is a rate ratio.",
}
_BARS = (
    "Thick bars are the 95% intervals, thin ones the part of them that is privacy noise alone. The mark is the value, "
    "and a dotted line is 0. Each row has a scale of its own."
)


def outcome_parts(report: Any) -> tuple[Part, ...]:
    """Return what came out: coefficients and what they mean, with intervals and a picture where there are any."""
    rows = tuple((c.name, f"{c.value:.6g}", c.spread) for c in report.coefficients)
    table = Table(("coefficient", ">value", ">standard deviation of the privacy noise"), rows)
    if report.constraints:
        kept = f"The coefficients are kept within public constraints: {'; '.join(report.constraints)}."
        return kept, *report.estimate_notes, table, report.noise_meaning
    if not report.estimates:
        return *report.estimate_notes, table, *_slopes(report), report.noise_meaning
    lines = tuple((line.name, *line.describe()) for line in report.estimates)
    return (
        Bars(tuple(bar_of(line) for line in report.estimates), _BARS),
        Table(("coefficient", ">value", ">standard error", ">95% interval"), lines),
        *_slopes(report),
        *report.estimate_notes,
    )


def _slopes(report: Any) -> tuple[str, ...]:
    """Say what a slope is, where it is not the change of the outcome itself."""
    yes = f" ({report.labels[1]})" if report.labels else ""
    return tuple(words.format(yes=yes) for method, words in _SLOPES.items() if report.method.startswith(method))


_SCATTER = (
    "Each mark is the mean residual of rows with about the same fitted value, and the bar its 95% interval: "
    "privacy noise, and sampling noise if rows are independent. The dotted line is 0. Means that leave it in a bend "
    "say that a power or a transform is missing."
)
_SIZES = (
    "Sizes of residuals, from counts that the fit released for its intervals. The counts are of a residual times the "
    "length of its row, over the typical length, so that sizes are approximate; noise moves each share."
)


def _residuals(report: Any) -> tuple[Section, ...]:
    parts: list[Part] = []
    if report.residual_bins:
        lines = tuple(each.describe() for each in report.residual_bins)
        parts.append(Table(("fitted value", ">rows", ">mean residual", ">95% interval"), lines))
        picture = residual_picture(report.residual_bins)
        parts += [] if picture is None else [Scatter(picture, _SCATTER)]
    if shares := shares_of_sizes(report.residual_sizes):
        parts += [_SIZES, Shares(shares)]
    return (Section("Residuals", tuple(parts)),) if parts else ()


_CALIBRATED = (
    "Each mark is by how much the mean outcome of rows with about the same prediction exceeds their mean prediction, "
    "and the light bar its 95% interval: privacy noise, and sampling noise if rows are independent. On the dotted line "
    "predictions are right on average."
)


def _calibration(report: Any) -> tuple[Section, ...]:
    if not report.calibration:
        return ()
    lines = tuple(each.describe() for each in report.calibration)
    table = Table(("prediction", ">rows", ">mean prediction", ">mean outcome", ">95% interval"), lines)
    picture = residual_picture(differences(report.calibration))
    return (Section("Calibration", (table, *(() if picture is None else (Scatter(picture, _CALIBRATED),)))),)


_BOUNDS_REST_ON = {
    "declared": "Declared bounds are public knowledge. Bounds that were read off the data without noise void the "
    "guarantee.",
    "reference": "The table that the bounds were taken from is public, and is no part of the data.",
    "paid": "Bounds are private quantiles that this fit paid for. Outer limits, if declared, are public knowledge.",
    "data": "Nothing, as the bounds were read off the data without noise, which voids the guarantee.",
}


def _assumptions(report: Any) -> tuple[Part, ...]:
    arithmetic = {
        "exact": "The guarantee is one of the program as it ran, rounding included. IEEE arithmetic and numpy's "
        "elementary functions are assumed to be as accurate as documented.",
        "float": "The guarantee is one of the formulas in real numbers. Effects of floating-point arithmetic are not "
        "covered; a fit with arithmetic='exact' covers them.",
    }
    items = (
        *(f"Public, and not protected: {item}." for item in report.assumed_public),
        _BOUNDS_REST_ON[report.bounds_origin],
        "The operating system's random numbers are unpredictable.",
        "Other uses of the same rows are not covered by this report: the costs of several releases add up.",
        arithmetic[report.arithmetic],
    )
    parts: tuple[Part, ...] = (Bullets(items), f"{report.bounds_in_words}:", Table(("", ""), tuple(report.bounds)))
    return (*parts, "On these bounds:", Bullets(tuple(report.advice))) if report.advice else parts


def _checks(report: Any) -> tuple[Part, ...]:
    words = (
        "The page as HTML (report.to_html(), or dpols fit --report report.html) and the report as JSON "
        "(report.to_json(), or dpols fit --json) hold every release with its parameters. Either of these computes anew "
        "what they cost, without the data; the first also compares every word of the page with them:"
    )
    versions = ", ".join(f"{name} {version}" for name, version in report.versions)
    ledger = "" if report.ledger_entry is None else " --ledger FILE"
    return (
        words,
        Code(tuple(f"dpols verify report.{kind}{ledger}" for kind in ("html", "json"))),
        f"The fit ran with {versions}.",
    )
