"""Mistakes about weights of rows: one row then decides over others, or counts for more than was declared."""

from editing import Bug, Edit

_ROOT = "np.sqrt(np.minimum(weights, largest) / largest)"

BUGS = (
    Bug(
        "weights divided by their sum",
        "rows",
        Edit("data/bounding.py", _ROOT, "np.sqrt(weights / max(float(weights.sum()), 1e-300))"),
    ),
    Bug("weights that are not clipped", "rows", Edit("data/bounding.py", _ROOT, "np.sqrt(weights / largest)")),
    Bug(
        "weights that are not clipped",
        "scores of a search",
        Edit(
            "private_search/scores.py",
            "np.minimum(np.where(good, weights, 0.0), largest) / largest",
            "np.where(good, weights, 0.0) / largest",
        ),
    ),
    Bug("weights applied twice", "rows", Edit("data/bounding.py", _ROOT, "np.minimum(weights, largest) / largest")),
    Bug(
        "weights applied twice",
        "expected targets",
        Edit(
            "data/whole_rows.py",
            "            expected = expected * (self.root / ONE)[:, None]\n",
            "            expected = expected * np.square(self.root / ONE)[:, None]\n",
        ),
        Edit(
            "data/span.py",
            "expected * self.root[:, None]",
            "expected * np.square(self.root)[:, None]",
        ),
    ),
    Bug(
        "weights that cost nothing",
        "totals",
        Edit(
            "statistics/sums.py",
            "    return 3.0 if one_more else math.sqrt(8.0)\n",
            "    return math.sqrt(8.0)\n",
        ),
    ),
    Bug(
        "negative weights passed through",
        "rows",
        Edit(
            "data/bounding.py", "good & np.isfinite(beside) & _allowed(beside, positive)", "good & np.isfinite(beside)"
        ),
    ),
)
