"""The package as a whole: which folder may import which, what an import costs, public names, the family of errors."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib.resources import files
from pathlib import Path

import pytest

import recursa as rc
from recursa import errors
from recursa.facade.kinematic_methods import KinematicsMethods

SOURCE = Path(rc.__file__).parent

# A folder (or file) imports only from earlier rows, or from its own. New folders are entered where they belong.
LAYERS = (
    ("errors", "bundled", "files", "markup", "other_names", "processes", "version", "waits"),
    ("spatial",),
    ("model",),
    ("formats",),
    ("sweeps",),
    ("kernels", "_entry"),
    ("quantities",),
    ("dynamics",),
    ("walks",),
    ("evaluation",),
    ("integrators",),
    ("book",),
    ("denoc",),
    ("diagonal",),
    ("free",),
    ("constraints",),
    ("methods",),
    ("operational",),
    ("operators",),
    ("facade",),
    ("bridges",),
    ("doctor",),
    ("view", "datasets"),
    ("trajectories",),
    ("plotting",),
    ("runs",),
    ("simulation",),
    ("lookups", "variations", "robot_pages"),
    ("robot",),
    ("examination", "symbolic_robot"),
    ("control",),
    ("rollout_steps",),
    ("loading", "cartesian", "rollout", "reach", "identification"),
    ("paths",),
    ("studies", "mechanisms"),
    ("robots", "results"),
    ("counts",),
    ("interop", "__init__"),
    ("examples",),
    ("cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules() -> dict[str, Path]:
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in sorted(SOURCE.rglob("*.py"))}


def imports(source: str) -> set[str]:
    """First names below the package that a text imports, anywhere in it, by statements or by names as text.

    What may be any module, such as ``import_module(name)``, is an import of the package itself. Any signature may name
    Robot, so for a type checker alone that is no import.
    """
    tree = ast.parse(source)
    allowed = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in node.body
        if ast.unparse(part) == "from recursa.robot import Robot"
    }
    names = [name for node in ast.walk(tree) if node not in allowed for name in _imported(node)]
    return {(*name.split("."), "__init__")[1] for name in names if name.split(".")[0] == "recursa"}


def _imported(node: ast.AST) -> list[str]:
    """Dotted names of modules that one node of the tree imports, or has as text to import them by."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            assert node.level == 0, f"relative import: {ast.unparse(node)}"
            return [f"recursa.{alias.name}" for alias in node.names] if node.module == "recursa" else [str(node.module)]
        case ast.Constant(value=str(text)):
            return [text] if re.fullmatch(r"recursa(\.\w+)+", text) else []
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return [re.match(r"recursa(\.\w+(?=\.))?", text)[0]] if text.startswith("recursa.") else []
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in ("import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(text)), *_]:
                    return ["recursa" if text.startswith(".") else text]
                case [ast.JoinedStr() as text, *_] if _imported(text):
                    return []  # which is looked at itself
            return ["recursa"]
    return []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import recursa as rc", "__init__"),
        ("import recursa.cli", "cli"),
        ("from recursa import robots", "robots"),
        ("def f():\n    from recursa.model.dh import DHLink", "model"),
        ("if TYPE_CHECKING:\n    from recursa.loading import load", "loading"),
        ("if TYPE_CHECKING:\n    from recursa.robot import Robot, other", "robot"),
        ("from recursa.robot import Robot", "robot"),
        ("if TYPE_CHECKING:\n    from recursa.robot import Robot", ""),
        ("import_module('recursa.results')", "results"),
        ("importlib.import_module('recursa.runs.npz_files')", "runs"),
        ("import_module('recursa').__version__", "__init__"),
        ("import_module('.results', package='recursa')", "__init__"),
        ("import_module(table[name])", "__init__"),
        ("__import__('recursa.cli.show')", "cli"),
        ("__import__(name)", "__init__"),
        ("_LATER = {'read': 'recursa.results'}", "results"),
        ("sys.modules['recursa.doctor.report']", "doctor"),
        ("import_module(f'recursa.dynamics.{place}')", "dynamics"),
        ("import_module(f'recursa.{name}')", "__init__"),
        ("import_module(f'{package}.results')", "__init__"),
        ("import numpy\nimport_module('scipy.linalg')\nlayout = 'recursa'", ""),
    ],
)
def test_rule_sees_imports_of_every_form(source: str, found: str) -> None:
    assert imports(source) == ({found} if found else set())


@pytest.mark.parametrize("name", modules())
def test_imports_match_the_order_of_the_folders(name: str) -> None:
    own = name.split(".")[0]
    assert own in RANK, f"{own} is new: enter it in LAYERS"
    for other in imports(modules()[name].read_text("utf-8")):
        assert RANK[other] <= RANK[own], f"{name} imports {other}, which stands above it"


def test_no_folders_import_each_other_in_a_circle() -> None:
    """Nor files beside them: also within a row of LAYERS, and by way of others."""
    needs: dict[str, set[str]] = {}
    for name, path in modules().items():
        own = name.split(".")[0]
        needs[own] = needs.get(own, set()) | imports(path.read_text("utf-8")) - {own}
    order = list(TopologicalSorter(needs).static_order())  # or a CycleError, which names the circle
    assert set(order) >= {name.split(".")[0] for name in modules()}


DOCS = SOURCE.parents[1] / "docs"
MAP = (DOCS / "architecture.md").read_text("utf-8")
EVERY_FILE = [(DOCS / f"files-{part}.md").read_text("utf-8") for part in ("of-the-engine", "of-topics", "around")]


def test_architecture_page_lists_the_folders_in_their_order() -> None:
    """Twice: on the map, and with every file."""
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    for page in (MAP.split("```")[1], "\n".join(text.split("```")[1] for text in EVERY_FILE)):
        names = re.findall(r"^(\w+)(?:/|\.py) ", page, re.MULTILINE)
        assert names == sorted(names, key=lambda name: RANK[name])
        assert folders <= set(names)


@pytest.mark.parametrize("hops", re.findall(r"```\n(1 .*?)```", MAP, re.DOTALL), ids=["to the step", "to native code"])
def test_hops_of_the_map_lead_from_one_to_the_next(hops: str) -> None:
    """Each name is defined in its file, and named in the file before."""
    found = [line.split(maxsplit=3)[1:3] for line in hops.splitlines()]
    texts = [(SOURCE / file).read_text("utf-8") for file, _ in found]
    for (file, name), text in zip(found, texts, strict=True):
        assert re.search(rf"^ *(def|class) {name}\b|^{name} = ", text, re.MULTILINE), f"{file} does not define {name}"
    for (file, _), text, (_, following) in zip(found, texts, found[1:], strict=False):
        assert re.search(rf"\b{following}\b", text), f"{file} does not lead to {following}"


def test_import_loads_nothing_heavy() -> None:
    """Neither the command line's nor the plots' nor any optional library; and no thread is started."""
    loaded = "{m.split('.')[0] for m in sys.modules}"
    code = f"import recursa, sys, threading; print(*sorted({loaded}), threading.active_count())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in out
    heavy = {
        "matplotlib",
        "rich",
        "click",
        "scipy",
        "sympy",
        "casadi",
        "pinocchio",
        "llvmlite",
        "h5py",
        "pandas",
        "mpl_toolkits",
    }
    assert not heavy & set(out)
    assert out[-1] == "1"


def test_plain_run_imports_neither_checkpoints_nor_hdf5_nor_contacts() -> None:
    """What a run does not need is imported by the runs that do."""
    code = (
        "import recursa as rc, sys\n"
        "rc.robots.planar(1).simulate([0.3], duration=0.01, progress=False)\n"
        "print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    needless = ("checkpoint", "constrained", "prescribed", "touch", "touching", "touch_geometry", "complementarity")
    assert "recursa.simulation.driver" in out
    assert not {"h5py", "recursa.runs.hdf5", "recursa.runs.journal", "recursa.simulation.diagonal"} & set(out)
    assert not {f"recursa.simulation.{name}" for name in needless} & set(out)


def test_import_changes_no_global_setting() -> None:
    code = (
        "import numpy as np, warnings, sys\n"
        "def state():\n"
        "    return str(np.geterr()), str(np.get_printoptions()), len(warnings.filters), sys.getrecursionlimit()\n"
        "before = state(); import recursa, recursa.plotting, recursa.cli; print(before == state())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.parametrize(
    "name",
    [
        "load", "from_dh", "DHLink", "Builder", "robots", "Robot", "Report", "Finding", "RecursaError", "ModelError",
        "LimitWarning", "ModelWarning", "ShapeError", "StateError", "UnknownNameError", "SingularHingeError",
        "NoSweepError", "dense", "parse", "compile", "explain", "Explanation", "__version__", "Linearization",
        "StateSpace", "cartesian", "denoc", "operational", "SingularConfigurationError", "count", "tables", "Table",
        "Trajectory", "TableError", "LimitError", "rollout", "Rollout", "DivergenceError", "TooLargeError",
        "SecondDerivatives", "HessianDirection",
        "SimulationError", "Run", "Event", "Stops", "ResultFileError", "read", "resume", "TorqueTable", "control",
    ],
)  # fmt: skip
def test_public_name_exists(name: str) -> None:
    assert hasattr(rc, name)


@pytest.mark.parametrize(
    "name",
    [
        "name", "nq", "nv", "nbodies", "nlinks", "joint_names", "link_names", "gravity", "is_floating", "neutral",
        "random_state", "integrate", "difference", "with_gravity", "with_payload", "with_frame", "doctor", "to_urdf",
        "kinetic_energy", "potential_energy", "momentum", "center_of_mass", "poses", "pose", "velocities",
        "accelerations", "jacobian", "jacobian_derivative", "linearize", "state_space", "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives", "inverse_dynamics_second_derivatives", "diagonal", "simulate",
    ],
)  # fmt: skip
def test_public_name_of_a_robot_exists_and_is_explained(name: str) -> None:
    member = inspect.getattr_static(rc.Robot, name)
    assert inspect.getdoc(member)


@pytest.mark.parametrize(
    "name", [name for part in (rc.Robot, KinematicsMethods) for name in vars(part) if name[0] != "_"]
)
def test_every_method_of_a_robot_has_an_example(name: str) -> None:
    """Those of kinematics, variations and identity; the examples run as doctests."""
    assert ">>>" in (inspect.getdoc(inspect.getattr_static(rc.Robot, name)) or "")


def test_argument_order_matches_the_interface() -> None:
    def names(function: object) -> list[str]:
        return [name for name in inspect.signature(function).parameters if name not in ("self", "out", "threads")]  # type: ignore[arg-type]

    expected = {
        rc.load: ["source", "format", "floating", "gravity", "strict", "mimic", "assets", "arguments", "constraints"],
        rc.Robot.with_payload: ["link", "mass", "com", "inertia"],
        rc.Robot.with_frame: ["name", "parent", "xyz", "rpy"],
        rc.Robot.momentum: ["q", "v", "about", "base_twist"],
        rc.Robot.velocities: ["q", "v", "frame", "base_twist"],
        rc.Robot.accelerations: ["q", "v", "a", "frame", "kind", "base_twist", "base_acceleration"],
        rc.Robot.jacobian: ["q", "link", "frame", "base_velocity"],
        rc.Robot.jacobian_derivative: ["q", "v", "link", "frame", "base_velocity"],
        rc.Robot.difference: ["q0", "q1"],
        rc.Robot.integrate: ["q", "dv"],
    }
    for function, arguments in expected.items():
        assert names(function) == arguments, function.__name__


INTERNAL = {"PlanError"}  # mistakes in the library itself, which no use of it can raise


def test_all_exceptions_are_of_one_family() -> None:
    for info in pkgutil.walk_packages(rc.__path__, "recursa."):
        if info.name.endswith("__main__"):
            continue
        if info.name.startswith(("recursa.bridges.jax_", "recursa.bridges.torch_", "recursa.examples.")):
            continue  # need what may not be installed; or are programs
        for name, item in vars(importlib.import_module(info.name)).items():
            if not (inspect.isclass(item) and issubclass(item, Exception) and item.__module__.startswith("recursa")):
                continue
            if issubclass(item, Warning):
                assert issubclass(item, UserWarning)
            elif name not in INTERNAL:
                assert issubclass(item, rc.RecursaError), item
                assert item.__module__ == "recursa.errors", f"{item} belongs in errors.py"


def test_exceptions_are_also_what_python_would_raise() -> None:
    """So that ``except ValueError`` and ``except KeyError`` work as people expect."""
    for error in (rc.ModelError, rc.ShapeError, rc.StateError, errors.TensorSymmetryError):
        assert issubclass(error, ValueError)
    assert issubclass(rc.UnknownNameError, KeyError)
    assert issubclass(rc.SingularHingeError, ArithmeticError)


def test_types_are_published() -> None:
    assert files("recursa").joinpath("py.typed").is_file()


def test_version_is_a_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+|\.dev\d+)?", rc.__version__)
