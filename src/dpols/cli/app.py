"""The commands by name, and how arguments reach them."""

from collections.abc import Sequence
from typing import Annotated

import typer

from ..errors import ParameterError
from .app_command import app as app_command
from .audit import audit
from .bounds_check import bounds_check
from .bounds_template import bounds_template
from .cost import cost
from .demo import demo
from .fit import fit
from .guarantee import guarantee
from .ledger import ledger
from .plan import plan
from .predict import predict
from .registry import registry
from .report import report
from .summary import summary
from .verify import verify

# Bad usage has a base class that typer exports only through its children.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(name="dpols", add_completion=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.callback(invoke_without_command=True)
def dpols(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Linear, logistic and Poisson regression with a differential privacy guarantee, and what it costs.

    Start with "dpols demo", or with your own table: "dpols bounds-template", then "dpols fit", then "dpols predict".
    """
    if version:
        from .. import __version__

        typer.echo(f"dpols {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    fit,
    predict,
    summary,
    report,
    verify,
    registry,
    bounds_template,
    bounds_check,
    plan,
    cost,
    guarantee,
    demo,
    audit,
):
    app.command()(command)
app.command("app")(app_command)
app.add_typer(ledger, name="ledger")


def run(arguments: Sequence[str] | None, commands: typer.Typer = app) -> int:
    """Run one command and return its exit code; errors are the caller's to show."""
    name = str(commands.info.name)
    try:
        code = typer.main.get_command(commands).main(arguments, prog_name=name, standalone_mode=False)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        command = name if context is None else context.command_path
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        raise ParameterError(f"{message}. See {command} --help.") from None
    except typer.Abort:
        return 130
    return code if isinstance(code, int) else 0
