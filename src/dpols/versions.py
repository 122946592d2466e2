"""The version of dpols, and of what its results depend on."""

__version__ = "0.1.0"


def versions() -> tuple[tuple[str, str], ...]:
    """Return the names and versions of all that takes part in a fit."""
    import platform

    import flint
    import numpy
    import scipy

    return (
        ("dpols", __version__),
        ("python", platform.python_version()),
        ("numpy", numpy.__version__),
        ("scipy", scipy.__version__),
        ("python-flint", flint.__version__),
    )
