"""``dpols cost``: what a plan would release and cost, without any data."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ..errors import DpolsError, ParameterError
from . import options as given
from .console import out, print_json, print_table
from .guarantee import closed_form, show_closed_form, without_infinity
from .naming import options_named

if TYPE_CHECKING:
    from ..privacy import PrivacyBudget
    from ..report import ReleaseLine
    from ..theory import ClosedForm


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


@dataclass(frozen=True)
class Question:
    """What is to be planned, of any method."""

    budget: "PrivacyBudget"
    rows: int | None  # None where their number is not public
    coefficients: int
    neighbours: given.Neighbours
    inference: bool
    options: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        sizes = {"rows": self.rows, "coefficients": self.coefficients}
        return {**asdict(self.budget), **sizes, "neighbours": self.neighbours, "inference": self.inference}

    def __str__(self) -> str:
        budget = f"epsilon = {self.budget.epsilon:.6g}, delta = {self.budget.delta:.4g}"
        return f"{budget}, {self.neighbours} neighbours"


@options_named(epsilon="--epsilon ", delta="--delta ", method="--method ", n_rows="--rows ", n_features="--features ")
def cost(
    features: given.Features,
    epsilon: given.Epsilon,
    delta: given.Delta,
    rows: given.RowsIfPublic = None,
    method: Annotated[str, typer.Option(help="Algorithm, or 'all' to compare them.")] = "whitened",
    accounting: given.AccountingOption = "exact",
    neighbours: given.NeighboursOption = "zero-out",
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    inference: Annotated[
        bool, typer.Option("--inference", help="Plan the fit that has standard errors and intervals.")
    ] = False,
    json: given.Json = False,
) -> None:
    """Say what a fit would release and cost, without any data.

    Compares exact accounting with the paper's looser one: noise, claimed epsilon, exact epsilon. For IHM also the
    closed form of the paper's theorem. With --inference: of the method that has intervals.
    """
    if neighbours == "add-remove":
        rows = None
    elif rows is None:
        raise ParameterError(
            "--rows is missing: give the number of rows, or --neighbours add-remove to keep it private."
        )
    budget = given.parsed_budget(epsilon, delta, rows)
    if method == "all" and (option or inference):
        raise ParameterError("--option and --inference belong to one method; give --method, or leave them out.")
    chosen = {} if method == "all" else given.parsed_options(given.in_use(method, inference=inference), option)
    asked = Question(budget, rows, features + (not no_intercept), neighbours, inference, chosen)
    if method == "all":
        return compare_methods(asked, as_json=json)
    costs, missing = plan_costs(method, asked, accounting)
    closed = None
    if method == "ihm" and neighbours == "zero-out" and not inference:
        closed = closed_form(budget, *sketches_of(costs[accounting]))
    if json:
        plans = {name: plan.to_dict() for name, plan in costs.items()}
        form = {} if closed is None else {"closed_form": {**without_infinity(asdict(closed)), "valid": closed.valid}}
        return print_json({"method": method, **asked.to_dict(), "accounting": plans, **form})
    intercept = "" if no_intercept else ", intercept included"
    known = "rows whose number is not public," if rows is None else f"{rows:,} rows"
    out.print(f"{method} on {known} with {asked.coefficients} coefficients{intercept}")
    out.print(f"asked: {asked}\n")
    show_costs(costs, closed)
    for other, reason in missing.items():
        out.print(f"No plan under {other} accounting: {reason}")


def plan_costs(
    method: str, asked: Question, accounting: given.Accounting = "exact"
) -> tuple[dict[str, PlanCost], dict[str, str]]:
    """Plan under this accounting, which must work, and the other, to compare; return why the other has no plan."""
    costs: dict[str, PlanCost] = {}
    missing: dict[str, str] = {}
    for name in sorted(get_args(given.Accounting), key=lambda other: other != accounting):
        try:
            with options_named(**{key: f"--option {key}=" for key in asked.options}):
                costs[name] = plan_cost(method, asked, name)
        except DpolsError as error:
            if name == accounting:
                raise
            missing[name] = str(error)
    return costs, missing


def plan_cost(method: str, asked: Question, accounting: given.Accounting) -> PlanCost:
    """Plan under one accounting and cost its releases exactly, with those for intervals if they are asked for."""
    from ..algorithms import algorithm
    from ..privacy import Neighbours
    from ..report import release_lines
    from ..side_releases.alongside import joint_planned_epsilon
    from ..side_releases.side_plan import plan_fit

    relation = Neighbours(asked.neighbours)
    planned = plan_fit(
        algorithm(given.in_use(method, inference=asked.inference)),
        asked.budget.for_zero_out(relation),
        n_rows=asked.rows,
        n_features=asked.coefficients,
        accounting=accounting,
        **asked.options,
    )
    plan, beside = planned.method, planned.beside
    lines = release_lines((*plan.release_names, *beside.release_names), (*plan.releases, *beside.releases))
    epsilon = joint_planned_epsilon(plan, beside.releases, asked.budget, relation=relation)
    return PlanCost(lines, asked.budget.epsilon, epsilon)


def compare_methods(asked: Question, *, as_json: bool) -> None:
    """Print for every method what it would release, and how much of epsilon its published calibration really uses."""
    from ..algorithms import ALGORITHMS

    # Not every method has a published calibration.
    usable = [name for name, row in ALGORITHMS.items() if asked.rows is not None or row.needs_rows is None]
    costs = {method: plan_costs(method, asked)[0] for method in usable}
    if as_json:
        plans = {method: {name: plan.to_dict() for name, plan in both.items()} for method, both in costs.items()}
        return print_json({**asked.to_dict(), "methods": plans})
    released = {method: both["exact"].lines for method, both in costs.items()}
    rows = [
        (
            method,
            described(released[method]),
            f"{both['exact'].exact_epsilon:.4g}",
            f"{both['paper'].exact_epsilon:.4g}" if "paper" in both else "none",
        )
        for method, both in costs.items()
    ]
    columns = ("", "released under exact accounting", ">costs", ">costs as published")
    print_table(f"All methods, {asked}", columns, rows)


def described(lines: "Iterable[ReleaseLine]") -> str:
    """Return releases in a line."""
    return "; ".join(f"{line.times} x {line.what}: {line.describe()}" for line in lines)


def sketches_of(plan: PlanCost) -> tuple[int, int]:
    """Return the rows and the number of the sketches that a plan releases."""
    from ..privacy import MixingRelease

    return next((line.release.rows, line.times) for line in plan.lines if isinstance(line.release, MixingRelease))


def show_costs(costs: dict[str, PlanCost], closed: "ClosedForm | None") -> None:
    """Print the plans side by side, and the closed form where there is one."""
    described = {
        name: {line.what: f"{line.times} x {line.describe()}" for line in plan.lines} for name, plan in costs.items()
    }
    everything = list(dict.fromkeys(what for lines in described.values() for what in lines))
    rows = [(what, *(lines.get(what, "not released") for lines in described.values())) for what in everything]
    rows.append(("epsilon that it claims", *(f"{plan.claimed_epsilon:.6g}" for plan in costs.values())))
    rows.append(("epsilon that it costs", *(f"{plan.exact_epsilon:.6g}" for plan in costs.values())))
    print_table("What would be released", ("", *(f"{name} accounting" for name in costs)), rows)
    if closed is not None:
        show_closed_form(closed)
