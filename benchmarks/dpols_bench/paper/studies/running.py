"""Run studies into the folder of an evaluation, and read their verdicts back."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from ...datasets.networks import is_network
from ...steps import Progress, Step, processes
from ..cells import Batch, BatchResult, Cell
from ..claims import Claim
from ..dataset_table import TableRow
from ..journal import batch_journal
from ..measuring import measured_table
from ..rules import Evidence, Finding
from ..runner import batches_of, run
from ..summary import Results, summarise
from ..tables import save_json, save_table
from .forms import Form, Study
from .listed import STUDIES

_FILE = "study_claims.json"
Verdicts = list[tuple[Study, dict[str, Finding]]]


def run_studies(
    form: Form,
    out: Path,
    *,
    studies: Sequence[Study] = STUDIES,
    jobs: int = 0,
    progress: Progress = lambda _: None,
) -> Verdicts:
    """Run what the journal of studies in ``out`` does not hold yet; write cells and verdicts, and return these."""
    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    cells = list(dict.fromkeys(cell for study in studies for cell in study.cells(form)))
    progress(Step("Reading data sets", 0.0, 1.0))
    table = measured_table(list(dict.fromkeys(cell.dataset for cell in cells)))
    sizes = {row.name: row.measured.n * row.measured.d for row in table if row.measured is not None}
    available = [cell for cell in cells if cell.dataset in sizes]
    batches = batches_of([cell for cell in available if not is_network(cell.dataset)], form.trials)
    batches += batches_of([cell for cell in available if is_network(cell.dataset)], form.network_trials)
    results = _results(batches, out, sizes, jobs, progress)
    verdicts = [(study, _decided(study, form, results, table)) for study in studies]
    save_table([summary.as_row() for summary in results.cells.values()], out, "studies")
    content = {
        "trials": form.trials,
        "network_rows": form.network_rows,
        "network_trials": form.network_trials,
        "not_available": [row.name for row in table if row.measured is None],
        "seconds": time.perf_counter() - start,
        "claims": [
            {
                "claim": study.name,
                "text": study.text,
                "rule": study.rule,
                "findings": {name: {"verdict": f.verdict, "numbers": f.numbers} for name, f in found.items()},
            }
            for study, found in verdicts
        ],
    }
    save_json(content, out / _FILE)
    return verdicts


def stored_claims(out: Path, accountings: Sequence[str]) -> list[tuple[Claim, dict[str, Finding]]]:
    """Return the verdicts of studies that were run into a folder, for its table of claims; none where none were."""
    if not (out / _FILE).exists():
        return []
    content = json.loads((out / _FILE).read_text(encoding="utf-8"))
    return [(_claim(row), {name: _finding(row, name) for name in accountings}) for row in content["claims"]]


def _results(batches: list[Batch], out: Path, sizes: dict[str, int], jobs: int, progress: Progress) -> Results:
    done = 0

    def count(result: BatchResult) -> None:
        nonlocal done
        done += 1
        progress(Step(f"{result.batch.cell.dataset}, {result.batch.cell.method}", done, len(batches)))

    # Cells of one data set stay together, which holds one of them at a time.
    ordered = sorted(batches, key=lambda batch: (sizes[batch.cell.dataset], batch.cell.dataset))
    journal = batch_journal(out / "studies.jsonl")
    return summarise(run(ordered, journal, sizes=sizes, jobs=processes(jobs), progress=count))


def _decided(study: Study, form: Form, results: Results, table: Sequence[TableRow]) -> dict[str, Finding]:
    own: set[Cell] = set(study.cells(form))
    part = Results(summary for cell, summary in results.cells.items() if cell in own)
    return {name: study.decide(Evidence(part, name, table)) for name in form.accountings}


def _claim(row: dict[str, str]) -> Claim:
    return Claim(row["claim"], row["text"], row["rule"], lambda evidence: Finding("not run", "a study"))


def _finding(row: dict[str, dict[str, dict[str, str]]], accounting: str) -> Finding:
    found = row["findings"].get(accounting)
    if found is None:
        return Finding("not run", "the study was not run in this accounting")
    return Finding(found["verdict"], found["numbers"])  # type: ignore[arg-type]
