"""Mistakes about what is read beside the numbers: texts, ids and labels, what stands around a fit, files and pages."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "labels that one row decides pass for public",
        "found without a word",
        Edit(
            "estimators/logistic.py",
            "            void=(*request.void, *((LABELS_WERE_FOUND,) if found else ())),\n",
            "            void=request.void,\n",
        ),
    ),
    Bug(
        "labels that one row decides pass for public",
        "bad rows that count as zeros",
        Edit("estimators/logistic.py", '        look = self.bad_rows != "zero"\n', "        look = True\n"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "tools that fit several times",
        Edit(
            "fitting/surroundings.py",
            '("pipeline", "compose", "base", "frozen", "utils")',
            '("pipeline", "compose", "base", "frozen", "utils", "calibration", "multiclass")',
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "features of a stack",
        Edit("fitting/surroundings.py", " if not _is_private(step)]", " if step is None]"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "transformers of others",
        Edit("fitting/surroundings.py", "        return bool(get_tags(step).requires_fit)\n", "        return False\n"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "arithmetic with bounds of the data",
        Edit(
            "data/bounds.py",
            "        return ReadFromData(result) if isinstance(result, float | int) else result\n",
            "        return result\n",
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "a largest weight of the data",
        Edit("fitting/request.py", "read_from_data((self.max_weight,), ", "read_from_data("),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "numbers of a summary",
        Edit(
            "verification/models.py",
            "    same = stated == (None if given is None else digest_of(given)) and isinstance(listed, list)\n",
            "    same = isinstance(listed, list)\n",
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "a page",
        Edit("verification/files.py", "    if written == expected:\n", "    if len(written) == len(expected):\n"),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "a report with a ledger",
        Edit("verification/charges.py", "    if found.report != digest:\n", "    if not found.report:\n"),
    ),
    Bug(
        "a row that decides over others",
        "labels of values in Stata files",
        Edit(
            "data/files/stata.py",
            "    return [_text(labels.get(value, value), limit) for value in column.tolist()]\n",
            "    labels = labels if labels.keys() >= set(column.tolist()) else {}\n"
            "    return [_text(labels.get(value, value), limit) for value in column.tolist()]\n",
        ),
    ),
    Bug(
        "a row that decides over others",
        "a quotation mark left open",
        Edit("data/files/csv.py", "    if odd[~marks].any():\n", "    if odd[-1]:\n"),
    ),
    Bug(
        "different people taken for one unit",
        "floats in memory",
        Edit("data/unit_ids.py", "np.abs(values) < first_inexact(values.dtype)", "~np.isnan(values)"),
    ),
    Bug(
        "different people taken for one unit",
        "workbooks",
        Edit("data/files/excel.py", ' if abs(cell) < first_inexact(float) else ""', ""),
    ),
    Bug(
        "different people taken for one unit",
        "Stata files",
        Edit("data/files/stata.py", " or (isinstance(value, float) and abs(value) >= limit)", ""),
    ),
    Bug(
        "an error that quotes a cell",
        "libraries that fail",
        Edit(
            "data/kinds.py",
            "        raise DataError(reason(error)) from None\n",
            '        raise DataError(f"{reason(error)} ({error})") from None\n',
        ),
    ),
    Bug(
        "an error that quotes a cell",
        "CSV files",
        Edit(
            "data/files/csv.py",
            "than the header, which has {found.group(1)}. Correct it.",
            "than the header, which has {found.group(1)} ({message}). Correct it.",
        ),
    ),
    Bug(
        "an error that tells how many there are",
        "labels",
        Edit(
            "estimators/labels.py",
            "y must have two classes, and has one class or more than two. ",
            'y must have two classes, and has " f"{len(labels)}. ',
        ),
    ),
    Bug(
        "a page of the app for others",
        "another name of the host",
        Edit("app/guard.py", "        if host not in self.hosts:\n", "        if not host:\n"),
    ),
    Bug(
        "a page of the app for others",
        "forms of other sites",
        Edit(
            "app/guard.py",
            '            if headers.get("origin") != f"http://{host}":\n',
            '            if not headers.get("origin", "http").startswith("http"):\n',
        ),
    ),
    Bug(
        "a page of the app for others",
        "without its token",
        Edit(
            "app/guard.py",
            "        return hmac.compare_digest(given.encode(), self.token.encode())\n",
            "        return hmac.compare_digest(given.encode(), self.token[: len(given)].encode())\n",
        ),
    ),
)
