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
        Edit(
            "fitting/surroundings.py",
            "        return bool(get_tags(step).requires_fit) or _has_another_fit(type(step))\n",
            "        return False\n",
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "transformers that inherit from those which learn nothing",
        Edit("fitting/surroundings.py", " or _has_another_fit(type(step))\n", "\n"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "numpy's functions of bounds of the data",
        Edit(
            "data/bounds.py",
            "return _marked(function(*_unmarked(args), **named))",
            "return function(*_unmarked(args), **named)",
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "options of the data",
        Edit("fitting/request.py", "self.exposure_range, limits, [*given])", "self.exposure_range, limits)"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "a range of scores of the data",
        Edit("private_search/grid_search.py", "            limits = (*limits, *given)\n", ""),
        Edit("private_search/grid_search.py", "            origins.add(source)\n", ""),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "tests of a fit with bounds of the data",
        Edit(
            "inference/inferring.py", "        return replace(test, warning=self._warning)\n", "        return test\n"
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "the range of a transformed target",
        Edit(
            "verification/models.py",
            "(not feature_map.target_transform or feature_map.target == target)",
            "feature_map is not None",
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "the order of the columns of a model",
        Edit(
            "verification/models.py",
            'tuple(tuple(line) for line in report["bounds"][: len(declared)]) == declared',
            'set(declared) <= {tuple(line) for line in report["bounds"]}',
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "rows per unit of the data",
        Edit("fitting/request.py", "self.max_rows_per_unit, self.epsilon", "self.epsilon"),
    ),
    Bug(
        "a row that decides over others",
        "one more text in a dictionary of Arrow",
        Edit("feature_map/cells.py", 'raw.indices.cast("int64").fill_null', "raw.indices.fill_null"),
    ),
    Bug(
        "a ledger that two processes write at once",
        "a thread that looks at it",
        Edit("storage/output_file.py", "    if _is_ledger_of_sqlite(path):\n        return True\n", ""),
    ),
    Bug(
        "a row that decides over others",
        "a missing one among whole-numbered labels",
        Edit("estimators/labels.py", "    y = _whole_numbers(unmasked(y))\n", "    y = unmasked(y)\n"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "arithmetic with bounds of the data",
        Edit(
            "data/bounds.py",
            "        return _marked(plain(self, *known))\n",
            "        return plain(self, *known)\n",
        ),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "a largest weight of the data",
        Edit("fitting/request.py", "own = (self.max_weight, ", "own = ("),
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
        Edit("verification/charges.py", "    if found.report == digest:\n", "    if found.report:\n"),
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
    Bug(
        "no clipping",
        "columns that lie within their bounds in another task",
        Edit(
            "data/rounded_tasks.py",
            "        known = self._outside[place]\n",
            "        known = next((each for each in self._outside if each is not None), None)\n",
        ),
    ),
    Bug(
        "a row that decides over others",
        "a file that changes while it is read",
        Edit(
            "data/files/summing.py",
            "    task.file.check()\n    if n_rows != task.n_rows:\n",
            "    if n_rows != task.n_rows:\n",
        ),
    ),
    Bug(
        "a row that decides over others",
        "a cell of a workbook far below the others",
        Edit(
            "data/files/excel.py",
            "    if len(names) > 1 and not all(any(",
            "    if len(names) < 1 and not all(any(",
        ),
    ),
    Bug(
        "a row that decides over others",
        "the last line of a compressed file",
        Edit("data/files/compression.py", "    if rest:\n", '    if rest.endswith(b"\\n"):\n'),
    ),
    Bug(
        "an error that quotes a cell",
        "cells that raise",
        Edit(
            "data/missing.py",
            "    except (TypeError, ValueError, OverflowError):\n        raise\n    except Exception:",
            "    except (TypeError, ValueError, OverflowError):\n        raise\n    except ArithmeticError:",
        ),
    ),
    Bug(
        "an error that quotes a cell",
        "a warning of a complex number",
        Edit(
            "data/missing.py",
            'isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"',
            "isinstance(value, complex)",
        ),
    ),
    Bug(
        "an outcome that is no label",
        "rows in floating point",
        Edit("data/bounding.py", "    target = labels_alone(target, row_map)\n", ""),
    ),
    Bug(
        "an outcome that is no label",
        "rows that are rounded at once",
        Edit("data/rounding.py", "    target = labels_alone(target, row_map)\n", ""),
    ),
    Bug(
        "an outcome that is no label",
        "rows that are rounded by columns",
        Edit(
            "data/rounding.py",
            "    target = labels_alone(columns.target, row_map)\n",
            "    target = columns.target\n",
        ),
    ),
    Bug(
        "an outcome that is no label",
        "truth values for 0 and 1",
        Edit("feature_map/recipes.py", "    if set(two) == {0, 1}:\n", "    if not two:\n"),
    ),
    Bug(
        "what voids the guarantee goes unnoticed",
        "bounds of the data rounded by numpy",
        Edit(
            "data/bounds.py",
            "        return _marked(getattr(ufunc, method)(*_unmarked(inputs), **how))\n",
            "        return getattr(ufunc, method)(*_unmarked(inputs), **how)\n",
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "a certificate above what was asked",
        Edit("verification/reports.py", "same and stated <= asked.delta, detail", "same, detail"),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "rows that are protected together",
        Edit(
            "verification/reports.py",
            "    holds = report.unit is not None or report.rows_per_unit == 1\n",
            "    holds = report.rows_per_unit >= 1\n",
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "ranges within which others were found",
        Edit(
            "verification/models.py",
            "    return found and _begins_with(report, declared_of(feature_map, found=True))\n",
            "    return found\n",
        ),
    ),
)
