"""A privacy report for people: what came out, what it cost, what was assumed."""

from typing import TYPE_CHECKING

from .console import number, out, print_table

if TYPE_CHECKING:
    from ..inference.summary import Summary
    from ..report import PrivacyReport


def show_report(report: "PrivacyReport", summary: "Summary | None" = None) -> None:
    """Print a report as tables that fit 80 columns; a summary stands in for the table of coefficients."""
    if summary is not None:
        out.print(f"{summary}\n", soft_wrap=True)  # it says what is not private, and the advice, too
        return show_cost(report)
    if report.alarm is not None:
        out.print(report.alarm, style="bold red", soft_wrap=True)
        out.print()
    for caution in report.cautions:
        out.print(caution, style="bold yellow")
        out.print()
    print_table(
        "Coefficients, in the units of the data",
        ("feature", ">coefficient", ">standard deviation of the noise"),
        [(c.name, number(c.value), number(c.noise_stddev)) for c in report.coefficients],
    )
    out.print(f"{report.noise_meaning}\n")
    if report.constraints:
        out.print(f"{' '.join(report.estimate_notes)}\n")
    show_cost(report)
    for item in report.advice:
        out.print(f"Advice: {item}")


def show_cost(report: "PrivacyReport") -> None:
    """Print everything but the coefficients and the advice."""
    print_table(
        "Privacy report",
        ("", ""),
        [
            *((f"{name[:1].lower()}{name[1:]}", words) for name, words in report.facts),
            ("assumed public", "; ".join(report.assumed_public)),
            ("verdict", f"{report.verdict}: {report.verdict_reason}"),
        ],
    )
    print_table(
        "Releases",
        (">times", "what", "noise"),
        [(str(line.times), line.what, line.describe()) for line in report.lines],
    )
    print_table(report.bounds_in_words, ("", ""), report.bounds)
