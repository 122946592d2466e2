"""``dpols bounds-check``: what public numbers say of bounds before anything is spent."""

from pathlib import Path
from typing import Annotated

import typer

from . import options as given
from .bounds_file import read_feature_map
from .console import out, print_json, print_table


def bounds_check(
    bounds: Annotated[Path, typer.Argument(metavar="BOUNDS", help="Bounds file, as dpols fit takes it.")],
    rows: given.Rows,
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    target: Annotated[str | None, typer.Option(help="Name of the target, for a bounds file in CSV.")] = None,
    method: given.Method = "whitened",
    neighbours: given.NeighboursOption = "zero-out",
    no_intercept: given.NoIntercept = False,
    max_rows_per_unit: Annotated[int, typer.Option(min=1, help="Rows that a unit of privacy may have.")] = 1,
    json: given.Json = False,
) -> None:
    """Say how wide bounds may be for a number of rows and a budget, without any data.

    Prints how many standard deviations each column's bounds may reach from the middle of its values. Wider bounds
    shrink the column's coefficient towards zero. Compare with what you know about your columns; dpols fit
    --count-clipped counts in the data, for a fiftieth of the budget.
    """
    from ..algorithms import algorithm
    from ..privacy import Neighbours
    from ..side_releases.bounds_advice import advice_on_room, room_for_width

    budget = given.parsed_budget(epsilon, delta, rows)
    declared = read_feature_map(bounds, target).bounds()
    assert isinstance(declared.features, dict)
    names = list(declared.features)
    row_map = declared.row_map(n_features=len(names), columns=names, fit_intercept=not no_intercept)
    n_units = -(-rows // max_rows_per_unit)
    plan = algorithm(method).plan(
        budget.for_zero_out(Neighbours(neighbours)), n_rows=n_units, n_features=row_map.n_coordinates
    )
    room = room_for_width(row_map, plan.releases, n_units)
    least = {name: 0.5 * (high - low) / room for name, (low, high) in declared.features.items()}
    if json:
        report = {
            "room_in_standard_deviations": room,
            "least_standard_deviation_by_column": least,
            "advice": list(advice_on_room(room)),
        }
        print_json(report)
        return
    print_table(
        f"Bounds for {rows:,} rows, epsilon = {epsilon:g}: up to {room:.1f} standard deviations each way",
        ("column", ">low", ">high", ">wide unless values vary by at least"),
        [(name, f"{low:g}", f"{high:g}", f"{least[name]:.3g}") for name, (low, high) in declared.features.items()],
    )
    for item in advice_on_room(room):
        out.print(f"Advice: {item}", soft_wrap=True)
