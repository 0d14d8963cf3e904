"""The one part that pyproject.toml cannot say: optional C extensions, one of which needs NumPy's headers."""

import sys

import numpy
from setuptools import Extension, setup

SOURCES = ("module", "method", "entry", "batch", "blocks", "inputs", "making", "pseudo_inverse", "levels", "search", "xla")

setup(
    ext_modules=[
        Extension(
            "recursa._entry",
            [f"src/recursa/_{name}.c" for name in SOURCES],
            depends=[f"src/recursa/{name}.h" for name in ("_entry", "_pseudo_inverse", "_levels")],
            include_dirs=[numpy.get_include()],
            # the same bits, and nothing exported but the module
            extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fvisibility=hidden"],
            optional=True,  # without it single calls take the general way
        ),
        Extension(
            "recursa._tuples", ["src/recursa/_tuples.c"], optional=True
        ),  # without it tuples are made more slowly
        Extension("recursa._elements", ["src/recursa/_elements.c"], optional=True),  # without it files load more slowly
    ]
)
