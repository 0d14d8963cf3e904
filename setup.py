"""What pyproject.toml cannot say: a C extension that needs NumPy's headers.

``RECURSA_EXTENSIONS=none`` leaves it out, for a wheel that installs everywhere and interprets quantities. With
``required``, as wheels for distribution are built, a failure to compile it is an error; otherwise it is skipped where
it fails.
"""

import os
import sys

import setuptools

# as pyproject.toml demands it; asked here because `python setup.py` does not look, and older ones stop at the licence
LEAST = 77
if int(setuptools.__version__.partition(".")[0]) < LEAST:
    sys.exit(
        f"setup.py needs setuptools {LEAST} or later and found {setuptools.__version__}. "
        "`pip install .` fetches what it needs; or first: pip install 'setuptools>=77'"
    )

SOURCES = (
    "module",
    "method",
    "entry",
    "batch",
    "blocks",
    "inputs",
    "memory",
    "making",
    "pseudo_inverse",
    "levels",
    "search",
    "paths",
    "singular",
    "xla",
)
# C11 for MSVC, which knows no ISO C else; elsewhere the same bits, nothing exported but the module, and short loops that do not
# straddle cache lines: where they come to lie took up to 30 ns of a single call
UNIX = ["-O3", "-ffp-contract=off", "-fvisibility=hidden", "-falign-loops=32"]
FLAGS = ["/std:c11"] if sys.platform == "win32" else UNIX


def extensions(wanted: str) -> list[setuptools.Extension]:
    """``none``, ``required``, or empty: those that can be built."""
    if wanted not in ("", "none", "required"):
        sys.exit(f"RECURSA_EXTENSIONS is '{wanted}': it can be 'none', 'required' or not set")
    if wanted == "none":
        return []
    import numpy

    optional = not wanted
    return [
        setuptools.Extension(
            "recursa._entry",
            [f"src/recursa/_{name}.c" for name in SOURCES],
            depends=[
                f"src/recursa/{name}.h" for name in ("_entry", "_pseudo_inverse", "_levels", "_paths", "_singular")
            ],
            include_dirs=[numpy.get_include()],
            extra_compile_args=FLAGS,
            optional=optional,  # without it quantities are interpreted
        ),
    ]


setuptools.setup(ext_modules=extensions(os.environ.get("RECURSA_EXTENSIONS", "")))
