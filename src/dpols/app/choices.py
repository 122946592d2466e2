"""What a person has chosen so far, page by page, as plain data that is kept in a file."""

from dataclasses import dataclass

FAMILIES = {"number": "gaussian", "yes-no": "binomial", "count": "poisson"}


@dataclass(frozen=True)
class TableColumn:
    """A column, as the header of a table names it."""

    name: str
    text: bool  # whether the header says that it holds no numbers; a CSV file's says nothing


@dataclass(frozen=True)
class Data:
    """The table, how many rows it has, and what one row is."""

    path: str
    uploaded: bool  # such a file is deleted when the app ends
    decimal: str | None  # the decimal mark of a text file; None for the usual one
    columns: tuple[TableColumn, ...]
    rows: int
    unit: str | None  # the column that says to whom a row belongs; None where each row is a unit of its own
    rows_per_unit: int
    ledger: str

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [column.name for column in self.columns]


@dataclass(frozen=True)
class Feature:
    """A column that predicts."""

    name: str
    levels: tuple[str, ...]  # of categories; none for a column of numbers
    square: bool


@dataclass(frozen=True)
class Model:
    """What is predicted, and from what."""

    target: str
    kind: str  # of FAMILIES
    no: str  # the label of each outcome, where there are two
    yes: str
    features: tuple[Feature, ...]
    products: tuple[tuple[str, str], ...]

    @property
    def family(self) -> str:
        """The family of outcomes, as ``dpols fit`` names it."""
        return FAMILIES[self.kind]

    @property
    def numbers(self) -> list[str]:
        """The columns that have a range: features of numbers, and the target unless it is yes or no."""
        features = [feature.name for feature in self.features if not feature.levels]
        return features if self.kind == "yes-no" else [self.target, *features]


@dataclass(frozen=True)
class Limit:
    """What was typed for a column; for categories, only what an empty cell counts as."""

    name: str
    low: str
    high: str
    missing: str


@dataclass(frozen=True)
class Ranges:
    """The ranges of all columns, and where they come from."""

    paid: bool
    origin: str  # in the user's words
    limits: tuple[Limit, ...]

    def of(self, name: str) -> Limit:
        """Return what was typed for a column."""
        return next((limit for limit in self.limits if limit.name == name), Limit(name, "", "", ""))


@dataclass(frozen=True)
class Plan:
    """What to spend, and how to fit."""

    epsilon: float
    delta: str
    inference: bool
    bad_rows: str  # "raise" or "zero"
    r_squared: float  # that the person expects


@dataclass(frozen=True)
class Choices:
    """All pages; None where a page has not been filled in."""

    name: str
    data: Data | None = None
    model: Model | None = None
    ranges: Ranges | None = None
    plan: Plan | None = None
