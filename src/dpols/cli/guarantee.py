"""``dpols guarantee``: what theory promises of the methods, and the parameters that it suggests, without any data."""

import math
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
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
    explicit = explicit_bounds(budget, coefficients, known, parameters)
    warn_of_impossible(known, explicit)
    if json:
        content = {
            **asdict(budget),
            "rows": rows,
            "coefficients": coefficients,
            "assumed": known,
            "guarantees": {g.method: without_infinity(asdict(g)) for g in promised},
            "parameters": parameters,
            "closed_form": without_infinity({**asdict(closed), "valid": closed.valid}),
            "explicit": explicit,
        }
        print_json(content)
        return
    out.print(f"{rows:,} rows with {coefficients} coefficients, epsilon = {epsilon:.6g}, delta = {budget.delta:.4g}")
    out.print("assumed: " + ", ".join(f"{name} = {value:.6g}" for name, value in known.items()) + "\n")
    show_guarantees(promised)
    show_parameters(parameters)
    show_closed_form(closed)
    show_explicit(explicit)


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
    plan = algorithm("ihm").plan(budget, **sizes)
    floor = plan.floor
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
        "gradient_multiplier": plan.gradient_multiplier,
        "condition_number": condition,
        "no_clipping_ratio": ratio,
    }


def explicit_bounds(
    budget: "PrivacyBudget", n_features: int, known: dict[str, float], parameters: dict[str, float]
) -> dict[str, float | None]:
    """Return the bounds that have all constants, with chi = sqrt(d / k); None where their proofs do not hold."""
    from .. import theory

    largest_joint = theory.joint_eigenvalue_bound(
        smallest=known["lambda_min"], loss=known["loss"], theta_norm=known["theta_norm"]
    )
    constants = _or_none(theory.theorem_constants, condition_number=parameters["condition_number"])
    return {
        **_bounds_of_ihm(n_features, known, parameters),
        **_bounds_of_sketches(budget, n_features, known),
        "largest_lambda_min_joint": largest_joint,
        **_fields("constant", constants, ("a0", "a1", "a2", "a3")),
    }


def _bounds_of_ihm(n_features: int, known: dict[str, float], parameters: dict[str, float]) -> dict[str, float | None]:
    """Return clip level, residuals and risk of IHM, whose noise is that of exact accounting at this clip level.

    The risk is that of IHM with its ridge term, and is bounded only where residuals stay below the clip level.
    The shift is that of a smallest eigenvalue known exactly; a run knows a lower bound at best and may add more.
    """
    from .. import theory

    scale: dict[str, Any] = {"theta_norm": known["theta_norm"], "target_bound": known["target_bound"]}
    level, n_iterations = theory.no_clipping_level(**scale), int(parameters["n_iterations"])
    smallest, largest = known["lambda_min"], known["lambda_max"]
    shift = max(0.0, parameters["floor"] - smallest)
    steps: dict[str, Any] = {
        "n_features": n_features,
        "n_iterations": n_iterations,
        "distortion": math.sqrt(n_features / parameters["sketch_size"]),
        "noise": parameters["gradient_multiplier"] * level,
        "failure_probability": known["failure_probability"],
    }
    raised: dict[str, Any] = {"smallest": smallest + shift, "largest": largest + shift}
    spectrum: dict[str, Any] = {"smallest": smallest, "largest": largest, "shift": shift}
    residuals = _or_none(theory.residual_bound_at, **steps, **scale, **raised, iteration=n_iterations - 1)
    clips = residuals is None or residuals > level
    risk = None if clips else _or_none(theory.risk_bound, **steps, **spectrum, theta_norm=known["theta_norm"])
    return {
        "no_clipping_level": level,
        "residual_bound": residuals,
        **_fields("risk", risk, ("noise", "start", "shrinkage", "total")),
    }


def _bounds_of_sketches(budget: "PrivacyBudget", n_features: int, known: dict[str, float]) -> dict[str, float | None]:
    """Return what sketches of [X, y] can reach."""
    from .. import theory

    sizes: dict[str, Any] = {"n_features": n_features, "failure_probability": known["failure_probability"]}
    names = ("theta_norm", "target_bound", "loss")
    best = _or_none(
        theory.best_linmix,
        budget,
        **sizes,
        **{name: known[name] for name in names},
        smallest_joint=known["lambda_min_joint"],
    )
    rows = theory.suggested_linmix_size(**sizes)
    return {
        **_fields("best_linmix", best, ("floor", "sketch_size", "bound")),
        "sheffet_sketch_size": rows,
        "sheffet_saturation": theory.sheffet_saturation(**sizes, sketch_size=rows, loss=known["loss"]),
    }


def warn_of_impossible(known: dict[str, float], explicit: dict[str, float | None]) -> None:
    """Say on standard error where no data has the assumed numbers."""
    largest = explicit["largest_lambda_min_joint"] or 0.0
    if known["lambda_min_joint"] > largest:
        typer.echo(
            f"warning: no data has lambda_min_joint = {known['lambda_min_joint']:.6g} beside the other numbers: it is "
            f"at most min(lambda_min, loss / (1 + theta_norm^2)) = {largest:.6g}.",
            err=True,
        )


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
    verdict = "a large C clips nothing" if ratio < 1.0 else "residuals may be clipped"
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


def show_explicit(explicit: dict[str, float | None]) -> None:
    """Print the bounds that have all constants."""
    lines = [
        (title, "does not hold" if explicit[name] is None else number(explicit[name])) for name, title in _EXPLICIT
    ]
    print_table("With all constants (chi = sqrt(d / k), open constants 1)", ("", ""), lines)


_EXPLICIT = (
    ("no_clipping_level", "C = 6 max(C_Y, |theta*|)"),
    ("residual_bound", "residuals of IHM at the last step, at most"),
    ("risk_total", "excess risk of IHM with ridge and this C, at most"),
    ("risk_noise", "  of which noise of the gradients"),
    ("risk_start", "  of which too few steps"),
    ("risk_shrinkage", "  of which the shift, with lambda_min known"),
    ("constant_a0", "a0: k >= a0 max(d, log(4 a1 T / failure))"),
    ("constant_a1", "a1"),
    ("constant_a2", "a2: C >= a2 max(C_Y, |theta*|)"),
    ("constant_a3", "a3: kappa < a3"),
    ("best_linmix_floor", "gamma* of LinMix, if data could choose"),
    ("best_linmix_sketch_size", "its sketch rows k"),
    ("best_linmix_bound", "its bound, up to constants"),
    ("sheffet_sketch_size", "sketch rows k of LinMix and Sheffet"),
    ("sheffet_saturation", "excess risk at which Sheffet's sketch stops"),
    ("largest_lambda_min_joint", "lambda_min([X, y]'[X, y]), at most"),
)


def _or_none(bound: Any, *arguments: Any, **given: Any) -> Any:
    """Return a bound, None where its proof does not hold at these numbers."""
    try:
        return bound(*arguments, **given)
    except ParameterError:
        return None


def _fields(prefix: str, found: Any, names: tuple[str, ...]) -> dict[str, float | None]:
    return {f"{prefix}_{name}": None if found is None else getattr(found, name) for name in names}


def _both(parameters: dict[str, float], suggested: str, used: str) -> str:
    return f"{number(parameters[suggested])}, {number(parameters[used])}"


def without_infinity(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with null for infinity, which JSON does not have."""
    return {name: None if value in (float("inf"), float("-inf")) else value for name, value in values.items()}
