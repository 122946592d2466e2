"""The tests mirror the source: whoever knows where a module is knows where its tests are."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "dpols"

# What is not of one module: laws over all methods, pages, commands of the laboratory, mistakes, odd inputs.
APART = {"laws", "docs", "benchmarks", "planted", "fuzz"}
# About the project as a whole.
WHOLE = {"import_direction", "layout", "public_names", "readme", "system_bits"}


def modules() -> set[str]:
    return {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}


def test_every_folder_of_tests_is_named_after_what_it_tests():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    assert folders - APART <= modules()


def test_every_test_beside_the_folders_is_of_one_module_or_of_the_whole():
    names = {path.name.removesuffix(".py").removeprefix("test_") for path in TESTS.glob("test_*.py")}
    single = {name for name in modules() if (SOURCE / f"{name}.py").is_file()}
    assert names - WHOLE <= single
