"""Robot: the thin facade people hold. A Model plus methods that call ``dynamics/``.

Every method takes leading batch axes: q of shape (..., nq), v of shape (..., nv). They broadcast against each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from recursa.bridges.casadi_functions import CasadiMethods
from recursa.bridges.jax_torch_methods import JaxTorchMethods
from recursa.doctor import Report, examine
from recursa.dynamics.ordering import Layout, StatePart, reordered
from recursa.dynamics.wrenches import Losses
from recursa.evaluation.hints import motion, warn_of_conventions
from recursa.facade.answers import Answers
from recursa.facade.asking import SymbolicMethods
from recursa.facade.exporting import ExportMethods
from recursa.files import known_suffix, named_file, write_together
from recursa.formats.dh_write import DHTable
from recursa.formats.mjcf_write import write_mjcf
from recursa.formats.recursa_json import write_recursa
from recursa.formats.urdf_write import require_standard, warn_of_losses, write_urdf
from recursa.lookups import Lookups
from recursa.model.dh import Convention
from recursa.model.dh_frames import dh_chain
from recursa.model.model_variations import with_free_base
from recursa.other_names import hint
from recursa.robot_pages import Viewing
from recursa.sweeps.batching import Array
from recursa.variations import Variations

if TYPE_CHECKING:
    from recursa.integrators.explicit import SimulationIntegrator
    from recursa.operators.leaves import Operators
    from recursa.runs.options import Baumgarte, Coordinates
    from recursa.runs.run import Run
    from recursa.runs.run_sensitivity import Sensitivity
    from recursa.simulation.forces import Controller, DesiredMotion, Stops


class Robot(Answers, Lookups, Variations, Viewing, ExportMethods, SymbolicMethods, CasadiMethods, JaxTorchMethods):
    """A robot: its model and everything one can ask of it. Immutable, hashable by content, picklable.

    Made by :func:`recursa.load`, :func:`recursa.from_dh`, :class:`recursa.Builder` or :mod:`recursa.robots`. Arguments
    that many methods share (``out``, ``threads``, ``wrenches``, ``frame``, ...) are described in :doc:`/arguments`.

    >>> import recursa as rc
    >>> robot = rc.robots.planar(2)
    >>> robot.nv, robot.joint_names
    (2, ('joint1', 'joint2'))
    """

    __slots__ = ()

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The robot's name.

        >>> import recursa as rc
        >>> rc.robots.planar(2).name
        'planar2'
        """
        return self.model.name

    @property
    def nbodies(self) -> int:
        """Number of moving bodies after fixed joints are merged; body k belongs to joint k.

        >>> import recursa as rc
        >>> rc.robots.free_flyer(2).nbodies
        3
        """
        return self.model.nbodies

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving joints, one entry per joint, base first.

        >>> import recursa as rc
        >>> rc.robots.free_flyer(1).joint_names
        ('root', 'joint1')
        """
        return tuple(joint.name for joint in self.model.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links and frames, the root and those on fixed joints included.

        >>> import recursa as rc
        >>> rc.robots.planar(1).link_names
        ('world', 'link1', 'tip')
        """
        return tuple(link.name for link in self.model.links)

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration of gravity in world axes, m/s^2.

        >>> import recursa as rc
        >>> rc.robots.stanford().gravity
        (0.0, 0.0, -9.81)
        """
        return self.model.gravity

    @property
    def is_floating(self) -> bool:
        """Whether the first joint is a free joint that hangs on the world.

        >>> import recursa as rc
        >>> rc.robots.free_flyer().is_floating
        True
        """
        return bool(self.model.joints) and self.model.joints[0].kind.is_free

    @property
    def operators(self) -> Operators:
        """The robot's spatial operators, for expressions written as in the papers.

        >>> import recursa as rc
        >>> o = rc.robots.planar(2).operators
        >>> print((o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).inverse())
        (H φ M φ* H*)⁻¹
        """
        from recursa.operators.leaves import Operators  # who never writes an expression need not wait for them

        return Operators(self.model)

    def __getattr__(self, name: str) -> Any:
        """What does not exist: an error that says what it is called here."""
        told = "" if name.startswith("_") else f". {hint(name, dir(type(self)), robot=True)}"
        raise AttributeError(f"a robot has no attribute {name!r}{told}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<Robot '{self.name}': {self.nbodies} bodies, nq={self.nq}, nv={self.nv}, {self.nlinks} links>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Robot, (self.model,))

    # ---- states of other libraries -----------------------------------------------------------------------------------

    def reorder(
        self,
        values: ArrayLike,
        names: Sequence[str],
        *,
        layout: Layout = "recursa",
        quantity: StatePart | None = None,
        q: ArrayLike | None = None,
        inverse: bool = False,
    ) -> Array:
        """Coordinates (..., n) or speeds that hold their joints in the order of ``names``, in the robot's own order.

        An array in another library's order has the right length and gives wrong answers, so name its joints: all of
        them, each once, such as ``model.names`` of Pinocchio, ``[model.joint(k).name for k in range(model.njnt)]`` of
        MuJoCo, or ``message.name`` of a ROS joint state. Names of fixed joints are passed over; a free base may be
        called anything; a joint that is a chain here ("wrist.1", "wrist.2") may be named as one, "wrist"; values of
        joints that this robot ties to others are left out.

        - ``layout``: how the numbers of one joint are arranged. ``"recursa"``: as here, see :doc:`/conventions`.
          ``"pinocchio"``: speeds of a free joint linear first, continuous joints as (cos, sin), planar joints as (x, y,
          cos, sin) and (vx, vy, omega). ``"mujoco"``: quaternions w first, speeds of a free joint linear first and in
          world axes, for which it needs ``q``. ``"drake"``: of a free joint the quaternion first, w first, and both
          halves of its speeds in world axes, with ``q``. ``"idyntree"`` (adam too): speeds of a free base linear first,
          in the axes of ``base_velocity`` here as there; its pose is not among their coordinates.
        - ``quantity``: ``"q"`` for coordinates, ``"v"`` for speeds and torques; None where their number tells.
        - ``q``: configurations (..., nq) in the robot's own order, where world axes have to be turned.
        - ``inverse``: the other way, from the robot's order to that of ``names``.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3)
        >>> arm.joint_names
        ('joint1', 'joint2', 'joint3')
        >>> arm.reorder([30.0, 10.0, 20.0], ["joint3", "joint1", "joint2"])
        array([10., 20., 30.])
        >>> arm.reorder([10.0, 20.0, 30.0], ["joint3", "joint1", "joint2"], inverse=True)
        array([30., 10., 20.])
        """
        return reordered(self.model, values, names, layout=layout, quantity=quantity, q=q, inverse=inverse)

    # ---- motion ----------------------------------------------------------------------------------------------------

    def trajectory_sensitivity(
        self,
        run: Run,
        parameters: Sequence[str] | Mapping[str, ArrayLike] | None = None,
        *,
        payload: str | tuple[str, ArrayLike] | None = None,
        initial: bool = False,
        torque: Any = None,
        wrenches: Any = None,
        rtol: float = 1e-8,
    ) -> Sensitivity:
        """How a motion changes with parameters: d q(t)/d p and d v(t)/d p at every sample of a run.

        The variational equations ``dS/dt = A S - B Y D`` along the run, A and B of :meth:`state_space` with the run's
        losses, Y the :meth:`regressor`. That is what chapter 7 of Balafoutis & Patel names linear models for.

        - ``parameters``: names of :attr:`parameter_names`; directions in the space of :attr:`parameters` by names of
          your own, (10 nbodies,) each; None for all of them, or for none where a payload is given.
        - ``payload``: a link, or (link, point in link coordinates): one more parameter, "payload.mass", in kg there.
        - ``initial``: also by the state at the start, as "joint.q0", "joint.v0".
        - ``torque``, ``wrenches``: what acted in the run, as in :meth:`simulate`; None for what the run itself carries.
          Functions, controllers and stops react to the change of the state, by central differences. To keep torques
          as functions of time, pass an :class:`rc.TorqueTable` of finely sampled torques.
        - ``rtol``: relative tolerance of the integration.

        The motion is repeated from the start of the run with the run's integrator and tolerances, so that the result
        does not depend on its samples. A run that cannot be repeated is refused: one from a file whose torques are not
        given again, or in which constraints, contacts, a moved base or a controller with memory acted. So is one in
        which a joint with dry friction comes to rest, since the instants at which joints stick and slip would change.

        >>> import numpy as np, recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> run = arm.simulate([0.3, 0.4], duration=0.5, dense=True)
        >>> found = arm.trajectory_sensitivity(run, payload="tip")
        >>> heavier = arm.with_payload("tip", 1e-5).simulate([0.3, 0.4], duration=0.5)
        >>> bool(np.allclose((heavier.q[-1] - run.q[-1]) / 1e-5, found.q[-1, :, 0], rtol=1e-3))
        True
        >>> band = found.band({"payload.mass": 0.01})                # 10 g of uncertainty
        >>> band.q.shape == run.q.shape
        True
        """
        from recursa.simulation.sensitivity import sensitivity  # SciPy takes long to import

        return sensitivity(
            self, run, parameters, payload=payload, initial=initial, torque=torque, wrenches=wrenches, rtol=rtol
        )

    def simulate(
        self,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        *,
        duration: float,
        torque: Callable[..., Any] | Controller | DesiredMotion | ArrayLike | None = None,
        integrator: SimulationIntegrator = "dop853",
        rtol: float = 1e-10,
        atol: float = 1e-12,
        step: float | None = None,
        samples: int | ArrayLike | None = None,
        save_every: int = 1,
        events: Any = None,
        wrenches: Any = None,
        base: Callable[[float], Any] | DesiredMotion | None = None,
        stops: bool | Stops | None = None,
        losses: Losses = True,
        dense: bool = False,
        progress: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 10.0,
        coordinates: Coordinates = "joint",
        baumgarte: Baumgarte | bool | None = None,
        contacts: Any = None,
        prescribed: Mapping[str, Any] | None = None,
    ) -> Run:
        """How the robot moves from a state: ``dq/dt = v`` on the manifold, ``dv/dt = forward_dynamics(q, v, tau)``.

        - ``torque``: None; a function of (t, q, v); a controller, with a method ``torque(t, q, v)``; a trajectory,
          whose inverse dynamics are fed forward; or constant numbers.
        - ``integrator``: adaptive, to ``rtol`` and ``atol``: "dop853", "rk45", "radau" (stiff); with a fixed ``step``
          (1 ms by default): "rk4" (order 4), "implicit-midpoint" (2, keeps energy for long), "semi-implicit" (1,
          robust with friction). For adaptive ones ``step`` is the longest allowed.
        - ``samples``: a number of evenly spaced samples, or their times; by default every step is one, or every
          ``save_every``-th. The last is at ``duration``, unless times are given or something stops the run.
        - ``events``: functions of (t, q, v), or :class:`recursa.Event`, also by name; recorded where they cross zero.
        - ``wrenches``: as for :meth:`forward_dynamics`, or a function of (t, q, v) that returns such.
        - ``base``: how the base is moved, if it is: a function of t that returns its pose (x, y, z, and a quaternion x,
          y, z, w) in the world, velocity and acceleration, (angular, linear) in axes of the base, as q, v, a of a free
          joint are; or a trajectory of a free body. q and v of the robot are then on the base, ``run.base`` has its
          motion, and what moves it counts as work. See :meth:`base_wrench` for the forces that it takes.
        - ``stops``: True or :class:`recursa.Stops` puts springs and dampers at joint limits; there are none by default.
          A joint that leaves its range by more than the range itself is then a :class:`recursa.LimitWarning`.
        - ``losses``: True for damping and friction of the joints, "damping" or "friction" for one of them, False for
          none; a joint at rest stays so while friction can hold it.
        - ``dense``: keep the integrator's interpolants for ``run.at(t)``.
        - ``progress``: a bar, if standard error is a terminal and the run takes long.
        - ``checkpoint``: a file to which the run so far is appended every ``checkpoint_every`` seconds (0: after every
          step), on the clock on the wall; from it :func:`recursa.resume` goes on after a crash or Ctrl-C.
        - ``coordinates``: "joint", or "diagonal" to integrate (q, nu) of :attr:`diagonal` instead of (q, v); tolerances
          are then on nu. There "implicit-midpoint" keeps the kinetic energy of a free motion to rounding. Results are
          q, v, tau as always.
        - ``baumgarte``: of a robot with constraints, which keeps its loops closed to rounding by projection after every
          step; :class:`recursa.Baumgarte` or True takes terms in the accelerations instead. q0 and v0 must obey the
          constraints: see :meth:`assemble` and :meth:`project_velocity`.
        - ``contacts``: what may touch the ground: :class:`recursa.Touch`, or a list of them. They land, stick, slide,
          lift; every impact is among ``run.events``, and ``run.lost`` has what impacts and rubbing take.
        - ``prescribed``: how joints and links that are :class:`recursa.Prescribed` move, by name: a function of t that
          returns a tuple (q, v, a) of the joint, or an acceleration alone; a trajectory, of the joint or of the whole
          robot; or a constant acceleration. Without one they keep their speed. ``run.tau`` has the torques that
          prescribed joints take, ``run.work`` their work.

        Ctrl-C ends the run and returns what there is, ``run.status`` is then "interrupted". A run that cannot go on
        raises :class:`recursa.SimulationError`, which carries what there is as ``error.run``.

        >>> import numpy as np
        >>> import recursa as rc
        >>> arm = rc.robots.stanford()
        >>> run = arm.simulate([0, np.pi / 2, 0, 0, 0, 0], duration=0.5)     # free fall
        >>> run.q[-1].round(6)
        array([-0.040635,  0.566777,  0.348018, -0.024059,  1.004156,  0.012917])
        >>> run.energy_drift < 1e-9
        True
        """
        from recursa.runs.options import Options, start_of
        from recursa.simulation.influences import Influences  # SciPy takes long to import

        options = Options.of(
            self.model, duration=duration, integrator=integrator, rtol=rtol, atol=atol, step=step, samples=samples,
            save_every=save_every, dense=dense, losses=losses, progress=progress, coordinates=coordinates,
            baumgarte=baumgarte,
        )  # fmt: skip
        q, v = start_of(self.model, q0, v0)
        warn_of_conventions(self.model, q, self.evaluator.kept)
        influences = Influences(torque, wrenches, stops, events, base, contacts, prescribed)
        with motion(self.evaluator.kept):
            if checkpoint is None:
                run = influences.simulation(self, options, q, v).run()
            else:
                from recursa.simulation.checkpoint import simulated_with_checkpoints

                run = simulated_with_checkpoints(self, options, influences, q, v, checkpoint, checkpoint_every)
            warn_of_conventions(self.model, run.q, self.evaluator.kept)
        return run

    # ---- files and the doctor ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot to a file of our own, ``arm.robot.json``; all of it or nothing. Returns the path.

        :func:`recursa.load` makes the same robot again, to the bit, with gravity, free base, ties, named states, notes
        and all else that a URDF has no words for. It is JSON, with a version and a schema; see :doc:`/formats`.

        >>> import pathlib, tempfile, recursa as rc
        >>> arm = rc.robots.panda_like().with_gravity((0, 0, -1.62))
        >>> file = arm.save(pathlib.Path(tempfile.mkdtemp(), "arm.robot.json"))
        >>> rc.load(file) == arm
        True
        """
        file = known_suffix(named_file(path), (".json",))
        write_together({file: write_recursa(self.model)})
        return file

    def to_urdf(self, *, extensions: bool = False) -> str:
        """The robot as URDF text, which :func:`recursa.load` and other programs read.

        URDF has no words for gravity, constraints, motors, named states, armature, rotors and springs: if the robot has
        any of them, a :class:`~recursa.ModelWarning` lists what other programs will miss. Armature, rotors and springs
        are written as attributes that only Recursa reads. The free joint of a robot loaded with ``floating=True`` is
        written as a floating joint under a new root link. A limit that is infinite or unknown is written as the largest
        float, which reads back as no limit.

        - ``extensions``: True also writes spherical, translation and helical joints, and numbers that differ along the
          axes of one joint. Only Recursa reads them; without this option they are a :class:`~recursa.ModelError`,
          because other programs refuse the whole file.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> rc.load(arm.to_urdf()).joint_names == arm.joint_names
        True
        """
        description = with_free_base(self.model)
        if not extensions:
            require_standard(description)
        warn_of_losses(self.model, description, stacklevel=2)
        return write_urdf(description)

    def to_mjcf(self) -> str:
        """The robot as MJCF, MuJoCo's XML: the same dynamics in the same coordinates. MuJoCo need not be installed.

        Links are bodies, named frames sites; gravity, limits, armature, damping, friction, closures, relations, motors
        and named states are written, too; largest speeds are not, MuJoCo has none. A tied joint becomes a joint with an
        equality constraint. MuJoCo requires inertia in every moving body: where there is none, 2e-15 kg and kg m^2
        are written. Where it would refuse the inertia of one link, the links that are fixed to each other have theirs
        in one of them. Ranges without width are left out with a :class:`~recursa.ModelWarning`, as MuJoCo refuses them.
        What it has no words for is a :class:`~recursa.ModelError` with the name: helical joints, armature
        along link axes of free and planar joints, inertias that no body can have. See :doc:`/formats`.

        >>> import recursa as rc
        >>> print(rc.robots.planar(1).to_mjcf().splitlines()[0])
        <mujoco model="planar1">
        """
        return write_mjcf(self.model)

    def to_dh(
        self, convention: Convention = "modified", *, tool: str | None = None, tolerance: float = 1e-8
    ) -> DHTable:
        """The robot, a serial chain, as a Denavit-Hartenberg table, for :func:`recursa.from_dh` or to be printed.

        Every chain of revolute and prismatic joints has a table in either convention, with a base before it and a tool
        behind it. Masses, centres and inertias are carried into the frames of the table, and joint variables keep their
        zeros and signs, so that the dynamics are the same. The table's ``residual`` says how far poses are off.

        - ``convention``: "standard" (distal) or "modified" (proximal), as for :func:`recursa.from_dh`.
        - ``tool``: the link or frame that the tool is, fixed to the last body; by default the last there is.
        - ``tolerance``: axes with less than this angle between them, in rad, count as parallel.

        >>> import recursa as rc
        >>> print(rc.robots.stanford().to_dh())
        modified Denavit-Hartenberg table of 'stanford', poses to 0
        joint   kind       a [m]  alpha [rad]  d [m]  theta [rad]
        joint1  revolute       0            0    0.2            0
        joint2  revolute       0      -1.5708    0.1            0
        joint3  prismatic      0      -1.5708      0            0
        joint4  revolute       0            0    0.6            0
        joint5  revolute       0       1.5708      0            0
        joint6  revolute       0      -1.5708      0            0
        base: xyz 0 0 0 rpy 0 0 0
        tool: xyz 0 0 0 rpy 0 0 0
        """
        rows, base, last, residual = dh_chain(self.model, convention, tool, tolerance)
        return DHTable(rows, convention, base, last, residual, self.name, self.joint_names, self.gravity)

    def doctor(self) -> Report:
        """Every doubtful datum of the model: link or joint, the number, why, a suggested fix. Empty when healthy.

        >>> import recursa as rc
        >>> len(rc.robots.panda_like().doctor())
        0
        """
        return examine(self.model)
