"""The version that files carry."""

from __future__ import annotations

from importlib import import_module


def version() -> str:
    """That of the package, which stands above this folder."""
    return str(import_module("recursa").__version__)
