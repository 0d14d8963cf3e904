"""The version, which files carry, too."""

__version__ = "0.1.0"
