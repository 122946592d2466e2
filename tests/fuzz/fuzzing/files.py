"""The modules that read what others wrote, whose branches are to be reached.

Where only a part of a module reads, the functions of that part. A name that is no longer there is an error: nothing
drops out of the measurement unseen.
"""

READING: dict[str, tuple[str, ...] | None] = {
    "dpols.cli.bounds_file": None,
    "dpols.cli.options": None,
    "dpols.cli.tables": None,
    "dpols.data.files.csv": None,
    "dpols.data.files.ipc": None,
    "dpols.data.files.npy": None,
    "dpols.data.files.parquet": None,
    "dpols.data.files.reading": ("read", "column_types", "_files", "_check_columns", "_not_numbers"),
    "dpols.estimators.storing": ("Storing.load", "Storing.save"),
    "dpols.feature_map.columns": ("column_from_dict",),
    "dpols.feature_map.mapping": ("FeatureMap.from_dict", "FeatureMap.to_dict"),
    "dpols.feature_map.toml": None,
    "dpols.ledger.records": None,
    "dpols.ledger.store": None,
    "dpols.storage.model_file": None,
    "dpols.storage.plain_data": None,
    "dpols.privacy.budget": ("delta_from_rule",),
    "dpols.privacy.plain": None,
    "dpols.report.basis": ("Report.to_dict", "_plain"),
    "dpols.report.privacy_report": (
        "PrivacyReport.from_dict",
        "PrivacyReport.to_dict",
        "PrivacyReport.to_text",
        "PrivacyReport.certificate_in_words",
        "_one_of",
        "_ledger_entry",
    ),
    "dpols.report.release_line": ("ReleaseLine.describe", "ReleaseLine.to_dict", "line_from_dict"),
    "dpols.report.text": None,
}
