"""The one part that pyproject.toml cannot say: an optional C extension that needs NumPy's headers."""

import sys

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "recursa._entry",
            [f"src/recursa/{name}.c" for name in ("_entry", "_inputs", "_method", "_pseudo_inverse")],
            depends=[f"src/recursa/{name}.h" for name in ("_entry", "_pseudo_inverse")],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O2", *([] if sys.platform == "win32" else ["-ffp-contract=off"])],  # the same bits
            optional=True,  # without it single calls take the general way
        )
    ]
)
