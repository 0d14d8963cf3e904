"""Recursa: dynamics of robot manipulators and other trees of rigid bodies.

>>> import recursa as rc
>>> robot = rc.robots.panda_like()
>>> q, v = robot.random_state(seed=1)
>>> robot.jacobian(q, "flange").shape
(6, 7)

Robots come from :func:`load`, :func:`from_dh`, :class:`Builder` and :mod:`recursa.robots`; what one can ask of them
are methods of :class:`Robot`. Conventions: angular part first, quaternions (x, y, z, w), SI units, radians.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recursa import cartesian as cartesian
from recursa import denoc as denoc
from recursa import free as free
from recursa import operational as operational
from recursa import robots as robots
from recursa.book.augmented_recursion import AugmentedLinks as AugmentedLinks
from recursa.constraints.factors import DelassusFactors as DelassusFactors
from recursa.constraints.free_directions import Mobility as Mobility
from recursa.constraints.quantities import Impact as Impact
from recursa.counts.count import count as count
from recursa.diagonal.diagonal_coriolis import Flatness as Flatness
from recursa.diagonal.diagonal_methods import Diagonal as Diagonal
from recursa.doctor import Finding as Finding
from recursa.doctor import Report as Report
from recursa.dynamics.wrenches import Wrench as Wrench
from recursa.errors import ConventionWarning as ConventionWarning
from recursa.errors import ConvergenceError as ConvergenceError
from recursa.errors import DivergenceError as DivergenceError
from recursa.errors import ExcitationError as ExcitationError
from recursa.errors import LimitError as LimitError
from recursa.errors import LimitWarning as LimitWarning
from recursa.errors import ModelError as ModelError
from recursa.errors import ModelWarning as ModelWarning
from recursa.errors import NoClosedFormError as NoClosedFormError
from recursa.errors import NoSweepError as NoSweepError
from recursa.errors import NoValueError as NoValueError
from recursa.errors import PathError as PathError
from recursa.errors import RecursaError as RecursaError
from recursa.errors import ResultFileError as ResultFileError
from recursa.errors import ShapeError as ShapeError
from recursa.errors import SimulationError as SimulationError
from recursa.errors import SingularConfigurationError as SingularConfigurationError
from recursa.errors import SingularHingeError as SingularHingeError
from recursa.errors import StateError as StateError
from recursa.errors import StudyError as StudyError
from recursa.errors import TableError as TableError
from recursa.errors import TooLargeError as TooLargeError
from recursa.errors import UnknownNameError as UnknownNameError
from recursa.facade.book import AugmentedRecursion as AugmentedRecursion
from recursa.facade.book import GeneralizedLinks as GeneralizedLinks
from recursa.facade.derivative_methods import Linearization as Linearization
from recursa.facade.derivative_methods import StateSpace as StateSpace
from recursa.facade.dynamics import HybridDynamics as HybridDynamics
from recursa.facade.kinematic_methods import SingularDirections as SingularDirections
from recursa.facade.mass_matrix_factorization import Factorization as Factorization
from recursa.facade.mass_matrix_factorization import Filtering as Filtering
from recursa.facade.second_derivative_methods import HessianDirection as HessianDirection
from recursa.facade.second_derivative_methods import SecondDerivatives as SecondDerivatives
from recursa.formats.dh_write import DHTable as DHTable
from recursa.formats.urdf import ros_paths as ros_paths
from recursa.loading import Builder as Builder
from recursa.loading import from_dh as from_dh
from recursa.loading import load as load
from recursa.methods.manifold import FreeDirections as FreeDirections
from recursa.model.constraints import Contact as Contact
from recursa.model.constraints import JointRelation as JointRelation
from recursa.model.constraints import Loop as Loop
from recursa.model.constraints import Prescribed as Prescribed
from recursa.model.description import Rotor as Rotor
from recursa.model.dh import DHLink as DHLink
from recursa.model.geometry import Geometry as Geometry
from recursa.model.geometry import Material as Material
from recursa.other_names import hint
from recursa.robot import Robot as Robot
from recursa.rollout import rollout as rollout
from recursa.runs.rollouts import Rollout as Rollout
from recursa.symbolic_robot import SymbolicRobot as SymbolicRobot
from recursa.version import __version__ as __version__

if TYPE_CHECKING:
    from recursa import control as control
    from recursa import interop as interop
    from recursa import plotting as plotting
    from recursa import reach as reach
    from recursa.counts.tables import Table as Table
    from recursa.counts.tables import tables as tables
    from recursa.identification.excitation import Excitation as Excitation
    from recursa.identification.excitation import excitation as excitation
    from recursa.identification.identify import identify as identify
    from recursa.identification.observer import MomentumObserver as MomentumObserver
    from recursa.identification.result import Identification as Identification
    from recursa.operators.compiled_expression import compile as compile
    from recursa.operators.explain import Explanation as Explanation
    from recursa.operators.explain import explain as explain
    from recursa.operators.parsing import parse as parse
    from recursa.operators.singular import dense as dense
    from recursa.paths.optimal import time_optimal as time_optimal
    from recursa.paths.path import Path as Path
    from recursa.paths.timed_trajectory import Held as Held
    from recursa.paths.timed_trajectory import TimedTrajectory as TimedTrajectory
    from recursa.paths.timed_trajectory import Timing as Timing
    from recursa.paths.tool import Arc as Arc
    from recursa.paths.tool import tool_path as tool_path
    from recursa.reach.analytic.solutions import AnalyticInverseKinematics as AnalyticInverseKinematics
    from recursa.reach.analytic.solutions import analytic_inverse_kinematics as analytic_inverse_kinematics
    from recursa.reach.differential import DifferentialIK as DifferentialIK
    from recursa.reach.differential import DifferentialStep as DifferentialStep
    from recursa.reach.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from recursa.reach.search_result import InverseKinematics as InverseKinematics
    from recursa.reach.workspace import Workspace as Workspace
    from recursa.reach.workspace import workspace as workspace
    from recursa.results import read as read
    from recursa.results import resume as resume
    from recursa.runs.options import Baumgarte as Baumgarte
    from recursa.runs.run import Run as Run
    from recursa.runs.run_sensitivity import Sensitivity as Sensitivity
    from recursa.simulation.events import Event as Event
    from recursa.simulation.forces import Stops as Stops
    from recursa.simulation.touch_geometry import Touch as Touch
    from recursa.studies.outcome import StudyResult as StudyResult
    from recursa.studies.study import Study as Study
    from recursa.studies.study import study as study
    from recursa.trajectories.drives import TorqueTable as TorqueTable
    from recursa.trajectories.trajectory import Trajectory as Trajectory

_LATER = {  # imported when first used: most programs need none or few of them
    name: module
    for module, names in {
        "recursa.operators.compiled_expression": "compile",
        "recursa.operators.singular": "dense",
        "recursa.operators.explain": "explain Explanation",
        "recursa.operators.parsing": "parse",
        "recursa.paths.tool": "Arc tool_path",
        "recursa.paths.timed_trajectory": "Held TimedTrajectory Timing",
        "recursa.paths.path": "Path",
        "recursa.paths.optimal": "time_optimal",
        "recursa.reach.inverse_kinematics": "inverse_kinematics",
        "recursa.reach.analytic.solutions": "analytic_inverse_kinematics AnalyticInverseKinematics",
        "recursa.reach.differential": "DifferentialIK DifferentialStep",
        "recursa.reach.workspace": "workspace Workspace",
        "recursa.reach.search_result": "InverseKinematics",
        "recursa.identification.identify": "identify",
        "recursa.identification.result": "Identification",
        "recursa.identification.excitation": "excitation Excitation",
        "recursa.identification.observer": "MomentumObserver",
        "recursa.counts.tables": "Table tables",
        "recursa.trajectories.trajectory": "Trajectory",
        "recursa.results": "read resume",
        "recursa.trajectories.drives": "TorqueTable",
        "recursa.simulation.events": "Event",
        "recursa.runs.run": "Run",
        "recursa.runs.run_sensitivity": "Sensitivity",
        "recursa.runs.options": "Baumgarte",
        "recursa.simulation.forces": "Stops",
        "recursa.simulation.touch_geometry": "Touch",
        "recursa.studies.study": "study Study",
        "recursa.studies.outcome": "StudyResult",
    }.items()
    for name in names.split()
}


_MODULES = ("control", "interop", "plotting", "reach")  # the same, as modules
_PUBLIC_MODULES = frozenset({"cartesian", "denoc", "free", "operational", "robots", *_MODULES})
_BESIDES = frozenset({"Any", "TYPE_CHECKING", "ModuleType", "hint", "import_module"})  # not ours to offer


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"recursa.{name}")
    if name not in _LATER:
        told = "" if name.startswith("_") else f". {hint(name, __dir__(), robot=False)}"
        raise AttributeError(f"module 'recursa' has no attribute {name!r}{told}")
    found = globals()[name] = getattr(import_module(_LATER[name]), name)
    return found


def __dir__() -> list[str]:
    """What is public: functions, classes and modules that the documentation names."""
    own = {name for name, value in globals().items() if not name.startswith("_") and not _is_internal(name, value)}
    return sorted({*own, *_LATER, *_MODULES, "__version__"})


def _is_internal(name: str, value: Any) -> bool:
    """Whether a name is here only because something was imported."""
    return name in _BESIDES or (isinstance(value, ModuleType) and name not in _PUBLIC_MODULES)
