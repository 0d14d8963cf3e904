"""``python -m recursa`` is the command line."""

from recursa.cli import main

if __name__ == "__main__":
    main()
