"""What a user installs works without the repository: build sdist and wheel, install the wheel elsewhere, use it.

Run it as ``python tests/wheel_smoke.py [PYTHON ...]`` (``make wheel-check PYTHONS="python3.11 python3.13"``): once for
each interpreter, by default the running one. It takes a minute each, most of it for pip.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

PROJECT = Path(__file__).parents[1]
EXTRAS = "cli,files,plots"  # what `dpols demo` needs
FIT = """
import numpy as np
import dpols

x = np.linspace(-1, 1, 20_000)[:, None]
bounds = dpols.Bounds(features=[(-1, 1)], target=(-3, 5))
model = dpols.PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=bounds).fit(x, 1 + 2 * x[:, 0])
assert abs(model.coef_[0] - 2) < 0.5, model.coef_
assert model.privacy_report_.private
for page in (model.privacy_report_.to_html(), model.summary().to_page()):  # templates and style are inside
    assert page.startswith("<!doctype html>") and ".dpols" in page
print(dpols.__file__)
"""


def main(interpreters: list[str]) -> None:
    """Build, look inside, then install and use with each interpreter; the first thing that is wrong ends it."""
    with TemporaryDirectory(prefix="dpols-wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        check_content(wheel)
        for number, interpreter in enumerate(interpreters):
            place = folder / f"place-{number}"
            place.mkdir()
            binaries = install(place / "environment", wheel, interpreter)
            use(binaries, place)
            print("the wheel works with", run(str(binaries / "python"), "--version", cwd=place).strip())


def build(folder: Path) -> Path:
    """Return the wheel of the project, built from its source distribution, after a check of what both say of it."""
    run(sys.executable, "-m", "build", "-o", str(folder), str(PROJECT), cwd=folder)
    (wheel,), (source,) = folder.glob("dpols-*.whl"), folder.glob("dpols-*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source), cwd=folder)
    return wheel


def check_content(wheel: Path) -> None:
    """Make sure that the product alone is inside."""
    names = ZipFile(wheel).namelist()
    others = [name for name in names if not name.startswith("dpols/") and ".dist-info/" not in name]
    wanted = ("py.typed", "app/templates/app_base.html", "app/static/app.js", "app/static/app.css")
    missing = [name for name in wanted if f"dpols/{name}" not in names]
    if others or missing:
        raise SystemExit(f"{wheel.name} holds {others} beside the product, and lacks {missing}")


def install(folder: Path, wheel: Path, interpreter: str) -> Path:
    """Install the wheel into a new environment of an interpreter and return the folder of its commands."""
    run(interpreter, "-m", "venv", str(folder), cwd=folder.parent)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    run(str(binaries / "python"), "-m", "pip", "install", "-q", f"{wheel}[{EXTRAS}]", cwd=folder)
    return binaries


def use(binaries: Path, folder: Path) -> None:
    """Fit a model in Python and run the demonstration, both from the environment and from nowhere near the source."""
    found = run(str(binaries / "python"), "-c", FIT, cwd=folder)
    if not Path(found.strip()).is_relative_to(folder):
        raise SystemExit(f"the fit used {found.strip()}, not what was installed")
    run(str(binaries / "dpols"), "demo", "--out", "demo", cwd=folder)
    if not (folder / "demo" / "model.json").is_file():
        raise SystemExit("dpols demo left no model")


def run(*command: str, cwd: Path) -> str:
    """Run a command away from the project and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
