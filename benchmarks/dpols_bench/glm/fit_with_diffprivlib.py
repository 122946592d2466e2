"""Run by a Python that has diffprivlib: rows from one file and tasks from another, coefficients to standard output."""

import json
import sys
import warnings

import numpy as np


def main(arrays: str, job: str) -> None:
    """Fit each task on features in [-1, 1] and outcomes 0 and 1."""
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    rows = np.load(arrays)
    with open(job, encoding="utf-8") as file:
        tasks = json.load(file)
    found = []
    for split, epsilon, seed in tasks:
        features = rows[f"features_{split}"]
        norm = float(np.sqrt(features.shape[1]))
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=500, random_state=seed)
        model.fit(features, rows[f"target_{split}"])
        found.append([*np.ravel(model.coef_).tolist(), float(np.ravel(model.intercept_)[0])])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
