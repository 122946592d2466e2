"""``dpols cost``: what a plan would release and cost, without any data."""

import json as json_format
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DpolsError
from . import options as given
from .console import out, print_table

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


def cost(
    rows: Annotated[int, typer.Option(min=1, help="Number of rows of the data, which is public.")],
    features: Annotated[int, typer.Option(min=1, help="Number of features, without the intercept.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    method: given.Method = "ihm",
    accounting: given.AccountingOption = given.Accounting.EXACT,
    neighbours: given.NeighboursOption = given.Neighbours.ZERO_OUT,
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    json: given.Json = False,
) -> None:
    """Say what a fit would release and cost, without any data.

    Shows the noise under exact accounting beside that of the paper's own, looser accounting, each with the epsilon that
    it claims and the one that its releases cost exactly.
    """
    from ..estimators import delta_from_rule
    from ..privacy import PrivacyBudget

    rule = given.parsed_delta(delta, epsilon)
    budget = PrivacyBudget(epsilon, delta_from_rule(rule, rows) if isinstance(rule, str) else rule)
    coefficients = features + (not no_intercept)
    chosen = given.parsed_options(method, option)
    costs: dict[str, PlanCost] = {}
    missing: dict[str, str] = {}
    for name in sorted(given.Accounting, key=lambda other: other != accounting):
        try:
            costs[name.value] = plan_cost(method, budget, neighbours, name, rows, coefficients, chosen)
        except DpolsError as error:
            # The accounting that was asked for must work; the other one is there to compare.
            if name == accounting:
                raise
            missing[name.value] = str(error)
    if json:
        asked = {"method": method, **asdict(budget), "rows": rows, "coefficients": coefficients}
        plans = {name: plan.to_dict() for name, plan in costs.items()}
        typer.echo(json_format.dumps({**asked, "neighbours": neighbours.value, "accounting": plans}, indent=2))
    else:
        intercept = "" if no_intercept else ", intercept included"
        out.print(f"{method} on {rows:,} rows with {coefficients} coefficients{intercept}")
        out.print(f"asked: epsilon = {budget.epsilon:.6g}, delta = {budget.delta:.4g}, {neighbours.value} neighbours\n")
        show_costs(costs)
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
) -> PlanCost:
    """Plan under one accounting and cost the plan's releases exactly."""
    from ..algorithms import algorithm
    from ..privacy import Neighbours, epsilon_of
    from ..report import release_lines

    relation = Neighbours(neighbours.value)
    plan = algorithm(method).plan(
        budget.for_zero_out(relation), n_rows=n_rows, n_features=n_coefficients, accounting=accounting.value, **options
    )
    lines = release_lines(plan.release_names, plan.releases)
    return PlanCost(lines, budget.epsilon, epsilon_of(plan.releases, budget.delta, relation=relation))


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
