"""Every question that a robot answers with numbers, found by signature: each with every value of every option."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter, isfunction, signature
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

import recursa as rc

NOT_ASKED = {  # of robots: what is no array, or made of other questions' answers
    "augmented_links", "base_parameters", "doctor", "export_c", "neutral", "random_state", "simulate", "to_urdf",
    "with_base", "with_frame", "with_gravity", "with_payload", "is_flat",
    "expressions", "reverse_gaussian_elimination", "move_joints", "simulate_links",
}  # fmt: skip


_WITH = {"mass": {"method": "composite"}, "bias": {"method": "composite"}}  # options that need another one


class Asked(NamedTuple):
    """A question by name, options spelled out."""

    name: str
    ask: Callable[[], Any]


def every_question(robot: rc.Robot, seed: int = 0) -> Iterator[Asked]:
    """Methods, the diagonal equations, and the functions of ``rc.denoc``, ``rc.free`` and ``rc.operational``."""
    arguments = _arguments(robot, seed)
    owners = {"": robot, "diagonal.": robot.diagonal, "diagonal.unnormalized.": robot.diagonal.unnormalized}
    for prefix, owner in owners.items():
        for name in (name for name in dir(owner) if _is_asked(name) and callable(getattr(type(owner), name))):
            yield from _asked(prefix + name, getattr(owner, name), arguments)
    for module in (rc.denoc, rc.free):
        functions = {name: item for name, item in vars(module).items() if _belongs(item, module.__name__)}
        for name, function in functions.items():
            yield from _asked(f"{module.__name__.rpartition('.')[2]}.{name}", function, arguments)
    yield from _asked("operational.model", rc.operational.model, arguments)
    for kind in ("P", "D", "G", "K", "factor", "inverse_factor", "solve"):
        yield Asked(f"factorization.{kind}", partial(_factor, robot, arguments, kind))


def _factor(robot: rc.Robot, arguments: dict[str, Any], kind: str) -> Any:
    found = getattr(robot.factorization(arguments["q"]), kind)
    return found(arguments["tau"]) if callable(found) else found


def _is_asked(name: str) -> bool:
    return name not in NOT_ASKED and not name.startswith("_")


def _belongs(item: Any, module: str) -> bool:
    """Whether something is a public function of a package, and asked."""
    return isfunction(item) and item.__module__.startswith(module) and _is_asked(item.__name__)


def _arguments(robot: rc.Robot, seed: int) -> dict[str, Any]:
    """Random arguments by the names that methods have for them."""
    rng = np.random.default_rng(seed)
    (q, v), (q1, a) = robot.random_state(rng), robot.random_state(rng)
    nv, last = robot.nv, robot.link_names[-1]
    vectors = {
        name: rng.normal(size=nv) for name in ("tau", "nu", "xi", "eps", "kappa", "dv", "left", "right", "along")
    }
    free = {name: rng.normal(size=max(nv - 6, 0)) for name in ("rates", "joint_accelerations")}
    parameters = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    return {
        "robot": robot, "q": q, "v": v, "a": a, "q0": q, "q1": q1, **vectors, **free,
        "link": last, "other": robot.link_names[len(robot.link_names) // 2],
        "links": tuple(dict.fromkeys((robot.link_names[len(robot.link_names) // 2], last))),
        "wrenches": rng.normal(size=(robot.nlinks, 6)), "base_acceleration": rng.normal(size=6),
        "base_wrench": rng.normal(size=6), "momentum": rng.normal(size=6), "parameters": parameters,
        "contract": rng.normal(size=nv), "direction": tuple(rng.normal(size=(3, nv))),
    }  # fmt: skip


def _asked(name: str, method: Callable[..., Any], arguments: dict[str, Any]) -> Iterator[Asked]:
    """With the defaults, and with every other value of every option."""
    hints = get_type_hints(method, localns={"Robot": rc.Robot})
    needed = [p.name for p in signature(method).parameters.values() if p.default is Parameter.empty]
    given = {one: arguments[one] for one in needed}
    yield Asked(name, partial(method, **given))
    for option in signature(method).parameters.values():
        if option.default is Parameter.empty:
            continue
        for value in _values(option.name, hints[option.name], arguments):
            shown = f"{option.name}={value!r}" if isinstance(value, str | bool | int) else option.name
            more = {option.name: value, **_WITH.get(option.name, {})}
            yield Asked(f"{name}({shown})", partial(method, **given, **more))


def _values(option: str, hint: Any, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """What an option may be: its literals, both truth values, or an array."""
    if hint is bool:
        return (True,)
    if option in arguments:
        return (arguments[option],)
    parts = [hint, *get_args(hint)]
    return tuple(value for part in parts if get_origin(part) is Literal for value in get_args(part))
