"""``recursa --version``: what somebody who is to help has to know."""

from __future__ import annotations

import platform
import sys
from importlib import import_module, metadata

from recursa.kernels import native
from recursa.kernels.switch import compiles
from recursa.version import __version__

_FEATURES = ("avx2", "fma", "avx512f", "neon", "sve")  # of processors: those that decide how code is made


def versions() -> dict[str, str]:
    """By what it is about."""
    system = f"{platform.system()} {platform.machine()}"
    found = {
        "recursa": __version__,
        "Python": f"{platform.python_version()}, {platform.python_implementation()}{_lock()}, {system}",
        "NumPy": _of("numpy"),
        "SciPy": _of("scipy"),
        "llvmlite": _of("llvmlite"),
        "C extension": _there("_entry"),
        "cache": str(native.directory() or "none"),
    }
    if compiles():
        import llvmlite.binding as llvm

        has = llvm.get_host_cpu_features()
        listed = " ".join(name for name in _FEATURES if has.get(name))
        found["llvmlite"] += f", LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
        width = native.simd_width(False)
        found["processor"] = f"{llvm.get_host_cpu_name()}, {listed or 'no vector unit'}, {width} lanes"
    return found


def text() -> str:
    """As it is printed."""
    (name, version), *others = versions().items()
    width = max(len(one) for one, _ in others) + 1
    return "\n".join([f"{name} {version}", *(f"  {one + ':':<{width}} {said}" for one, said in others)])


def _of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _lock() -> str:
    has = getattr(sys, "_is_gil_enabled", None)
    return "" if has is None or has() else " without the interpreter's lock"


def _there(name: str) -> str:
    try:
        import_module(f"recursa.{name}")
    except ImportError as error:
        return "no" if isinstance(error, ModuleNotFoundError) else f"cannot be loaded ({error})"
    return "yes"
