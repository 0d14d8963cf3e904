"""What pyproject.toml cannot say: optional C extensions, one of which needs NumPy's headers.

``RECURSA_EXTENSIONS=none`` leaves them out, for a wheel that installs everywhere and is slower; with ``required``, as
wheels to hand out are built, one that does not compile is an error. Else they are there where they can be.
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
    "making",
    "pseudo_inverse",
    "levels",
    "search",
    "paths",
    "singular",
    "xla",
)
# C11 for MSVC, which knows no ISO C else; elsewhere the same bits, and nothing exported but the module
FLAGS = ["/std:c11"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fvisibility=hidden"]


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
            depends=[f"src/recursa/{name}.h" for name in ("_entry", "_pseudo_inverse", "_levels", "_paths", "_singular")],
            include_dirs=[numpy.get_include()],
            extra_compile_args=FLAGS,
            optional=optional,  # without it single calls take the general way
        ),
        setuptools.Extension(
            "recursa._elements", ["src/recursa/_elements.c", "src/recursa/_outline.c"], optional=optional
        ),  # files load faster
        setuptools.Extension(
            "recursa._tuples",
            ["src/recursa/_tuples.c", "src/recursa/_constants.c"],
            extra_compile_args=FLAGS,
            optional=optional,  # vectors and records are made faster
        ),
    ]


setuptools.setup(ext_modules=extensions(os.environ.get("RECURSA_EXTENSIONS", "")))
