"""Mistakes that have been made in private regression, or are easily made.

Each is planted in a copy, in one or several places. The rest of the tests knows nothing of these lists; they must fail
on every one of these copies.
"""

import bugs_of_accounts
import bugs_of_generalised
import bugs_of_kept_rows
import bugs_of_noise
import bugs_of_readers
import bugs_of_row_counts
import bugs_of_rows
import bugs_of_units
import bugs_of_weights
import bugs_of_whitening

BUGS = (
    *bugs_of_noise.BUGS,
    *bugs_of_rows.BUGS,
    *bugs_of_units.BUGS,
    *bugs_of_weights.BUGS,
    *bugs_of_row_counts.BUGS,
    *bugs_of_accounts.BUGS,
    *bugs_of_whitening.BUGS,
    *bugs_of_generalised.BUGS,
    *bugs_of_readers.BUGS,
    *bugs_of_kept_rows.BUGS,
)
