"""A state of a robot from a JSON file, for commands."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import recursa as rc
from recursa.dynamics.wrenches import Losses
from recursa.errors import StateError, unknown_name
from recursa.formats.yaml_text import parse_json
from recursa.sweeps.batching import Array, as_array

KEYS = ("q", "v", "a", "tau")


@dataclass(frozen=True)
class State:
    """Where to linearise: the torques and the accelerations that go together."""

    q: Array
    v: Array
    a: Array
    tau: Array


def read_state(robot: rc.Robot, path: str, only: tuple[str, ...] = KEYS, *, losses: Losses = False) -> State:
    """The state in a JSON file ("-": standard input): q, and what else there is of v and a or tau.

    Each is a list or an object by joint name. v is zero where it is missing, as are joints that an object leaves out
    (q: neutral). Of a and tau the other follows, with ``losses`` or without; where both are missing a is zero, and of a
    robot with constraints, whose torques do not follow from a, tau is. ``only`` names the keys that are allowed.
    """
    shown = "standard input" if path == "-" else f"'{path}'"
    data = _json(path, shown)
    if not isinstance(data, dict):
        kind = {list: "a list", str: "text", type(None): "null"}.get(type(data), "a number")
        raise StateError(f'{shown}: a state is an object such as {{"q": [...], "v": [...]}}, not {kind}')
    for key in data:
        if key not in only:
            raise StateError(f"{shown}: {unknown_name('key', key, only, owner='a state')}")
    if "q" not in data:
        raise StateError(f'{shown}: "q" is missing. Write "q": [...], or "q": {{}} for the neutral configuration')
    if "a" in data and "tau" in data:
        raise StateError(f'{shown}: "a" and "tau" are both there, but each follows from the other. Leave one out')
    try:
        given = {key: _vector(robot, key, value) for key, value in data.items()}
        q, v = given["q"], given.get("v", np.zeros(robot.nv))
        if "tau" in given or (robot.constraints and "a" not in given):
            tau = given.get("tau", np.zeros(robot.nv))
            a = robot.forward_dynamics(q, v, tau, losses=losses)
        else:
            a = given.get("a", np.zeros(robot.nv))
            tau = robot.inverse_dynamics(q, v, a, losses=losses)
    except StateError as error:
        raise StateError(f"{shown}: {error}") from None
    except (rc.ShapeError, rc.UnknownNameError) as error:
        raise type(error)(f"{shown}: {error}") from None
    return State(q, v, a, tau)


def _json(path: str, shown: str) -> Any:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8-sig")
    except FileNotFoundError:
        raise StateError(f'there is no file {shown}. A state is JSON: {{"q": [...], "v": [...]}}') from None
    except UnicodeDecodeError:
        raise StateError(f'{shown} is not text, but a state is JSON: {{"q": [...], "v": [...]}}') from None
    except OSError as error:
        raise StateError(f"cannot read {shown}: {error.strerror or error}") from None
    try:
        return parse_json(text, shown)
    except rc.ModelError as error:
        raise StateError(str(error)) from None


def _vector(robot: rc.Robot, name: str, value: Any) -> Array:
    coordinates = name == "q"
    array = as_array(robot.model, name, value, coordinates=coordinates)
    if array.ndim != 1:
        size = robot.nq if coordinates else robot.nv
        raise rc.ShapeError(f"{name} has shape {array.shape}, expected ({size},): this command takes one state")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise StateError(f"{name}[{wrong[0]}] is {array[wrong[0]]}; it has to be a finite number")
    return array
