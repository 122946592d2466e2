"""``dpols cost``: what a plan would release and cost, without any data."""

import itertools
import json as json_format
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DpolsError, ParameterError
from . import options as given
from .console import out, print_table
from .guarantee import closed_form, show_closed_form, without_infinity
from .naming import options_named

if TYPE_CHECKING:
    from ..report import ReleaseLine


@dataclass(frozen=True)
class PlanCost:
    """What one accounting would release, and what that costs by its own claim and exactly."""

    lines: "tuple[ReleaseLine, ...]"
    claimed_epsilon: float
    exact_epsilon: float

    def to_dict(self) -> dict[str, Any]:
        releases = [
            {"what": line.what, "times": line.times, "type": type(line.release).__name__, **asdict(line.release)}
            for line in self.lines
        ]
        return {"claimed_epsilon": self.claimed_epsilon, "exact_epsilon": self.exact_epsilon, "releases": releases}


@options_named(epsilon="--epsilon ", delta="--delta ", method="--method ", n_rows="--rows ", n_features="--features ")
def cost(
    rows: Annotated[int, typer.Option(min=1, help="Number of rows of the data, which is public.")],
    features: Annotated[int, typer.Option(min=1, help="Number of features, without the intercept.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    method: Annotated[str, typer.Option(help="Algorithm, or 'all' to compare them.")] = "whitened",
    accounting: given.AccountingOption = given.Accounting.EXACT,
    neighbours: given.NeighboursOption = given.Neighbours.ZERO_OUT,
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    inference: Annotated[
        bool, typer.Option("--inference", help="With what standard errors and intervals are computed from.")
    ] = False,
    json: given.Json = False,
) -> None:
    """Say what a fit would release and cost, without any data.

    Shows the noise under exact accounting beside that of the paper's own, looser accounting, each with the epsilon that
    it claims and the one that its releases cost exactly. For IHM also the closed form of the paper's theorem. With
    --inference: also what intervals are computed from, and the noise that the method has left.
    """
    budget = given.parsed_budget(epsilon, delta, rows)
    coefficients = features + (not no_intercept)
    if method == "all":
        if option:
            raise ParameterError("--option belongs to one method; give --method, or leave out --option.")
        compare_methods(budget, neighbours, rows, coefficients, inference=inference, as_json=json)
        return
    chosen = given.parsed_options(method, option)
    costs: dict[str, PlanCost] = {}
    missing: dict[str, str] = {}
    for name in sorted(given.Accounting, key=lambda other: other != accounting):
        try:
            with options_named(**{key: f"--option {key}=" for key in chosen}):
                costs[name.value] = plan_cost(
                    method, budget, neighbours, name, rows, coefficients, chosen, inference=inference
                )
        except DpolsError as error:
            # The accounting that was asked for must work; the other one is there to compare.
            if name == accounting:
                raise
            missing[name.value] = str(error)
    closed = None
    if method == "ihm" and neighbours is given.Neighbours.ZERO_OUT and not inference:
        closed = closed_form(budget, *sketches_of(costs[accounting.value]))
    if json:
        asked = {"method": method, **asdict(budget), "rows": rows, "coefficients": coefficients}
        content = {
            **asked,
            "neighbours": neighbours.value,
            "inference": inference,
            "accounting": {name: plan.to_dict() for name, plan in costs.items()},
            **({} if closed is None else {"closed_form": {**without_infinity(asdict(closed)), "valid": closed.valid}}),
        }
        typer.echo(json_format.dumps(content, indent=2))
    else:
        intercept = "" if no_intercept else ", intercept included"
        out.print(f"{method} on {rows:,} rows with {coefficients} coefficients{intercept}")
        out.print(f"asked: epsilon = {budget.epsilon:.6g}, delta = {budget.delta:.4g}, {neighbours.value} neighbours\n")
        show_costs(costs)
        if closed is not None:
            show_closed_form(closed)
        for other, reason in missing.items():
            out.print(f"No plan under {other} accounting: {reason}")


def plan_cost(
    method: str,
    budget: Any,
    neighbours: given.Neighbours,
    accounting: given.Accounting,
    n_rows: int,
    n_coefficients: int,
    options: dict[str, Any],
    *,
    inference: bool = False,
) -> PlanCost:
    """Plan under one accounting and cost its releases exactly, with those for intervals if they are asked for."""
    from ..algorithms import algorithm
    from ..privacy import Neighbours
    from ..report import release_lines
    from ..side_releases.alongside import joint_planned_epsilon
    from ..side_releases.one_step import DEFAULT_SHARE
    from ..side_releases.side_plan import plan_fit

    relation = Neighbours(neighbours.value)
    share, whole = DEFAULT_SHARE if inference else None, budget.for_zero_out(relation)
    planned = plan_fit(
        algorithm(method),
        whole,
        n_rows=n_rows,
        n_features=n_coefficients,
        inference_share=share,
        accounting=accounting.value,
        **options,
    )
    plan, beside = planned.method, planned.beside
    lines = release_lines((*plan.release_names, *beside.release_names), (*plan.releases, *beside.releases))
    return PlanCost(lines, budget.epsilon, joint_planned_epsilon(plan, beside.releases, budget, relation=relation))


def compare_methods(
    budget: Any,
    neighbours: given.Neighbours,
    n_rows: int,
    n_coefficients: int,
    *,
    inference: bool,
    as_json: bool,
) -> None:
    """Print for every method what it would release, and how much of epsilon its published calibration really uses."""
    from ..algorithms import ALGORITHMS

    costs: dict[str, dict[str, PlanCost]] = {method: {} for method in ALGORITHMS}
    for method, name in itertools.product(ALGORITHMS, given.Accounting):
        try:
            costs[method][name.value] = plan_cost(
                method, budget, neighbours, name, n_rows, n_coefficients, {}, inference=inference
            )
        except DpolsError:
            # Not every method has a published calibration.
            if name is given.Accounting.EXACT:
                raise
    if as_json:
        plans = {method: {name: plan.to_dict() for name, plan in both.items()} for method, both in costs.items()}
        asked = {**asdict(budget), "rows": n_rows, "coefficients": n_coefficients, "neighbours": neighbours.value}
        asked["inference"] = inference
        typer.echo(json_format.dumps({**asked, "methods": plans}, indent=2))
        return
    released = {method: both["exact"].lines for method, both in costs.items()}
    # What intervals are computed from is the same for all methods.
    shared = [line for line in next(iter(released.values())) if all(line in lines for lines in released.values())]
    rows = [
        (
            method,
            described(line for line in released[method] if line not in shared),
            f"{both['exact'].exact_epsilon:.4g}",
            f"{both['paper'].exact_epsilon:.4g}" if "paper" in both else "none",
        )
        for method, both in costs.items()
    ]
    title = f"All methods, epsilon = {budget.epsilon:.6g}, delta = {budget.delta:.4g}, {neighbours.value} neighbours"
    print_table(title, ("", "released under exact accounting", ">costs", ">costs as published"), rows)
    if shared:
        out.print(f"Each also releases {described(shared)}.")


def described(lines: "Iterable[ReleaseLine]") -> str:
    """Return releases in a line."""
    return "; ".join(f"{line.times} x {line.what}: {line.describe()}" for line in lines)


def sketches_of(plan: PlanCost) -> tuple[int, int]:
    """Return the rows and the number of the sketches that a plan releases."""
    from ..privacy import MixingRelease

    found = [(line.release.rows, line.times) for line in plan.lines if isinstance(line.release, MixingRelease)]
    return found[0]


def show_costs(costs: dict[str, PlanCost]) -> None:
    """Print the plans side by side."""
    described = {
        name: {line.what: f"{line.times} x {line.describe()}" for line in plan.lines} for name, plan in costs.items()
    }
    everything = list(dict.fromkeys(what for lines in described.values() for what in lines))
    rows = [(what, *(lines.get(what, "not released") for lines in described.values())) for what in everything]
    rows.append(("epsilon that it claims", *(f"{plan.claimed_epsilon:.6g}" for plan in costs.values())))
    rows.append(("epsilon that it costs", *(f"{plan.exact_epsilon:.6g}" for plan in costs.values())))
    print_table("What would be released", ("", *(f"{name} accounting" for name in costs)), rows)
