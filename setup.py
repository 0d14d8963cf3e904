"""The one part that pyproject.toml cannot say: optional C extensions, of which one needs NumPy's headers."""

import sys

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "recursa._entry",
            [f"src/recursa/_{name}.c" for name in ("module", "method", "entry", "inputs", "making", "pseudo_inverse")],
            depends=[f"src/recursa/{name}.h" for name in ("_entry", "_pseudo_inverse")],
            include_dirs=[numpy.get_include()],
            # the same bits, and nothing exported but the module
            extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fvisibility=hidden"],
            optional=True,  # without it single calls take the general way
        ),
        Extension("recursa._xml", ["src/recursa/_xml.c"], optional=True),  # without it loading takes a little longer
    ]
)
