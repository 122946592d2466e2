"""
A table that does not fit into memory
=====================================

``dpols.read`` opens a folder of Parquet, CSV or Feather files.
A fit reads them piece by piece, in every pass, and never loads a whole file.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpols

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for part in range(4):  # stands for many more
    people = pd.DataFrame({"age": rng.integers(18, 90, 50_000), "hours": rng.uniform(0, 60, 50_000)})
    people["pay"] = 5_000 + 300 * people["age"] + 900 * people["hours"] + rng.normal(0, 8_000, 50_000)
    people.to_parquet(folder / f"part-{part}.parquet")

bounds = dpols.Bounds(features={"age": (18, 90), "hours": (0, 60)}, target=(0, 120_000))
model = dpols.PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=bounds)
model.fit(dpols.read(folder, target="pay"))
for name, slope in zip(model.feature_names_in_, model.coef_, strict=True):
    print(f"{name}: {slope:.1f}")

# %%
# The result is the same wherever the rows are stored: in exact arithmetic, which is the default, bit for bit.
# (A seed makes the noise the same. It is for tests only: the report of a seeded fit says that it is not private.)

rows = pd.concat([pd.read_parquet(file) for file in sorted(folder.glob("*.parquet"))])
in_memory = dpols.PrivateLinearRegression(1.0, 1e-6, bounds, random_state=0).fit(rows, "pay")
in_files = dpols.PrivateLinearRegression(1.0, 1e-6, bounds, random_state=0).fit(dpols.read(folder, target="pay"))
print(np.array_equal(in_memory.coef_, in_files.coef_))

# %%
# The rows are made up, so they can be shown beside the private fit.

shown = rows.query("38 <= age <= 42").sample(400, random_state=0)
line = pd.DataFrame({"age": 40.0, "hours": np.linspace(0, 60, 2)})
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(shown["hours"], shown["pay"], ".", color="lightgrey", label="some rows, age 38 to 42")
axes.plot(line["hours"], model.predict(line), linewidth=2, label="private fit at age 40")
axes.set_xlabel("hours")
axes.set_ylabel("pay")
axes.legend()
plt.show()
