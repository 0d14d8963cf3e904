"""The C extension, for jobs that run in native code alone."""

from __future__ import annotations

from typing import Any

from recursa.errors import NativeCodeError

try:
    from recursa import _entry
except ImportError:
    _entry = None  # type: ignore[assignment]


def extension(job: str) -> Any:
    """The extension module; without it an error that names the ``job`` and says how to get it.

    >>> extension("the timing of paths").__name__
    'recursa._entry'
    """
    if _entry is None:
        raise NativeCodeError(
            f"{job} needs Recursa's C extension, which is not installed. Install a wheel for your system "
            "(pip install --force-reinstall recursa), or build from source with a C compiler"
        )
    return _entry
