"""
Which epsilon? Plan before you spend
====================================

A plan simulates fits on made-up rows of your table's shape.
It reads no private data and costs nothing, so you may look at as many plans as you like.
"""

import matplotlib.pyplot as plt
import pandas as pd

import dpols

plan = dpols.plan_accuracy(n=20_000, d=6, epsilon=[0.1, 0.3, 1, 3], r_squared=0.35, delta=1e-6, trials=20)
table = pd.DataFrame([(row.method, row.epsilon, row.r_squared, row.interval_width) for row in plan.rows])
table.columns = ["method", "epsilon", "R^2 on new rows", "width of intervals"]
print(table.round(3).to_string(index=False))
print(plan.recommendation.reason)

# %%
# R^2 without privacy would be 0.35.
# At which epsilon is the loss small enough?

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for method, rows in table.groupby("method", sort=False):
    axes.plot(rows["epsilon"], rows["R^2 on new rows"].clip(lower=0), "o-", label=method)
axes.axhline(0.35, color="grey", linewidth=0.8, label="without privacy")
axes.set(xscale="log", xlabel="epsilon", ylabel="R^2 on new rows")
axes.legend(fontsize="small")
plt.show()

# %%
# The question can also be asked the other way round: which epsilon, or how many rows, reach a wanted accuracy?

print(dpols.required_epsilon(n=20_000, d=6, r_squared=0.35, wanted_r_squared=0.33, delta=1e-6, trials=10).reason)
print(dpols.required_rows(epsilon=0.3, d=6, r_squared=0.35, wanted_r_squared=0.33, delta=1e-6, trials=10).reason)
