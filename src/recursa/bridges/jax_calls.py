"""Functions of ``functions.py`` as primitives of JAX: called through XLA, batched, differentiated in both modes.

Two primitives are enough for derivatives of every order. ``call`` evaluates a function; its change along directions is
``linear``, which is linear in them. The transpose of ``linear`` is a ``call`` of the function differentiated in
reverse, and the change of ``linear`` is the ``linear`` of the function differentiated forward.

On processors both run our native code through XLA's foreign-function interface (``_xla.c``), with all batch axes in one
call; elsewhere, and where asked for, the graph runs on JAX arrays (``jax_traced.py``).
"""

from __future__ import annotations

import secrets
from functools import cache, partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from recursa.bridges.functions import GraphFunction
from recursa.bridges.jax_tracing import evaluated
from recursa.errors import UntraceableError
from recursa.kernels.switch import compiles, native_module

Implementation = Literal["native", "traced"]
IMPLEMENTATIONS: tuple[str, ...] = get_args(Implementation)

_TARGET = "recursa_kernel"


@cache
def _token() -> int:
    """What tells this process from others, whose addresses mean nothing here; the handler is registered with it."""
    token = secrets.randbits(62)
    jax.ffi.register_ffi_target(_TARGET, native_module.xla_handler(token), platform="cpu")
    return token


def called(function: GraphFunction, *arrays: Any, implementation: str) -> Any:
    """The function of arrays (..., n) that have the same batch axes and type."""
    return call_p.bind(*arrays, function=function, implementation=implementation)


# ---- evaluation ------------------------------------------------------------------------------------------------------


def _abstract(*arrays: Any, function: GraphFunction, **_: Any) -> Any:
    return arrays[0].update(shape=(*arrays[0].shape[:-1], function.size))


def _native(function: GraphFunction, *arrays: Any) -> Any:
    first = arrays[0]
    shape = (*first.shape[:-1], function.size)
    count = int(np.prod(first.shape[:-1], dtype=np.int64))
    if count == 0 or function.size == 0:
        return jnp.zeros(shape, first.dtype)
    token = _token()
    try:
        place = function.place(first.dtype == jnp.float32, count)
    except UntraceableError:  # more arrays than a native call takes
        return evaluated(function, *arrays)
    call = jax.ffi.ffi_call(_TARGET, jax.ShapeDtypeStruct(shape, first.dtype), vmap_method="broadcast_all")
    return call(*arrays, token=np.int64(token), kernel=np.int64(place))


def _call(*arrays: Any, function: GraphFunction, implementation: str, on_processor: bool) -> Any:
    if implementation == "native" and on_processor and compiles():
        return _native(function, *arrays)
    return evaluated(function, *arrays)


def _linear(*arrays: Any, function: GraphFunction, active: Any, implementation: str, on_processor: bool) -> Any:
    return _call(*arrays, function=function.along(active), implementation=implementation, on_processor=on_processor)


def _eager(primitive: Any, *arrays: Any, **static: Any) -> Any:
    return _jitted(primitive, tuple(static.items()))(*arrays)


@cache
def _jitted(primitive: Any, static: tuple[tuple[str, Any], ...]) -> Any:
    return jax.jit(partial(primitive.bind, **dict(static)))


def _batched(primitive: Any, arrays: Any, axes: Any, **static: Any) -> Any:
    size = next(x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None)
    front = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    return primitive.bind(*front, **static), 0


def _primitive(name: str, evaluation: Any) -> Any:
    made = Primitive(name)
    made.def_abstract_eval(_abstract)
    made.def_impl(partial(_eager, made))
    batching.primitive_batchers[made] = partial(_batched, made)
    on_cpu, elsewhere = (
        mlir.lower_fun(partial(evaluation, on_processor=here), multiple_results=False) for here in (True, False)
    )
    mlir.register_lowering(made, on_cpu, platform="cpu")
    mlir.register_lowering(made, elsewhere)
    return made


call_p = _primitive("recursa_call", _call)
linear_p = _primitive("recursa_linear", _linear)


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _moving(names: Any, changes: Any) -> dict[str, Any]:
    """The inputs that change, with their changes."""
    return {name: x for name, x in zip(names, changes, strict=True) if not isinstance(x, ad.Zero)}


def _zero(like: Any) -> Any:
    return ad.Zero.from_primal_value(like)


def _call_changed(arrays: Any, changes: Any, *, function: GraphFunction, implementation: str) -> Any:
    result = call_p.bind(*arrays, function=function, implementation=implementation)
    moving = _moving(function.sizes, changes)
    if not moving:
        return result, _zero(result)
    static = {"function": function, "active": tuple(moving), "implementation": implementation}
    return result, linear_p.bind(*arrays, *moving.values(), **static)


def _linear_changed(
    arrays: Any, changes: Any, *, function: GraphFunction, active: tuple[str, ...], implementation: str
) -> Any:
    result = linear_p.bind(*arrays, function=function, active=active, implementation=implementation)
    count, change = len(function.sizes), function.along(active)
    moving = _moving(change.sizes, changes)
    if not moving:
        return result, _zero(result)
    if all(isinstance(x, ad.Zero) for x in changes[:count]):  # only directions: it is linear in them
        own = _moving(active, changes[count:])
        static = {"function": function, "active": tuple(own), "implementation": implementation}
        return result, linear_p.bind(*arrays[:count], *own.values(), **static)
    static = {"function": change, "active": tuple(moving), "implementation": implementation}
    return result, linear_p.bind(*arrays, *moving.values(), **static)


def _linear_transposed(
    weight: Any, *arrays: Any, function: GraphFunction, active: tuple[str, ...], implementation: str
) -> Any:
    count = len(function.sizes)
    wanted = [ad.is_undefined_primal(x) for x in arrays]
    assert not any(wanted[:count]), "linear in directions only"
    if isinstance(weight, ad.Zero):
        return [ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in arrays]
    names = [name for name, one in zip(active, wanted[count:], strict=True) if one]
    reverse = function.pulled(names)
    row = call_p.bind(*arrays[:count], weight, function=reverse, implementation=implementation)
    cuts = np.cumsum([function.sizes[name] for name in names])[:-1]
    parts = dict(zip(names, jnp.split(row, cuts.tolist(), axis=-1), strict=True))
    return [None] * count + [parts.get(name) for name in active]


ad.primitive_jvps[call_p] = _call_changed
ad.primitive_jvps[linear_p] = _linear_changed
ad.primitive_transposes[linear_p] = _linear_transposed
