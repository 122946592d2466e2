"""What the parts of a fit are called, family by family."""

from dataclasses import dataclass

from ..families import FamilyName


@dataclass(frozen=True)
class Words:
    """One row of the table of words."""

    title: str
    fit: str  # what the fit is but for noise
    explained: str  # the share of the spread of outcomes that the fit explains
    spread: str  # what is left of it, by degrees of freedom
    ratio: str | None  # what exp of a slope is, where that has a name
    multiplied: str  # what is multiplied by it
    classical: str  # when classical standard errors hold, beside that rows are independent


WORDS: dict[FamilyName, Words] = {
    "gaussian": Words(
        "Private least squares",
        "least squares",
        "R-squared",
        "Residual variance",
        None,
        "",
        "errors have the same variance everywhere",
    ),
    "binomial": Words(
        "Private logistic regression",
        "maximum likelihood",
        "Deviance explained",
        "Deviance / df",
        "odds ratio",
        "the odds of a yes",
        "the model's probabilities are true",
    ),
    "poisson": Words(
        "Private Poisson regression",
        "maximum likelihood",
        "Deviance explained",
        "Deviance / df",
        "rate ratio",
        "the mean count",
        "counts vary as Poisson's law says",
    ),
}
