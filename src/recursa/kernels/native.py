"""IR text to machine code through llvmlite, and calls into it."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from recursa.kernels.cache import entry_key, object_code
from recursa.kernels.writer import Shape

_COMPILE_LOCK = threading.RLock()


class Effort:
    """How hard LLVM tries when it chooses instructions and registers, 0 to 3. Less compiles sooner, runs more slowly;
    arithmetic and bits are the same. RECURSA_EFFORT sets it.
    """

    level = {"0": 0, "1": 1, "3": 3}.get(os.environ.get("RECURSA_EFFORT", ""), 2)


# A fork waits for a compilation that is under way: the child then finds this lock, llvmlite's own, and LLVM free.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_COMPILE_LOCK.acquire, after_in_parent=_COMPILE_LOCK.release, after_in_child=_COMPILE_LOCK.release
    )


@cache
def _setting(effort: int) -> dict[str, str]:
    """What decides the object code beside the IR; the cache's key."""
    import llvmlite
    import llvmlite.binding as llvm

    return {
        "cpu": llvm.get_host_cpu_name(),
        "features": llvm.get_host_cpu_features().flatten(),
        "llvm_version": f"{'.'.join(map(str, llvm.llvm_version_info))}, llvmlite {llvmlite.__version__}",
        "options": f"{llvm.get_default_triple()} opt={effort} jit",
    }


def _host() -> Any:
    """A target machine for this processor, with everything it has; each execution engine owns one."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    setting = _setting(Effort.level)
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=setting["cpu"], features=setting["features"], opt=Effort.level, jit=True)


def setting_text() -> str:
    """What decides the object code beside the IR, as text."""
    with _COMPILE_LOCK:
        return repr(_setting(Effort.level))


def code_key(ir: str) -> bytes:
    """The name of a module's object code in the cache."""
    with _COMPILE_LOCK:
        return entry_key(ir, *_setting(Effort.level).values())


def machine_code(ir: str) -> bytes:
    """The object code of a module, from the cache or from LLVM."""
    with _COMPILE_LOCK:
        return object_code(ir, compiled, **_setting(Effort.level))


def compiled(ir: str) -> bytes:
    """The object code of a module."""
    import llvmlite.binding as llvm

    machine = _host()
    module = llvm.parse_assembly(ir)
    module.verify()
    return machine.emit_object(module)


def _loaded(code: bytes) -> Any:
    """An execution engine that holds object code, linked and ready to run; it keeps its own copy."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _host())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


@cache
def simd_width(single: bool) -> int:
    """States that fit into one register of this processor."""
    import llvmlite.binding as llvm

    with _COMPILE_LOCK:
        features = llvm.get_host_cpu_features()
    doubles = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
    return 2 * doubles if single else doubles


def simd_shape(single: bool) -> Shape:
    """The widest shape of this processor."""
    return Shape(simd_width(single), single)


class Native:
    """A compiled function ``void f(i64 blocks, ptr...)``. The machine code lives as long as this object."""

    def __init__(self, module: str | bytes, name: str, pointers: int) -> None:
        """Of a module's IR, or of its object code."""
        code = machine_code(module) if isinstance(module, str) else module
        with _COMPILE_LOCK:
            self._engine = _loaded(code)
            self.address = self._engine.get_function_address(name)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *([ctypes.c_void_p] * pointers))(self.address)

    def __del__(
        self, lock: AbstractContextManager[Any] = _COMPILE_LOCK, ending: Callable[[], bool] = sys.is_finalizing
    ) -> None:
        """Free the code under the lock too, so that no fork falls into it; names of the module may be gone already."""
        if hasattr(self, "_engine") and not ending():
            with lock:
                self._engine.close()
