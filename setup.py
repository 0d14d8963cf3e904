"""The one part that pyproject.toml cannot say: an optional C extension that needs NumPy's headers."""

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "recursa._entry",
            ["src/recursa/_entry.c"],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O2"],
            optional=True,  # without it single calls take the general way
        )
    ]
)
