"""Steps on their way into a plan: buffers named, each step in a sweep of its own, fused at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recursa.dynamics.articulated import ARTICULATED_BUFFERS, BIAS_ACCELERATION, BIAS_FORCE, ELIMINATE
from recursa.dynamics.compliance import COMPLIANCE, COMPLIANCE_BUFFER
from recursa.dynamics.inertia import COMPOSITE
from recursa.dynamics.inverse import STATIC
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.operators.shapes import ONE, Space
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Sweep, base_to_tip, each_link, fuse, tip_to_base
from recursa.sweeps.plan import split

Function = Callable[..., Any]

PREPARED: dict[str, tuple[Step, ...]] = {
    "X": (RELATIVE,),
    "P": (RELATIVE, ELIMINATE),
    "G": (RELATIVE, ELIMINATE),
    "R": (RELATIVE, COMPOSITE),
    "Upsilon": (RELATIVE, ELIMINATE, COMPLIANCE),
    "V": (RELATIVE, VELOCITY),
    "c": (RELATIVE, VELOCITY, BIAS_ACCELERATION),
    "f": (RELATIVE, VELOCITY, BIAS_FORCE),
    "alpha": (RELATIVE, STATIC),
}
"""Buffers that depend on the state alone, and the steps that fill them."""

_INWARD = (ELIMINATE, COMPOSITE)


class Assembly:
    """What has been computed so far. Names are those of buffers; ``meaning`` is what a step computes, for people.

    >>> from recursa.operators import steps
    >>> made = Assembly()
    >>> name = made.local(steps.hinge_transposed, ("joint", "joint:x"), Space("link", 12), "H* x")
    >>> print(made.plan("H* x", name))
    plan H* x
      base to tip:
          x1 <- hinge_transposed(joint, joint:x)    H* x
    """

    def __init__(self) -> None:
        self._sweeps: dict[Sweep, None] = {}
        self._buffers: list[Buffer] = []
        self._inward = {"P", "G", "R"}  # buffers that a sweep from tip to base fills

    def plan(self, name: str, result: str) -> Plan:
        """All of it in the fewest sweeps; what the result does not need is left out."""
        buffers = (*ARTICULATED_BUFFERS, Buffer("R", RigidInertia.zero()), COMPLIANCE_BUFFER, *self._buffers)
        return fuse(Plan(name, buffers, tuple(self._sweeps)), name=name, keep=(result,))

    def prepare(self, *names: str) -> None:
        """See to it that buffers of the state are computed; other names are let through."""
        for name in names:
            for step in PREPARED.get(name, ()):
                self._append(tip_to_base(step) if step in _INWARD else base_to_tip(step))

    def local(self, fn: Function, reads: tuple[str, ...], space: Space, meaning: str) -> str:
        """At the body itself, or from its parent."""
        self.prepare(*reads)
        name = self._buffer(() if space.name == "joint" else Motion.zero())
        self._append(base_to_tip(Step(fn, reads, (name,), meaning)))
        if self._is_inward(reads):
            self._inward.add(name)
        return name

    def gather(self, fn: Function, reads: tuple[str, ...], meaning: str, *, outputs: int = 1) -> list[str]:
        """From tip to base: the step also gets what the children handed in, last, and hands something on, last."""
        self.prepare(*reads)
        sums = self._buffer(Force.zero())
        names = [self._buffer(Force.zero()) for _ in range(outputs)]
        self._append(tip_to_base(Step(fn, (*reads, sums), (*names, f"{sums}@parent"), meaning)))
        self._inward.update(names)
        return names

    def spread(self, fn: Function, reads: tuple[str, ...], meaning: str) -> tuple[str, str]:
        """From base to tip: the step also gets the parent's result, last; the result and what was carried over."""
        self.prepare(*reads)
        result, carried = self._buffer(Motion.zero()), self._buffer(Motion.zero())
        self._append(base_to_tip(Step(fn, (*reads, f"{result}@parent"), (result, carried), meaning)))
        return result, carried

    def summed(self, fn: Function, reads: tuple[str, ...], meaning: str) -> str:
        """A number that the whole robot has once: what the bodies have, added up as they are passed."""
        name = self._buffer(0.0)
        step = Step(fn, reads, (f"{name}@robot",), meaning)
        self._append(tip_to_base(step) if self._is_inward(reads) else base_to_tip(step))
        return name

    def at_link(self, fn: Function, reads: tuple[str, ...], link: int, space: Space, meaning: str) -> str:
        """At one link, with a result that the whole robot has."""
        name = self._buffer(0.0 if space == ONE else Motion.zero())
        self._append(each_link(Step(fn, reads, (f"{name}@robot",), meaning), only=(link,)))
        return name

    def on_body(self, fn: Function, reads: tuple[str, ...], link: int, meaning: str) -> str:
        """At one link, with a result that its body has; other bodies have nothing."""
        name = self._buffer(Force.zero())
        self._append(each_link(Step(fn, reads, (f"{name}@body",), meaning), only=(link,)))
        return name

    def _is_inward(self, reads: tuple[str, ...]) -> bool:
        return any(name in self._inward for name in reads if not split(name)[1])

    def _append(self, sweep: Sweep) -> None:
        self._sweeps.setdefault(sweep)

    def _buffer(self, base: Any) -> str:
        name = f"x{len(self._buffers) + 1}"
        self._buffers.append(Buffer(name, base))
        return name
