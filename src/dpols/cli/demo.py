"""``dpols demo``: a private fit beside a non-private one, on data that is nobody's."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import required
from . import options as given
from .bounds_file import feature_names, filled_bounds
from .console import number, print_table, working
from .console import out as console
from .output import check_output, write_text
from .show import show_cost
from .tables import read_columns

if TYPE_CHECKING:
    from ..report import PrivacyReport
    from .demo_data import Array
    from .demo_plot import ErrorCurve

DELTA = 1e-6
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FITS_PER_EPSILON = 15
FRESH_ROWS = 10_000


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the data, the model and the plot.")] = Path(
        "dpols-demo"
    ),
    rows: Annotated[int, typer.Option(min=1000, help="Number of patients to make up.")] = 50_000,
    epsilon: given.Epsilon = 1.0,
    show: Annotated[bool, typer.Option("--show/--no-show", help="Open the plot when done.")] = False,
) -> None:
    """Fit made-up patients privately and show the result next to the non-private one.

    Writes data.csv, bounds.toml, model.json and demo.png, so that "dpols fit" can be tried on the same data; and
    staff.csv with staff.toml, a table with categories and empty cells.
    """
    from sklearn.linear_model import LinearRegression

    from .demo_data import PATIENTS_BOUNDS, PATIENTS_TARGET, STAFF_DECLARED, patients, staff
    from .demo_plot import save_plot

    required("matplotlib", "plots")
    given.parsed_delta(str(DELTA), epsilon)
    out.mkdir(parents=True, exist_ok=True)
    data, bounds, model_file, plot = (out / name for name in ("data.csv", "bounds.toml", "model.json", "demo.png"))
    check_output(data)
    with working("Making up patients"):
        write_csv(data, patients(rows, seed=0))
        write_text(bounds, [filled_bounds(PATIENTS_BOUNDS, PATIENTS_TARGET)])
        write_csv(out / "staff.csv", staff(rows, seed=0))
        write_text(out / "staff.toml", [STAFF_DECLARED])
    with working("Fitting"):
        table = read_columns(data, [*feature_names(PATIENTS_BOUNDS), PATIENTS_TARGET])
        model = private_fit(table, epsilon)
        model.save(model_file)
        ordinary = LinearRegression().fit(*arrays(table))
    with working("Fitting again at other epsilons"):
        curve = error_curve(table, ordinary)
    with working("Drawing"):
        save_plot(plot, model.privacy_report_, PATIENTS_BOUNDS, ordinary.coef_, curve)
    console.print(f"{rows:,} made-up patients: {PATIENTS_TARGET} from {model.n_features_in_} features\n")
    show_comparison(model.privacy_report_, [*ordinary.coef_, ordinary.intercept_])
    show_cost(model.privacy_report_)
    show_files(out, epsilon, PATIENTS_TARGET)
    if show:
        typer.launch(str(plot))


def private_fit(table: Any, epsilon: float) -> Any:
    """Return a model fitted on a table of patients."""
    from ..estimators import PrivateLinearRegression
    from .demo_data import PATIENTS_BOUNDS, PATIENTS_TARGET

    return PrivateLinearRegression(epsilon, DELTA, PATIENTS_BOUNDS).fit(table, PATIENTS_TARGET)


def error_curve(table: Any, ordinary: Any) -> "ErrorCurve":
    """Fit many times at each epsilon and measure the error on patients that no fit has seen."""
    import numpy as np

    from .demo_data import patients
    from .demo_plot import ErrorCurve

    features, target = arrays(patients(FRESH_ROWS, seed=1))

    def error(predicted: "Array | float") -> float:
        return float(np.sqrt(np.mean((target - predicted) ** 2)))

    def private_error(epsilon: float) -> float:
        model = private_fit(table, epsilon)
        return error(features @ model.coef_ + model.intercept_)

    return ErrorCurve(
        epsilons=EPSILONS,
        private=[[private_error(epsilon) for _ in range(FITS_PER_EPSILON)] for epsilon in EPSILONS],
        ordinary=error(ordinary.predict(features)),
        constant=error(target.mean()),
    )


def arrays(table: Any) -> "tuple[Array, Array]":
    """Return features and target of patients, from an arrow table or a mapping of columns."""
    import numpy as np

    from .demo_data import PATIENTS_BOUNDS, PATIENTS_TARGET

    columns = [np.asarray(table[name]) for name in feature_names(PATIENTS_BOUNDS)]
    return np.column_stack(columns), np.asarray(table[PATIENTS_TARGET])


def write_csv(path: Path, columns: "Mapping[str, Array]") -> None:
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    write_text(path, (",".join(columns) + "\n", *(",".join(map(_cell, row)) + "\n" for row in rows)))


def _cell(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.10g}"


def show_comparison(report: "PrivacyReport", ordinary: list[float]) -> None:
    """Print the private coefficients beside those of least squares."""
    print_table(
        "Coefficients, and the standard deviation of their noise",
        ("feature", ">private", ">noise", ">least squares, NOT private"),
        [
            (c.name, number(c.value), number(c.noise_stddev), number(float(exact)))
            for c, exact in zip(report.coefficients, ordinary, strict=True)
        ],
    )
    console.print("Least squares is shown since these patients are made up; on real ones it leaks.\n")


def program() -> str:
    """Return how to call dpols again: by its name, or by its path where the name would not be found."""
    called = Path(sys.argv[0])
    return "dpols" if shutil.which("dpols") or called.name != "dpols" else str(called)


def show_files(folder: Path, epsilon: float, target: str) -> None:
    """Say what was written and how to go on."""
    print_table(
        f"Written to {folder}",
        ("", ""),
        [
            ("demo.png", "the coefficients, and the error against epsilon"),
            ("data.csv", "the patients"),
            ("bounds.toml", "the public range of each column"),
            ("model.json", "the private model with its report"),
            ("staff.csv, staff.toml", "made-up employees with categories and empty cells"),
        ],
    )
    console.print("The same fit by hand, with fresh noise:")
    console.print(
        f"  {program()} fit {folder / 'data.csv'} --target {target} --bounds {folder / 'bounds.toml'} \\\n"
        f"    --epsilon {epsilon:g} --delta {DELTA:g} --out my-model.json",
        soft_wrap=True,
    )
