"""Matrices as linear maps: what they make of one vector, in O(n). Unit vectors give the columns.

Robots too large for code that spells out every entry get their matrices this way, in loops over bodies.
"""

from __future__ import annotations

from recursa.dynamics.coriolis import CoriolisInertia
from recursa.dynamics.inverse import FORCE_BUFFERS, MOVING_FORCE, ROTORS, TORQUE, drift, resting_force
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY, velocity
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


def coriolis_force(inertia: RigidInertia, own: Motion, along: Motion, turning: Motion) -> Force:
    """``M dJ/dt x + B J x`` of one body, B as in ``coriolis.py``."""
    return inertia @ turning + CoriolisInertia.of(inertia, own) @ along


_BUFFERS = (*FORCE_BUFFERS, Buffer("Jx", Motion.zero()), Buffer("dJx", Motion.zero()))
_ALONG = Step(velocity, ("joint", "X", "Jx@parent", "a"), ("Jx",), "J x = phi* H* x")

MASS_TIMES = Plan(
    "mass matrix times x",
    _BUFFERS,
    (
        base_to_tip(RELATIVE, _ALONG, Step(resting_force, ("inertia", "Jx"), ("f",), "f = M phi* H* x")),
        tip_to_base(TORQUE, ROTORS),
    ),
)
CORIOLIS_TIMES = Plan(
    "Coriolis matrix times x",
    _BUFFERS,
    (
        base_to_tip(
            RELATIVE,
            VELOCITY,
            _ALONG,
            Step(drift, ("joint", "X", "dJx@parent", "V", "a"), ("dJx",), "dJ/dt x = phi* + crm(V) H* x"),
            Step(coriolis_force, ("inertia", "V", "Jx", "dJx"), ("f",), "f = M dJ/dt x + B J x"),
        ),
        tip_to_base(TORQUE),
    ),
)
REGRESSOR_TIMES = Plan(
    "regressor times parameters",
    _BUFFERS,
    (base_to_tip(RELATIVE, VELOCITY, ACCELERATION, MOVING_FORCE), tip_to_base(TORQUE)),
)
