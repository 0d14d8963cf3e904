"""IR text to machine code through llvmlite, and calls into it."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from recursa.kernels.emit import Shape

_COMPILE_LOCK = threading.Lock()


@cache
def available() -> bool:
    """Whether llvmlite can be imported."""
    try:
        import llvmlite.binding  # noqa: F401
    except ImportError:
        return False
    return True


def _host() -> Any:
    """A target machine for this processor, with everything it has; each execution engine owns one."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )


@cache
def simd_width(single: bool) -> int:
    """States that fit into one register of this processor."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    doubles = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
    return 2 * doubles if single else doubles


def simd_shape(single: bool) -> Shape:
    """The widest shape of this processor."""
    return Shape(simd_width(single), single)


class Native:
    """A compiled function ``void f(i64 blocks, ptr...)``. The machine code lives as long as this object."""

    def __init__(self, ir: str, name: str, pointers: int) -> None:
        import llvmlite.binding as llvm

        with _COMPILE_LOCK:
            module = llvm.parse_assembly(ir)
            module.verify()
            self._engine = llvm.create_mcjit_compiler(module, _host())
            self._engine.finalize_object()
        address = self._engine.get_function_address(name)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *([ctypes.c_void_p] * pointers))(address)
