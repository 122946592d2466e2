"""``python -m dpols`` is the command ``dpols``."""

from .cli import main

if __name__ == "__main__":  # worker processes import this file under another name
    main()
