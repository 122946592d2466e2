"""Run by a Python that has diffprivlib: rows from one file and tasks from another, what is found to standard output."""

import json
import sys
import time
import warnings

import numpy as np


def main(arrays: str, job: str) -> None:
    """Fit each task on features and targets in [-1, 1], with ranges so many times as wide."""
    from diffprivlib.models import LinearRegression

    warnings.simplefilter("ignore")
    rows = np.load(arrays)
    with open(job, encoding="utf-8") as file:
        tasks = json.load(file)
    found = []
    for split, epsilon, widening, seed in tasks:
        features = rows[f"features_{split}"]
        limits = np.append(np.full(features.shape[1], widening), 1.0)
        model = LinearRegression(
            epsilon=epsilon,
            bounds_X=(-limits, limits),
            bounds_y=(-widening, widening),
            fit_intercept=False,
            random_state=seed,
        )
        start = time.perf_counter()
        model.fit(np.column_stack((features, np.ones(len(features)))), rows[f"target_{split}"])
        found.append((np.ravel(model.coef_).tolist(), time.perf_counter() - start))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
