"""Robot: the thin facade people hold. A Model plus methods that call ``dynamics/``.

Every method takes leading batch axes: q of shape (..., nq), v of shape (..., nv). They broadcast against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import configuration, kinematics, mass_properties
from recursa.dynamics.kinematics import Frame, Kind
from recursa.model.assemble import assemble
from recursa.model.model import Model
from recursa.model.urdf_write import write_urdf
from recursa.model.variations import with_frame, with_free_base, with_payload
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, evaluate
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

if TYPE_CHECKING:
    from recursa.doctor import Report


class Robot:
    """A robot: its model and everything one can ask of it. Immutable, hashable by content, picklable.

    Made by :func:`recursa.load`, :func:`recursa.from_dh`, :class:`recursa.Builder` or :mod:`recursa.robots`.

    >>> import recursa as rc
    >>> robot = rc.robots.planar(2)
    >>> robot.nv, robot.joint_names
    (2, ('joint1', 'joint2'))
    """

    __slots__ = ("_model", "_plans")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._plans: dict[tuple[Any, ...], Plan] = {}

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._model

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of speeds, the degrees of freedom."""
        return self.model.nv

    @property
    def nbodies(self) -> int:
        """Number of moving bodies after fixed joints are merged; body k belongs to joint k."""
        return self.model.nbodies

    @property
    def nlinks(self) -> int:
        """Number of links and frames."""
        return len(self.model.links)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving joints, one entry per joint, base first."""
        return tuple(joint.name for joint in self.model.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links and frames, the root and those on fixed joints included."""
        return tuple(link.name for link in self.model.links)

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration of gravity in world axes, m/s^2."""
        return self.model.gravity

    @property
    def is_floating(self) -> bool:
        """Whether the first joint is a free joint that hangs on the world."""
        return bool(self.model.joints) and self.model.joints[0].kind.name == "free"

    def __repr__(self) -> str:
        return f"<Robot '{self.name}': {self.nbodies} bodies, nq={self.nq}, nv={self.nv}, {self.nlinks} links>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Robot, (self.model,))

    # ---- variations ------------------------------------------------------------------------------------------------

    def _changed(self, **changes: Any) -> Robot:
        model = self.model
        options = {"gravity": model.gravity, "floating": model.floating, "mimic": model.mimic, **changes}
        description = options.pop("description", model.description)
        return Robot(assemble(description, **options))

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity, a vector in world axes.

        >>> import recursa as rc
        >>> rc.robots.planar(2).with_gravity((0, 0, -1.62)).gravity
        (0.0, 0.0, -1.62)
        """
        return self._changed(gravity=gravity)

    def with_payload(self, link: str, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)) -> Robot:
        """The same robot with a body welded to a link; ``com`` and ``inertia`` as for :meth:`Builder.link`.

        The payload appears as a link of its own, ``<link>_payload``.
        """
        self.model.link_index(link)
        return self._changed(description=with_payload(self.model.description, link, mass, com, inertia))

    def with_frame(self, name: str, parent: str, xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> Robot:
        """The same robot with one more named frame, fixed in the link ``parent``."""
        self.model.link_index(parent)
        return self._changed(description=with_frame(self.model.description, name, parent, xyz, rpy))

    def to_urdf(self) -> str:
        """The robot as URDF text, which :func:`recursa.load` reads back to the same numbers.

        Gravity is not part of a URDF. The free joint of a robot loaded with ``floating=True`` is written as a floating
        joint under a new root link. Beyond the standard, armature is an attribute of ``dynamics``, and the joint types
        ``spherical`` and ``helical`` (with a pitch on ``axis``) are used where needed.
        """
        return write_urdf(with_free_base(self.model))

    def doctor(self) -> Report:
        """Every doubtful datum of the model: link or joint, the number, why, a suggested fix. Empty when healthy.

        >>> import recursa as rc
        >>> len(rc.robots.panda_like().doctor())
        0
        """
        from recursa.doctor import examine

        return examine(self.model)

    # ---- configurations --------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """The configuration with every joint at zero (quaternions at identity), shape (nq,)."""
        return configuration.neutral(self.model)

    def random_state(self, seed: int | np.random.Generator | None = None) -> tuple[Array, Array]:
        """A random state (q, v): q within the limits, v standard normal. The same seed gives the same state.

        >>> import recursa as rc
        >>> q, v = rc.robots.stanford().random_state(1)
        >>> q.shape, v.shape
        ((6,), (6,))
        """
        return configuration.random_state(self.model, seed)

    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """``q`` composed with ``exp(dv)``, joint by joint: where one gets by moving with speed dv for unit time.

        q (..., nq), dv (..., nv) -> (..., nq). Sums for revolute and prismatic joints; SE(3) for a free joint.
        """
        return evaluate(
            self.model,
            configuration.INTEGRATE,
            {"q": q, "v": dv},
            configuration.next_entries,
            (self.nq,),
            out=out,
            threads=threads,
            labels={"v": "dv"},
        )

    def difference(
        self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The dv (..., nv) with ``integrate(q0, dv) = q1``; rotations go the short way round."""
        return evaluate(
            self.model,
            configuration.DIFFERENCE,
            {"q": q0, "q1": q1},
            configuration.step_entries,
            (self.nv,),
            out=out,
            threads=threads,
            labels={"q": "q0"},
        )

    # ---- kinematics ------------------------------------------------------------------------------------------------

    def poses(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses of all links in the world: homogeneous matrices (..., nlinks, 4, 4), link to world components.

        ``W(k) = W(parent) placement J(q)``; Balafoutis & Patel (2.3.6).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> robot.poses([0.0, 0.0])[-1, :3, 3]          # the tip of a stretched arm
        array([0.55, 0.  , 0.  ])
        """
        plan = self._plan("poses", kinematics.poses_plan)
        return self._evaluate(
            plan, {"q": q}, lambda values: kinematics.pose_entries(values["L"]), (self.nlinks, 4, 4), out, threads
        )

    def pose(self, q: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of one link in the world, (..., 4, 4)."""
        number = self.model.link_index(link)
        plan = self._plan("pose", partial(kinematics.poses_plan, number, self.model), number)
        return self._evaluate(
            plan, {"q": q}, lambda values: kinematics.pose_entries([values["L"][number]]), (4, 4), out, threads
        )

    def velocities(
        self, q: ArrayLike, v: ArrayLike, frame: Frame = "body", *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Spatial velocities (angular, linear) of all links, (..., nlinks, 6).

        ``V(k) = phi* V(parent) + H* v``; Rodriguez & Kreutz-Delgado (7). ``frame``: "body" = link axes at the link
        origin, "mixed" = world axes at the link origin, "world" = world axes at the world origin.
        """
        plan = self._plan("velocities", partial(kinematics.velocities_plan, frame), frame)
        return self._evaluate(
            plan,
            {"q": q, "v": v},
            lambda values: kinematics.motion_entries(values["VF"]),
            (self.nlinks, 6),
            out,
            threads,
        )

    def accelerations(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: Frame = "body",
        kind: Kind = "spatial",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations (angular, linear) of all links without gravity, (..., nlinks, 6).

        ``alpha(k) = phi* alpha(parent) + H* a + crm(V) H* v``; Rodriguez & Kreutz-Delgado (8), body derivative.
        ``kind="classical"`` adds ``w x v``: the acceleration of the point at the frame's origin.
        """
        plan = self._plan("accelerations", partial(kinematics.accelerations_plan, frame, kind), frame, kind)
        name = "AC" if kind == "classical" else "AF"
        return self._evaluate(
            plan,
            {"q": q, "v": v, "a": a},
            lambda values: kinematics.motion_entries(values[name]),
            (self.nlinks, 6),
            out,
            threads,
        )

    def jacobian(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Jacobian of a link, (..., 6, nv): ``velocity of the link = J v``, in the same frame.

        ``J = B* phi* H*``; Rodriguez & Kreutz-Delgado (20).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> q, v = robot.random_state(0)
        >>> bool(np.allclose(robot.jacobian(q, "tip") @ v, robot.velocities(q, v)[-1]))
        True
        """
        return self._link_matrix("jacobian", kinematics.jacobian_plan, {"q": q}, link, frame, out, threads)

    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Time derivative of the matrix ``jacobian(q, link, frame=frame)`` along v, (..., 6, nv)."""
        return self._link_matrix(
            "jacobian_derivative", kinematics.jacobian_derivative_plan, {"q": q, "v": v}, link, frame, out, threads
        )

    # ---- mass properties -------------------------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Total mass of the moving bodies."""
        return self.model.total_mass

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass of the moving bodies in the world, (..., 3)."""
        mass_properties.require_mass(self.model)
        return self._evaluate(
            mass_properties.CENTER_OF_MASS,
            {"q": q},
            lambda values: mass_properties.center_of_mass_of(self.model, values),
            (3,),
            out,
            threads,
        )

    def momentum(
        self,
        q: ArrayLike,
        v: ArrayLike,
        about: str = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Momentum (angular, linear) in world axes, (..., 6), about the centre of mass ("com") or the world origin."""
        mass_properties.check_about(about)
        if about == "com":
            mass_properties.require_mass(self.model)
        return self._evaluate(
            mass_properties.MOMENTUM_PLAN,
            {"q": q, "v": v},
            lambda values: mass_properties.momentum_of(self.model, values, about).components(),
            (6,),
            out,
            threads,
        )

    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Kinetic energy in joule, (...): ``(V* M V + v* A v)/2`` with the armature A."""
        return self._evaluate(
            mass_properties.KINETIC_ENERGY,
            {"q": q, "v": v},
            lambda values: [values.robot.get("T", 0.0)],
            (),
            out,
            threads,
        )

    def potential_energy(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Potential energy in joule, (...): ``-sum m g.c`` over the moving bodies."""
        return self._evaluate(
            mass_properties.POTENTIAL_ENERGY, {"q": q}, lambda values: [values.robot.get("U", 0.0)], (), out, threads
        )

    # ---- shared ----------------------------------------------------------------------------------------------------

    def _plan(self, name: str, make: Callable[[], Plan], *key: Any) -> Plan:
        """Plans are made once per robot and question."""
        full = (name, *key)
        try:
            plan = self._plans.get(full)
        except TypeError:  # an option that cannot even be looked up; making the plan says what is wrong with it
            return make()
        if plan is None:
            plan = self._plans[full] = make()
        return plan

    def _evaluate(
        self,
        plan: Plan,
        arguments: dict[str, ArrayLike],
        gather: Callable[[Values], Iterator[Scalar] | Any],
        shape: tuple[int, ...],
        out: Array | None,
        threads: int | None,
    ) -> Array:
        return evaluate(self.model, plan, arguments, gather, shape, out=out, threads=threads)

    def _link_matrix(
        self,
        name: str,
        make: Callable[[Model, int, str], Plan],
        arguments: dict[str, ArrayLike],
        link: str,
        frame: str,
        out: Array | None,
        threads: int | None,
    ) -> Array:
        number = self.model.link_index(link)
        plan = self._plan(name, partial(make, self.model, number, frame), number, frame)

        def gather(values: Values) -> Iterator[Scalar]:
            return kinematics.jacobian_entries(self.model, number, values.lists.get("JF", []))

        return self._evaluate(plan, arguments, gather, (6, self.nv), out, threads)
