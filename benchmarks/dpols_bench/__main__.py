"""``python -m dpols_bench``."""

from .cli import main

main()
