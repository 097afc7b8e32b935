"""``python -m proxqn``: the same as the command ``proxqn``."""

from proxqn.cli import main

if __name__ == "__main__":
    main()
