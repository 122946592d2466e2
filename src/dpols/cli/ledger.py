"""``dpols ledger``: a budget that many fits share."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import LedgerError, ParameterError
from . import options as given
from .console import out as console
from .console import print_json, print_table
from .naming import options_named
from .output import check_output, write_text

if TYPE_CHECKING:
    from ..ledger import BudgetLedger, State

ledger = typer.Typer(help="A privacy budget that many fits share.", invoke_without_command=True)

_BUDGET = {"epsilon": "--epsilon ", "delta": "--delta "}

File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger's file.")]
Delta = Annotated[float, typer.Option(help="Total probability with which the loss may be larger.")]
Epsilon = Annotated[float, typer.Option(help="Privacy loss that all releases together may have.")]


@ledger.callback()
def choose(context: typer.Context) -> None:
    """A privacy budget that many fits share, each planned after seeing the earlier ones."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@ledger.command()
@options_named(**_BUDGET, failure_share="--failure-share ", black_boxes="--black-boxes ")
def create(
    file: File,
    epsilon: Epsilon,
    delta: Delta,
    neighbours: given.NeighboursOption = "zero-out",
    failure_share: Annotated[
        float, typer.Option(help="Share of delta for all but Gaussian releases: sketches, failures, black boxes.")
    ] = 0.5,
    black_boxes: Annotated[
        tuple[float, float],
        typer.Option(metavar="EPSILON DELTA", help="Part reserved for black boxes, whose costs are added up."),
    ] = (0.0, 0.0),
    data: Annotated[str | None, typer.Option(metavar="NAME", help="What the data set is called.")] = None,
    json: given.Json = False,
) -> None:
    """Create a ledger. Fits are charged to it by "dpols fit --ledger FILE"."""
    from ..ledger import BudgetLedger

    if not _is_free(file):
        raise ParameterError(f"{str(file)!r} exists already; choose another name, or raise its cap by 'ledger cap'.")
    made = BudgetLedger(
        file,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        failure_share=failure_share,
        black_boxes=black_boxes,
        data=data,
    )
    _show(made, json)


@ledger.command()
def show(
    file: File,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write it as an HTML page.")] = None,
    json: given.Json = False,
) -> None:
    """Show what a ledger allows, what is left of it and what it was charged."""
    from ..ledger.words import to_html

    opened = _opened(file)
    if html is not None:
        check_output(html, inputs=(file,), option="--html")
        write_text(html, [to_html(opened.path, opened.state(), opened.head())])
    _show(opened, json)


@ledger.command()
def check(
    file: File,
    head: Annotated[
        str | None, typer.Option(help="Head that was noted down earlier; it must be in the history.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Check that no row of a ledger was changed or removed, and print its head.

    Note the head down elsewhere: with it, also a ledger that was cut, forged or put back as a whole is found.
    """
    try:
        found, problem = _opened(file).check(head), None
    except LedgerError as error:
        found, problem = None, str(error)
    if json:
        print_json({"ok": problem is None, "head": found, "problem": problem})
    else:
        console.print(f"OK, head {found}" if problem is None else f"NOT OK: {problem}", soft_wrap=True)
    raise typer.Exit(0 if problem is None else 1)


@ledger.command()
@options_named(**_BUDGET)
def cap(file: File, epsilon: Epsilon, delta: Delta, json: given.Json = False) -> None:
    """Raise a ledger's cap for good; what was spent counts towards it.

    From then on the ledger's guarantee is that of the higher cap.
    """
    raised = _opened(file)
    raised.raise_cap(epsilon, delta)
    _show(raised, json)


@ledger.command()
@options_named(**_BUDGET, multiplier="--gaussian ")
def add(
    file: File,
    what: Annotated[str, typer.Option(help="What is released.")],
    gaussian: Annotated[
        float | None,
        typer.Option(metavar="MULTIPLIER", help="Gaussian noise: its standard deviation over the sensitivity."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="A black box that is (epsilon, delta)-private.")] = None,
    delta: Annotated[float, typer.Option(help="Its delta.")] = 0.0,
    json: given.Json = False,
) -> None:
    """Charge a release that is about to be made by other means. Exits with 1 where it is over the cap."""
    from ..privacy import GaussianRelease, OpaqueRelease

    if (gaussian is None) == (epsilon is None):
        raise ParameterError("give either --gaussian MULTIPLIER or --epsilon with --delta.")
    release = GaussianRelease(gaussian) if epsilon is None else OpaqueRelease(epsilon, delta)  # type: ignore[arg-type]
    charged = _opened(file)
    charged.add(release, what=what)
    _show(charged, json)


@ledger.command()
def void(
    file: File,
    row: Annotated[int, typer.Option(help='Row of the reservation, as "dpols ledger show" numbers it.')],
    because: Annotated[str, typer.Option(help="How you know that nothing was released; it is kept in the ledger.")],
    nothing_was_released: Annotated[
        bool,
        typer.Option(
            "--nothing-was-released",
            help="Say that nobody has seen a result of that fit, in whole or in part, and that it does not run.",
        ),
    ] = False,
    json: given.Json = False,
) -> None:
    """Give back what a fit that was killed had reserved. It counts as spent until then.

    A fit that fails before its first release gives its charge back by itself. A killed fit cannot. Only you
    can know that it released nothing; the ledger's guarantee then rests on your word.
    """
    if not nothing_was_released:
        raise ParameterError(
            f"row {row} can be void only if nobody has seen anything of that fit; say so by --nothing-was-released."
        )
    voided = _opened(file)
    voided.void(row, why=f"by hand: {because}")
    _show(voided, json)


def _opened(file: Path) -> "BudgetLedger":
    from ..ledger import BudgetLedger

    return BudgetLedger(file)


def _is_free(file: Path) -> bool:
    """Return whether a ledger can be created there: there is nothing, or a creation that was cut short."""
    from ..ledger.store import Store

    try:
        return Store(file.absolute()).is_empty()
    except LedgerError:
        return False


def _show(ledger: "BudgetLedger", json: bool) -> None:
    from ..ledger.words import CHARGES, alarm_of, charges_of, facts_of

    state, head = ledger.state(), ledger.head()
    if json:
        return print_json(_plain(state, head))
    if alarm := alarm_of(state):
        console.print(alarm, style="bold red", soft_wrap=True)
    print_table(f"Ledger {ledger.path.name}", ("", ""), facts_of(state, head))
    if rows := charges_of(state):
        print_table("Charges", CHARGES, rows)


def _plain(state: "State", head: str) -> dict[str, Any]:
    from ..ledger import gaussian_left
    from ..ledger.records import releases_to_data

    return {
        "private": not state.not_private,
        "not_private": [{"row": entry.number, "why": entry.why_not_private} for entry in state.not_private],
        "epsilon": state.budget.epsilon,
        "delta": state.budget.delta,
        "data": state.data,
        "neighbours": str(state.neighbours),
        "failure_share": state.failure_share,
        "black_boxes": list(state.caps.black_boxes),
        "used": state.used,
        "black_boxes_used": [float(state.epsilon), float(state.delta)],
        "gaussian_epsilon_left": gaussian_left(state),
        "one_fit_may_take_all": not state.counted,
        "head": head,
        "caps": [{"row": cap.number, "time": cap.time, **asdict(cap.budget)} for cap in state.history],
        "entries": [
            {
                **{name: getattr(entry, name) for name in ("number", "time", "what")},
                "about": entry.about.to_data(),
                "groups": [releases_to_data(group) for group in entry.groups],
                "charge": asdict(entry.charge),
                "share": state.share_of(entry),
                **{name: getattr(entry, name) for name in ("whole", "status", "outcome", "sha256")},
            }
            for entry in state.entries
        ],
    }
