"""Run by a Python that has diffprivlib: rows from one file and tasks from another, what is found to standard output."""

import json
import sys
import time
import warnings
from typing import Any

import numpy as np


def main(arrays: str, job: str) -> None:
    """Fit each task on features in [-1, 1], and print coefficients, the intercept last, and seconds."""
    warnings.simplefilter("ignore")
    rows = np.load(arrays)
    with open(job, encoding="utf-8") as file:
        wanted = json.load(file)
    found = []
    for split, epsilon, widening, seed in wanted["tasks"]:
        features, target = rows[f"features_{split}"], rows[f"target_{split}"]
        if wanted["model"] == "linear":
            features = np.column_stack((features, np.ones(len(features))))
            model = linear(features.shape[1], epsilon, widening, seed)
        else:
            model = logistic(features.shape[1], epsilon, seed)
        start = time.perf_counter()
        model.fit(features, target)
        seconds = time.perf_counter() - start
        intercept = [] if wanted["model"] == "linear" else np.ravel(model.intercept_).tolist()
        found.append(([*np.ravel(model.coef_).tolist(), *intercept], seconds))
    print(json.dumps(found))


def linear(width: int, epsilon: float, widening: float, seed: int) -> Any:
    """Return a regression without an intercept of targets in [-1, 1], for ranges so many times as wide; ones last."""
    from diffprivlib.models import LinearRegression

    limits = np.append(np.full(width - 1, widening), 1.0)
    return LinearRegression(
        epsilon=epsilon,
        bounds_X=(-limits, limits),
        bounds_y=(-widening, widening),
        fit_intercept=False,
        random_state=seed,
    )


def logistic(width: int, epsilon: float, seed: int) -> Any:
    """Return a regression of outcomes 0 and 1."""
    from diffprivlib.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(width)), max_iter=500, random_state=seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
