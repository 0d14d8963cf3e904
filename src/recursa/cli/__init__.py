"""The command line: thin commands that call the public API and print."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of ``recursa``: bad input is one clear line and exit code 2."""
    from recursa.cli.commands import recursa
    from recursa.errors import RecursaError

    try:
        recursa()
    except RecursaError as error:
        print(f"recursa: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a folder that cannot be written, a full disk
        print(f"recursa: {error}", file=sys.stderr)
        sys.exit(2)
