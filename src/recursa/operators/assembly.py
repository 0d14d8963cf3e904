"""Steps on their way into a plan: buffers named, each step in a sweep of its own, fused at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from recursa.diagonal.equations_of_motion import INERTIA_RATE
from recursa.diagonal.mass_matrix_sensitivity import COMPOSITE_RATE
from recursa.diagonal.rates_and_moments import ARTICULATE
from recursa.dynamics.articulated_bodies import ARTICULATED_BUFFERS, BIAS_ACCELERATION, BIAS_FORCE, ELIMINATE
from recursa.dynamics.compliance import COMPLIANCE, COMPLIANCE_BUFFER, COMPLIANCE_RATE
from recursa.dynamics.inverse import STATIC
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.operators.inverse_steps import eliminate_in_basis, eliminate_with
from recursa.operators.shapes import ONE, Space
from recursa.operators.steps import Once, Stacked
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.sweeps import Buffer, Plan, Step, Sweep, base_to_tip, each_link, fuse, tip_to_base
from recursa.sweeps.plan import split

Function = Callable[..., Any]

PREPARED: dict[str, tuple[Step, ...]] = {
    "X": (RELATIVE,),
    "P": (RELATIVE, ELIMINATE),
    "elimination": (RELATIVE, ELIMINATE),
    "R": (RELATIVE, COMPOSITE),
    "Upsilon": (RELATIVE, ELIMINATE, COMPLIANCE),
    "V": (RELATIVE, VELOCITY),
    "c": (RELATIVE, VELOCITY, BIAS_ACCELERATION),
    "f": (RELATIVE, VELOCITY, BIAS_FORCE),
    "alpha": (RELATIVE, STATIC),
}
"""Buffers that depend on the state alone, and the steps that fill them."""

RATES: dict[str, tuple[Step, ...]] = {
    "V": (RELATIVE, VELOCITY),
    "Pdot": (RELATIVE, ELIMINATE, INERTIA_RATE),
    "Rdot": (RELATIVE, COMPOSITE, COMPOSITE_RATE),
    "Upsilondot": (RELATIVE, ELIMINATE, COMPLIANCE, INERTIA_RATE, COMPLIANCE_RATE),
}
"""Buffers that depend on a velocity of the robot too, be it v or another, and the steps that fill them."""

_VELOCITY_INPUTS = ("v", "rate", "joint:along")  # what these steps call that velocity
_OF_VELOCITY = (*RATES, "slope")  # what they make of it: one buffer for each velocity
_INWARD = (ELIMINATE.fn, COMPOSITE.fn, INERTIA_RATE.fn, COMPOSITE_RATE.fn, eliminate_with, eliminate_in_basis)


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
        self._made = 0
        self._inward = {"P", "elimination", "R"}  # buffers that a sweep from tip to base fills
        self._prepared = dict(PREPARED)

    def plan(self, name: str, result: str) -> Plan:
        """All of it in the fewest sweeps; what the result does not need is left out."""
        buffers = (*ARTICULATED_BUFFERS, Buffer("R", RigidInertia.zero()), COMPLIANCE_BUFFER, *self._buffers)
        sweeps = tuple(self._sweeps)
        if any("P+" in step.reads for sweep in sweeps for step in sweep.steps):  # the same recursion, P+ kept
            buffers = (*buffers, Buffer("P+", ArticulatedInertia.zero()))
            sweeps = tuple(tip_to_base(ARTICULATE) if x == tip_to_base(ELIMINATE) else x for x in sweeps)
        return fuse(Plan(name, buffers, sweeps), name=name, keep=(result,))

    def prepare(self, *names: str) -> None:
        """See to it that buffers of the state are computed; other names are let through."""
        for name in names:
            for step in self._prepared.get(name, ()):
                self._append(tip_to_base(step) if step.fn in _INWARD else base_to_tip(step))

    def filter(self, mark: str, inertia: str, rotors: str, meaning: str, *, in_basis: bool) -> None:
        """The articulated-body recursion of another matrix: P, elimination, Upsilon with a mark behind."""
        P, elimination, upsilon = f"P{mark}", f"elimination{mark}", f"Upsilon{mark}"
        fn = eliminate_in_basis if in_basis else eliminate_with
        own = Step(fn, ("joint", P, inertia, rotors, "X"), (P, elimination, f"{P}@parent"), meaning)
        outward = replace(COMPLIANCE, reads=("X", elimination, f"{upsilon}@parent"), writes=(upsilon,))
        self._prepared |= dict.fromkeys((P, elimination), (RELATIVE, own)) | {upsilon: (RELATIVE, own, outward)}
        self._buffers += [
            Buffer(P, ArticulatedInertia.zero()),
            Buffer(elimination, ()),
            Buffer(upsilon, ArticulatedInertia.zero()),
        ]
        self._inward |= {P, elimination}

    def rate(self, name: str, velocity: str) -> str:
        """See to it that a buffer of :data:`RATES` is computed for a velocity, an input; what it is called then."""
        mark = "" if velocity == "v" else "_" + velocity.partition(":")[2]

        def named(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(renamed.get(split(x)[0], split(x)[0]) + x[len(split(x)[0]) :] for x in names)

        renamed = {x: x + mark for x in _OF_VELOCITY} | dict.fromkeys(_VELOCITY_INPUTS, velocity)
        for step in RATES[name]:
            step = replace(step, reads=named(step.reads), writes=named(step.writes))
            self._append(tip_to_base(step) if step.fn in _INWARD else base_to_tip(step))
        for made in {split(x)[0] for step in RATES[name] for x in step.writes} & {*_OF_VELOCITY}:
            base = {"V": Motion.zero(), "slope": (), "Rdot": RigidInertia.zero()}.get(made, ArticulatedInertia.zero())
            if renamed[made] not in {buffer.name for buffer in (*ARTICULATED_BUFFERS, *self._buffers)}:
                self._buffers.append(Buffer(renamed[made], base))
            if made not in ("V", "Upsilondot"):
                self._inward.add(renamed[made])
        return renamed[name]

    def local(self, fn: Function, reads: tuple[str, ...], space: Space, meaning: str) -> str:
        """At the body itself, or from its parent."""
        return self.at_body(fn, reads, () if space.name == "joint" else Motion.zero(), meaning)

    def at_body(self, fn: Function, reads: tuple[str, ...], base: Any, meaning: str) -> str:
        """The same for values of any kind, ``base`` being one of them."""
        self.prepare(*reads)
        name = self._buffer(base)
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

    def given(self, sweeps: tuple[Sweep, ...], buffers: tuple[Buffer, ...]) -> None:
        """Sweeps that others have made, with what they fill."""
        for sweep in sweeps:
            self._append(sweep)
        self._buffers += buffers

    def summed(self, fn: Function, reads: tuple[str, ...], meaning: str, base: Any = 0.0) -> str:
        """What the whole robot has once, from ``base`` on: what the bodies have, added up as they are passed."""
        name = self._buffer(base)
        step = Step(fn, reads, (f"{name}@robot",), meaning)
        self._append(tip_to_base(step) if self._is_inward(reads) else base_to_tip(step))
        return name

    def at_link(self, fn: Function, reads: tuple[str, ...], link: int, space: Space, meaning: str) -> str:
        """At one link, with a result that the whole robot has."""
        self.prepare(*(split(name)[0] for name in reads))
        name = self._buffer(0.0 if space == ONE else Stacked((0.0,) * space.size))
        fn = fn if space == ONE else Once(fn)
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
        self._made += 1
        name = f"x{self._made}"
        self._buffers.append(Buffer(name, base))
        return name
