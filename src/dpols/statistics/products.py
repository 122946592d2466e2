"""X'X and X'y of all rows, from which the sums over most rows follow without another look at them.

A row that is not shortened contributes x x' to a Gram matrix and x (y - x'theta) to a gradient. In whole numbers these
sums are exact, so what most rows add is known from products, and only the other rows are looked at again: the result
has the same bits as a sum over all rows.
"""

from dataclasses import dataclass

from ..data.rows import NumberedRows
from ..data.source import Array
from ..data.whole_numbers import from_limbs
from .statistic import call


@dataclass(frozen=True, repr=False)
class Products:
    """X'X and X'y of some whole-numbered rows; exact, so they live in a run alone."""

    gram: Array
    moment: Array

    def without(self, rows: NumberedRows) -> "Products":
        """Return the same of all rows but these."""
        gram_high, gram_low, high, low = rows.rows.total(call, "products")
        return Products(self.gram - from_limbs(gram_high, gram_low), self.moment - from_limbs(high, low))
