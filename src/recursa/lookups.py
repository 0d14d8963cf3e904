"""What people look up of a robot: limits, names, units, inertial parameters, shapes, states by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import neutral
from recursa.errors import unknown_name
from recursa.evaluation.answering import Facade
from recursa.facade.parameters import PARAMETERS
from recursa.model.columns import angular, coordinate_names, coordinate_units, freedom_names
from recursa.model.geometry import ROLES, Geometry, Role
from recursa.model.model import Joint
from recursa.sweeps.batching import Array, as_array

_UNITS = {"m": "kg", "mc": "kg m", "I": "kg m^2"}


class Lookups(Facade):
    """What a robot is made of, as arrays and names in the order of q, v and the regressor."""

    __slots__ = ()

    # ---- names and units ---------------------------------------------------------------------------------------------

    @property
    def q_names(self) -> tuple[str, ...]:
        """One name per entry of q: the joint's, with what the entry is where a joint has several.

        >>> import recursa as rc
        >>> rc.robots.free_flyer(1).q_names
        ('root.x', 'root.y', 'root.z', 'root.qx', 'root.qy', 'root.qz', 'root.qw', 'joint1')
        """
        return coordinate_names(self.model)

    @property
    def v_names(self) -> tuple[str, ...]:
        """One name per entry of v, a and tau.

        >>> import recursa as rc
        >>> rc.robots.free_flyer(1).v_names
        ('root.rx', 'root.ry', 'root.rz', 'root.tx', 'root.ty', 'root.tz', 'joint1')
        """
        return freedom_names(self.model)

    @property
    def q_units(self) -> tuple[str, ...]:
        """One unit per entry of q: "rad", "m", or "1" for components of a quaternion.

        >>> import recursa as rc
        >>> rc.robots.stanford().q_units
        ('rad', 'rad', 'm', 'rad', 'rad', 'rad')
        """
        return coordinate_units(self.model)

    @property
    def v_units(self) -> tuple[str, ...]:
        """One unit per entry of v: "rad/s" or "m/s". Torques of these entries are in N m or N.

        >>> import recursa as rc
        >>> rc.robots.stanford().v_units[2]
        'm/s'
        """
        return tuple("rad/s" if turns else "m/s" for turns in angular(self.model))

    # ---- limits ------------------------------------------------------------------------------------------------------

    @property
    def position_limits(self) -> Array:
        """Lowest and highest coordinates, (2, nq); -inf and inf where a coordinate has no limit.

        The components of a quaternion have none: that each lies between -1 and 1 holds no joint. Limits of joints that
        are tied to others are not among them, for they have no coordinates.

        >>> import recursa as rc
        >>> arm = rc.load(rc.robots.urdf("desk_arm"))
        >>> low, high = arm.position_limits
        >>> dict(zip(arm.q_names, zip(low.tolist(), high.tolist())))["elbow"]
        (-2.4, 2.4)
        """
        lowest = self._each("nq", lambda joint: joint.limits[0] if joint.limits else -math.inf)
        return np.array([lowest, self._each("nq", lambda joint: joint.limits[1] if joint.limits else math.inf)])

    @property
    def velocity_limits(self) -> Array:
        """The largest speeds, (nv,); inf where a freedom has no limit.

        >>> import recursa as rc
        >>> rc.load(rc.robots.urdf("desk_arm")).velocity_limits[:3].tolist()
        [3.1, 3.1, 3.6]
        """
        return np.array(self._each("nv", lambda joint: _or_none(joint.velocity)))

    @property
    def acceleration_limits(self) -> Array:
        """The largest accelerations, (nv,) in rad/s^2 and m/s^2; inf where a freedom has no limit.

        URDF 1.2 has them; :func:`recursa.time_optimal` uses them.

        >>> import recursa as rc
        >>> text = rc.robots.chain(1).to_urdf().replace(
        ...     "</joint>", '<limit effort="9" velocity="2" acceleration="5" jerk="50"/></joint>'
        ... )
        >>> arm = rc.load(text)
        >>> arm.acceleration_limits.tolist(), arm.jerk_limits.tolist()
        ([5.0], [50.0])
        """
        return np.array(self._each("nv", lambda joint: _or_none(joint.acceleration)))

    @property
    def jerk_limits(self) -> Array:
        """The largest rates of change of acceleration, (nv,) in rad/s^3 and m/s^3; inf where a freedom has no limit.

        >>> import recursa as rc
        >>> rc.robots.planar(2).jerk_limits.tolist()
        [inf, inf]
        """
        return np.array(self._each("nv", lambda joint: _or_none(joint.jerk)))

    @property
    def effort_limits(self) -> Array:
        """The largest torques and forces, (nv,) in N m and N; inf where a freedom has no limit.

        >>> import recursa as rc
        >>> rc.load(rc.robots.urdf("desk_arm")).effort_limits[:3].tolist()
        [18.0, 18.0, 11.0]
        """
        return np.array(self._each("nv", lambda joint: _or_none(joint.effort)))

    def _each(self, size: str, value: Callable[[Joint], float]) -> list[float]:
        """A number of every independent joint, as often as it has coordinates or freedoms."""
        independent = (joint for joint in self.model.joints if joint.independent)
        return [float(value(joint)) for joint in independent for _ in range(getattr(joint.kind, size))]

    # ---- inertial parameters -----------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Array:
        """The inertial parameters of all bodies, (10*nbodies,), in the regressor's order.

        Per body (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the link origin in link axes, what is fixed
        to the body included: ``inverse_dynamics = regressor @ parameters``, but for armature, losses and
        springs. The shares of rotors are included, :doc:`/transmissions`.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> dict(zip(arm.parameter_names, arm.parameters.tolist()))["link1.mcx"]
        0.075
        """
        return np.array([x for inertia in self.model.inertias for x in inertia.components()], dtype=float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One name per entry of :attr:`parameters`: the link that the body's joint carries, and the parameter.

        >>> import recursa as rc
        >>> rc.robots.planar(2).parameter_names[:5]
        ('link1.m', 'link1.mcx', 'link1.mcy', 'link1.mcz', 'link1.Ixx')
        """
        return tuple(f"{joint.child}.{name}" for joint in self.model.joints for name in PARAMETERS)

    @property
    def parameter_units(self) -> tuple[str, ...]:
        """One unit per entry of :attr:`parameters`.

        >>> import recursa as rc
        >>> rc.robots.planar(2).parameter_units[:5]
        ('kg', 'kg m', 'kg m', 'kg m', 'kg m^2')
        """
        return tuple(_UNITS[name.rstrip("xyz")] for name in PARAMETERS) * self.model.nbodies

    # ---- shapes ------------------------------------------------------------------------------------------------------

    def geometry(self, link: str, role: Role | None = None) -> tuple[Geometry, ...]:
        """The shapes of a link, in the order of its file: how it looks and what it bumps into, as data.

        - ``role``: "visual" or "collision"; None for both.

        Of each its ``shape``, ``size``, ``pose`` in the link, ``material``, and of a mesh the reference ``mesh``, its
        ``scale`` and the ``path`` where :func:`recursa.load` found it in the folders ``assets=``, else None; see
        :class:`recursa.Geometry`. Links on fixed joints keep their own shapes.

        >>> import recursa as rc
        >>> hip = rc.load(rc.robots.urdf("quadruped")).geometry("front_left_hip", role="visual")
        >>> [(part.shape, part.size) for part in hip]
        [('box', (0.09, 0.09, 0.08))]
        """
        self.model.link_index(link)
        if role is not None and role not in ROLES:
            raise unknown_name("role", str(role), ROLES)
        shapes = next(one.geometry for one in self.model.description.links if one.name == link)
        return tuple(shape for shape in shapes if role in (None, shape.role))

    # ---- states by name ----------------------------------------------------------------------------------------------

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states that the robot's file names, for :meth:`state`.

        >>> import recursa as rc
        >>> rc.robots.planar(2).state_names
        ()
        """
        return tuple(state.name for state in self.model.description.states)

    def state(
        self, q: str | Mapping[str, Any] | ArrayLike, v: Mapping[str, Any] | ArrayLike = ()
    ) -> tuple[Array, Array]:
        """A state (q, v) by names: those of joints, or one that the robot's file gives to the whole state.

        Mappings take one number or as many as the joint has coordinates (q) or freedoms (v); joints that are not named
        are neutral and at rest. An unknown name is an error with a proposal.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> q, v = robot.state({"joint2": 0.5}, v={"root": [0, 0, 0.1, 0, 0, 0]})
        >>> q
        array([0. , 0. , 0. , 0. , 0. , 0. , 1. , 0. , 0.5])
        >>> rc.robots.planar(1).state({"joint": 0.5})
        Traceback (most recent call last):
        recursa.errors.UnknownNameError: no independent joint 'joint' in robot 'planar1'. Did you mean 'joint1'?
        """
        if isinstance(q, str):
            return self._named_state(q)
        speeds = (
            np.zeros(self.nv) if isinstance(v, tuple) and not v else as_array(self.model, "v", v, coordinates=False)
        )
        return as_array(self.model, "q", q, coordinates=True), speeds

    def _named_state(self, name: str) -> tuple[Array, Array]:
        found = next((state for state in self.model.description.states if state.name == name), None)
        if found is None:
            raise unknown_name("named state", name, self.state_names, owner=f"robot '{self.model.name}'")
        q, v = neutral(self.model), np.zeros(self.nv)
        places = {joint.name: joint for joint in self.model.joints if joint.independent}
        for values, given, start in ((q, found.q, "q_start"), (v, found.v, "v_start")):
            for joint, numbers in given:
                if joint in places:  # one that is tied follows
                    at = getattr(places[joint], start)
                    values[at : at + len(numbers)] = numbers
        return q, v


def _or_none(limit: float | None) -> float:
    return math.inf if limit is None else limit
