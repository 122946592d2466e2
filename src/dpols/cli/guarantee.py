"""``dpols guarantee``: what theory promises of the methods, and the parameters that it suggests, without any data."""

import math
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as given
from .console import number, out, print_json, print_table

if TYPE_CHECKING:
    from ..privacy import PrivacyBudget
    from ..theory import ClosedForm, Guarantee


def guarantee(
    rows: given.Rows,
    features: given.Features,
    epsilon: given.Epsilon,
    delta: given.Delta,
    no_intercept: given.NoIntercept = False,
    theta_norm: Annotated[float, typer.Option(min=0.0, help="Norm of the best coefficients.")] = 1.0,
    lambda_min: Annotated[float, typer.Option(min=0.0, help="Smallest eigenvalue of X'X.")] = 0.0,
    lambda_max: Annotated[
        float | None, typer.Option(min=0.0, help="Largest eigenvalue of X'X; at worst the number of rows.")
    ] = None,
    lambda_min_joint: Annotated[float, typer.Option(min=0.0, help="Smallest eigenvalue of [X, y]'[X, y].")] = 0.0,
    loss: Annotated[
        float | None, typer.Option(min=0.0, help="Sum of squared residuals of least squares; at worst rows x bound^2.")
    ] = None,
    target_bound: Annotated[float, typer.Option(min=0.0, help="Largest absolute value of the target.")] = 1.0,
    failure_probability: Annotated[
        float | None, typer.Option(help="Probability with which the guarantees may fail; delta / 10 if not given.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Newton steps T of IHM.")] = 3,
    sketch_size: Annotated[
        int | None, typer.Option(min=1, help="Rows k of each of its sketches; the suggested number if not given.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Say what theory promises about IHM, AdaSSP and LinMix, without any data.

    Rows are scaled to norm 1. Bounds on the excess risk hold up to constants and logarithms: they rank methods, they do
    not predict an error. What is not given is taken at its worst.
    """
    budget = given.parsed_budget(epsilon, delta, rows)
    known = {
        "theta_norm": theta_norm,
        "target_bound": target_bound,
        "lambda_min": lambda_min,
        "lambda_max": float(rows) if lambda_max is None else lambda_max,
        "lambda_min_joint": lambda_min_joint,
        "loss": rows * target_bound**2 if loss is None else loss,
        "failure_probability": budget.delta / 10.0 if failure_probability is None else failure_probability,
    }
    coefficients = features + (not no_intercept)
    promised = guarantees(budget, coefficients, known)
    parameters = suggestions(budget, rows, coefficients, known, iterations, sketch_size)
    closed = closed_form(budget, int(parameters["sketch_size"]), iterations, known["failure_probability"])
    if json:
        content = {
            **asdict(budget),
            "rows": rows,
            "coefficients": coefficients,
            "assumed": known,
            "guarantees": {g.method: without_infinity(asdict(g)) for g in promised},
            "parameters": parameters,
            "closed_form": without_infinity({**asdict(closed), "valid": closed.valid}),
        }
        print_json(content)
        return
    out.print(f"{rows:,} rows with {coefficients} coefficients, epsilon = {epsilon:.6g}, delta = {budget.delta:.4g}")
    out.print("assumed: " + ", ".join(f"{name} = {value:.6g}" for name, value in known.items()) + "\n")
    show_guarantees(promised)
    show_parameters(parameters)
    show_closed_form(closed)


def guarantees(budget: "PrivacyBudget", n_features: int, known: dict[str, float]) -> "tuple[Guarantee, ...]":
    """Return the guarantees of the comparison table."""
    from ..theory import adassp_guarantee, ihm_guarantee, linmix_guarantee

    shared: dict[str, Any] = {"n_features": n_features} | {
        name: known[name] for name in ("theta_norm", "target_bound", "failure_probability")
    }
    return (
        ihm_guarantee(budget, smallest=known["lambda_min"], largest=known["lambda_max"], **shared),
        adassp_guarantee(budget, smallest=known["lambda_min"], **shared),
        linmix_guarantee(budget, smallest_joint=known["lambda_min_joint"], loss=known["loss"], **shared),
    )


def suggestions(
    budget: "PrivacyBudget",
    n_rows: int,
    n_features: int,
    known: dict[str, float],
    n_iterations: int,
    sketch_size: int | None,
) -> dict[str, float]:
    """Return the suggested parameters of IHM, and whether clipping is avoided at the ones in use."""
    from .. import theory
    from ..algorithms import algorithm

    spectrum: dict[str, Any] = {"smallest": known["lambda_min"], "largest": known["lambda_max"]}
    common: dict[str, Any] = {"n_features": n_features, "failure_probability": known["failure_probability"]}
    term = theory.condition_term(budget, n_features=n_features, **spectrum)
    size = sketch_size or theory.suggested_sketch_size(n_iterations=n_iterations, **common)
    sizes: dict[str, Any] = {
        "n_rows": n_rows,
        "n_features": n_features,
        "n_iterations": n_iterations,
        "sketch_size": size,
    }
    floor = algorithm("ihm").plan(budget, **sizes).floor
    condition = theory.shifted_condition_number(floor=floor, **spectrum)
    ratio = theory.no_clipping_ratio(n_features=n_features, sketch_size=size, condition_number=condition)
    best = theory.best_iterations(budget, **common, **spectrum)
    return {
        "condition_term": term,
        "best_iterations": best,
        "suggested_iterations": math.ceil(best),
        "n_iterations": n_iterations,
        "suggested_sketch_size": theory.suggested_sketch_size(n_iterations=n_iterations, condition_term=term, **common),
        "sketch_size": size,
        "floor": floor,
        "condition_number": condition,
        "no_clipping_ratio": ratio,
    }


def closed_form(
    budget: "PrivacyBudget", sketch_size: int, n_iterations: int, failure_probability: float | None = None
) -> "ClosedForm":
    """Return the theorem's closed form, and say so on standard error where it is not valid."""
    from ..theory import ClosedFormWarning, ihm_closed_form

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClosedFormWarning)
        found = ihm_closed_form(
            budget, sketch_size=sketch_size, n_iterations=n_iterations, failure_probability=failure_probability
        )
    if found.note:
        typer.echo(f"warning: {found.note}", err=True)
    return found


def show_guarantees(promised: "tuple[Guarantee, ...]") -> None:
    """Print the comparison table."""
    columns = ("", ">gamma", ">scale C^2", ">eigenvalue term", ">additional", ">bound")
    lines = [
        (g.method, *(number(v) for v in (g.multiplier, g.scale, g.eigenvalue_term, g.additional, g.bound)))
        for g in promised
    ]
    print_table("Excess risk, up to constants and logarithms", columns, lines)


def show_parameters(parameters: dict[str, float]) -> None:
    """Print what is suggested for IHM beside what is used."""
    ratio = parameters["no_clipping_ratio"]
    verdict = "nothing is clipped" if ratio < 1.0 else "residuals may be clipped"
    lines = [
        ("T* of the theorem", number(parameters["best_iterations"])),
        ("iterations, suggested and used", _both(parameters, "suggested_iterations", "n_iterations")),
        ("g^X", number(parameters["condition_term"])),
        ("sketch rows, suggested with g^X and used", _both(parameters, "suggested_sketch_size", "sketch_size")),
        ("floor gamma, exact accounting", number(parameters["floor"])),
        ("condition number kappa after the shift", number(parameters["condition_number"])),
        ("chi sqrt(kappa) / (2 - chi)", f"{number(ratio)}: {verdict}"),
    ]
    print_table("Parameters of IHM", ("", ""), lines)


def show_closed_form(closed: "ClosedForm") -> None:
    """Print the theorem's parameters and their price."""
    lines = [
        ("gamma", number(closed.floor)),
        ("sigma / C", number(closed.gradient_multiplier)),
        ("tau", number(closed.eigenvalue_margin)),
        ("epsilon that it claims", number(closed.claimed_epsilon)),
        ("epsilon by the bounds of its proof", number(closed.bound_epsilon)),
        ("epsilon that it costs", number(closed.exact_epsilon)),
        ("valid", "yes" if closed.valid else "no, see the warning"),
    ]
    print_table("Closed form of the theorem", ("", ""), lines)


def _both(parameters: dict[str, float], suggested: str, used: str) -> str:
    return f"{number(parameters[suggested])}, {number(parameters[used])}"


def without_infinity(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with null for infinity, which JSON does not have."""
    return {name: None if value in (float("inf"), float("-inf")) else value for name, value in values.items()}
