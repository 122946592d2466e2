"""The command ``dpols-bench``: one file per benchmark; errors and exit codes are those of ``dpols``."""

from collections.abc import Sequence

from dpols.cli import exit_after


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one benchmark, by default with the arguments of the process, and exit."""
    exit_after(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    from dpols.cli.app import run

    from .app import bench

    return run(arguments, bench)
