"""The verb ``recursa linearize``: a state from a file, the linear models there, as tables, JSON or arrays."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.losses import losses_options
from recursa.cli.root import open_robot, robot_options
from recursa.cli.state_file import KEYS, State, read_state
from recursa.dynamics.requirements import refuse_constraints
from recursa.dynamics.wrenches import DAMPING, Losses
from recursa.errors import StateError, unknown_name
from recursa.facade.derivative_methods import LinearizeMethod
from recursa.files import known_suffix, write_together
from recursa.model.columns import angular, freedom_names
from recursa.quantities import refusals
from recursa.sweeps.batching import Array

SUFFIXES = (".json", ".npz")
TWIST = ("rx", "ry", "rz", "x", "y", "z")  # rows of (omega, v)
_MATRICES = (  # name, symbol, and what follows the unit of its columns
    ("stiffness", "P = d tau/d q", ""),
    ("damping", "V = d tau/d v", "/s"),
    ("mass", "D = d tau/d a", "/s^2"),
)
UNREACHABLE = 1e-9  # of the size of A and B: a smaller singular value in Hautus' test means that a pole stays


@click.command()
@click.argument("robot", type=ROBOT)
@click.option("--state", required=True, metavar="S.json", help="The state as JSON; - is standard input.")
@click.option(
    "--method", type=click.Choice(["spatial", "balafoutis-patel"]), default="spatial", show_default=True,
    help="How stiffness, damping and mass are computed.",
)  # fmt: skip
@losses_options("Damping and friction act too.", default=False)
@click.option("--state-space", is_flag=True, help="A and B, the poles, and whether torques reach every state.")
@click.option("--cartesian", "link", metavar="LINK", help="The same by the motion of a link.")
@click.option("--coordinates", help="With --cartesian: twist (default), position, or some of rx,ry,rz,x,y,z.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the matrices, .json or .npz.")
@robot_options
def linearize(
    robot: str,
    state: str,
    method: Any,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Stiffness, damping and mass near a state: d tau = P dq + V dv + D da.

    \b
    Examples:
      recursa linearize puma560 --state S.json
      recursa linearize arm.urdf --state S.json --state-space --losses -o model.npz
      recursa linearize puma560 --state S.json --cartesian link6 --json
      echo '{"q": [0.3, 0.8], "tau": {"joint1": 2}}' | recursa linearize arm.urdf --state -

    \b
    The state: {"q": [0.1, ...], "v": [...], "a": [...]} or with "tau" in place of "a"; each a list, or an object
    by joint name, {"joint1": 0.3}, in which the other joints are at neutral (q) or zero. q is required;
    v and a are zero where they are missing. Exit code 0, or 2 with one line for bad input.
    """
    if options["coordinates"] and not options["link"]:
        raise click.UsageError("--coordinates are those of a link: add --cartesian LINK")
    if out is not None:
        known_suffix(out, SUFFIXES)
    chosen = open_robot(robot)
    models = make_models(chosen, read_state(chosen, state, losses=options["losses"]), method, **options)
    if out is not None:
        save(models, out)
    if as_json:
        show.print_json(models.as_data())
        return
    show_models(models)
    show.wrote(out)


# ---- the models ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Models:
    """What was asked for at a state."""

    robot: rc.Robot
    state: State
    method: str
    joint: tuple[Array, Array, Array]
    space: tuple[Array, Array] | None = None
    link: str | None = None
    rows: tuple[int, ...] = ()  # of the link's (omega, v)
    cartesian: tuple[Array, Array, Array] | None = None
    losses: Losses = False

    def arrays(self) -> dict[str, Array]:
        """Everything by name."""
        named = {key: getattr(self.state, key) for key in KEYS}
        named |= dict(zip(("stiffness", "damping", "mass"), self.joint, strict=True))
        if self.cartesian is not None:
            keys = ("cartesian_stiffness", "cartesian_damping", "cartesian_mass")
            named |= dict(zip(keys, self.cartesian, strict=True))
        if self.space is not None:
            named |= {"A": self.space[0], "B": self.space[1], "poles": poles(self.space[0])}
        return named

    def as_data(self) -> dict[str, Any]:
        """The same for JSON, with what rows and columns are."""
        data: dict[str, Any] = {
            "robot": self.robot.name,
            "digest": self.robot.model.digest,
            "method": self.method,
            "freedoms": list(freedom_names(self.robot.model)),
            "angular": list(angular(self.robot.model)),
            "losses": self.losses,
        }
        if self.cartesian is not None:
            data |= {"link": self.link, "coordinates": [TWIST[row] for row in self.rows]}
        for name, array in self.arrays().items():
            data[name] = [[x.real, x.imag] for x in array.tolist()] if array.dtype.kind == "c" else array.tolist()
        if self.space is not None:
            data["controllable"] = [verdict._asdict() for verdict in controllability(self.robot, *self.space)]
        return data


def make_models(
    robot: rc.Robot,
    state: State,
    method: LinearizeMethod = "spatial",
    *,
    state_space: bool = False,
    link: str | None = None,
    coordinates: str | None = None,
    losses: Losses = False,
) -> Models:
    """The linear models of a robot at a state."""
    q, v, a, tau = state.q, state.v, state.a, state.tau
    refuse_constraints(robot.model, "linearize", refusals.DERIVATIVES)  # independent coordinates have no names here
    joint = robot.linearize(q, v, a, method=method, losses=losses)
    space = robot.state_space(q, v, tau, losses=losses) if state_space else None
    rows: tuple[int, ...] = ()
    cartesian = None
    if link is not None:
        rows = _rows(coordinates)
        cartesian = rc.cartesian.linearize(robot, link, q, v, a, coordinates=rows, losses=losses)
    models = Models(robot, state, method, joint, space, link, rows, cartesian, losses)
    if not all(np.isfinite(array).all() for array in models.arrays().values()):
        raise StateError("the model at this state is not finite: the numbers of the state are too large")
    return models


def _rows(coordinates: str | None) -> tuple[int, ...]:
    """``x,y`` or a set's name as rows of (omega, v)."""
    sets = {None: TWIST, "twist": TWIST, "position": TWIST[3:]}
    names = sets.get(coordinates) or tuple((coordinates or "").split(","))
    for name in names:
        if name not in TWIST:
            raise unknown_name("coordinate", name, (*TWIST, "twist", "position"))
    return tuple(TWIST.index(name) for name in names)


def poles(A: Array) -> Array:
    """Eigenvalues, the most unstable first."""
    found = np.linalg.eigvals(A).astype(complex)
    return found[np.lexsort((-found.imag, -found.real.round(9)))]


class Verdict(NamedTuple):
    """Whether some of the torques move every state: Hautus' test, rank (A - s 1, B) = 2 nv at every pole s.

    ``margin`` is the least singular value there is, of the largest; where it is zero, to rounding, a pole stays put.
    """

    inputs: str
    torques: int
    controllable: bool
    margin: float


def controllability(robot: rc.Robot, A: Array, B: Array) -> list[Verdict]:
    """By all torques; and where there are free joints, which have no motor, by those of the others."""
    driven = np.array(
        [not joint.kind.is_free for joint in robot.model.joints if joint.independent for _ in joint.kind.angular]
    )
    verdicts = [_verdict("all freedoms", A, B)]
    if not driven.all():
        verdicts.append(_verdict("all but free joints", A, B[:, driven]))
    return verdicts


def _verdict(inputs: str, A: Array, B: Array) -> Verdict:
    size = len(A)
    if B.shape[1] == 0:
        return Verdict(inputs, 0, size == 0, 0.0)
    values = [np.linalg.svd(np.hstack([A - s * np.eye(size), B]), compute_uv=False) for s in np.linalg.eigvals(A)]
    margin = min(float(each[-1] / each[0]) for each in values)
    return Verdict(inputs, B.shape[1], margin > UNREACHABLE, margin)


# ---- shown -----------------------------------------------------------------------------------------------------------


def show_models(models: Models) -> None:
    """Tables, each with the names and units of its rows and columns."""
    out, robot, state = show.console(), models.robot, models.state
    labels, turning = list(freedom_names(robot.model)), angular(robot.model)
    efforts = ["N m" if turns else "N" for turns in turning]
    places = ["rad" if turns else "m" for turns in turning]
    lost = "damping is part of it" if models.losses in DAMPING else "losses are not part of it"
    out.print(f"[bold]{escape(robot.name)}[/], linearised by {models.method}; {lost}")
    show.put(out, _state_table(labels, places, efforts, state, plain=robot.nq == robot.nv))
    out.print("d tau = P dq + V dv + D da; an entry is in the row's unit per column's unit")
    rows = _with_units(labels, efforts)
    for (name, symbol, per), matrix in zip(_MATRICES, models.joint, strict=True):
        columns = _with_units(labels, [unit + per for unit in places])
        show.put(out, _matrix_table(f"{name} {symbol}", matrix, rows, columns))
    if models.cartesian is not None:
        _show_cartesian(out, models, rows)
    if models.space is not None:
        _show_state_space(out, models, models.space, labels, places, efforts)


def _state_table(labels: list[str], places: list[str], efforts: list[str], state: State, *, plain: bool) -> Table:
    named = ("q", "v", "a", "tau") if plain else ("v", "a", "tau")
    rows = []
    for k, (label, place, effort) in enumerate(zip(labels, places, efforts, strict=True)):
        units = {"q": place, "v": f"{place}/s", "a": f"{place}/s^2", "tau": effort}
        rows.append((escape(label), *(f"{_number(getattr(state, name)[k])} {units[name]}" for name in named)))
    title = "state" if plain else f"state, q = {', '.join(f'{x:.5g}' for x in state.q)}"
    return show.table(("", *named), rows, title)


def _show_cartesian(out: Any, models: Models, rows: list[str]) -> None:
    coordinates = [TWIST[row] for row in models.rows]
    units = ["rad" if name.startswith("r") else "m" for name in coordinates]
    out.print(f"by the motion of link '{escape(models.link or '')}', world axes at its origin, section 7.4")
    assert models.cartesian is not None
    wanted = ("d displacement", "d velocity", "d acceleration")
    for (name, _, per), by, matrix in zip(_MATRICES, wanted, models.cartesian, strict=True):
        columns = _with_units(coordinates, [unit + per for unit in units])
        show.put(out, _matrix_table(f"Cartesian {name}, d tau/{by}", matrix, rows, columns))


def _show_state_space(
    out: Any, models: Models, space: tuple[Array, Array], labels: list[str], places: list[str], efforts: list[str]
) -> None:
    A, B = space
    states = _with_units([f"q {x}" for x in labels], places) + _with_units([f"v {x}" for x in labels], places, "/s")
    plain = not A[: len(labels), : len(labels)].any()  # then the upper half says nothing new
    start = len(labels) if plain else 0
    known = "the upper half, d/dt dq = dv, is left out; " if plain else ""
    out.print(f"d/dt (dq, dv) = A (dq, dv) + B dtau; {known}rows are rates, per second")
    show.put(out, _matrix_table("A", A[start:], states[start:], states))
    show.put(out, _matrix_table("B", B[start:], states[start:], _with_units(labels, efforts)))
    show.put(out, _pole_table(poles(A)))
    for verdict in controllability(models.robot, A, B):
        answer = "[green]controllable[/]" if verdict.controllable else "[yellow]not controllable[/]"
        out.print(
            f"by the torques of {verdict.inputs} ({verdict.torques}): {answer} "
            f"(Hautus' test, least singular value {verdict.margin:.1e} of the largest)"
        )
    if models.state.v.any() or models.state.a.any():
        out.print("The state moves: poles and controllability are those of A and B held as they are at this moment.")


def _pole_table(found: Array) -> Table:
    level = 1e-7 * max(1.0, float(np.abs(found).max(initial=0.0)))  # double poles scatter by the root of rounding
    rows = ((_number(pole.real, level), _number(pole.imag, level), *_character(pole, level)) for pole in found)
    columns = ("real, 1/s", "imaginary, rad/s", "frequency, Hz", "time constant, s", "")
    return show.table(columns, rows, "poles: eigenvalues of A, of the model as it is at this state", left=("",))


def _character(pole: complex, level: float) -> tuple[str, str, str]:
    """The natural frequency of what swings, the time constant of what grows or decays, and which it is."""
    frequency = _number(abs(pole) / (2.0 * np.pi)) if abs(pole.imag) > level else ""
    constant = _number(1.0 / abs(pole.real)) if abs(pole.real) > level else ""
    swings = ", swings" if frequency else ""
    return frequency, constant, ("stays" if not constant else "grows" if pole.real > 0.0 else "decays") + swings


def _matrix_table(title: str, matrix: Array, rows: list[str], columns: list[str]) -> Table:
    level = 1e-12 * float(np.abs(matrix).max(initial=0.0))
    cells = ((escape(label), *(_number(x, level) for x in row)) for label, row in zip(rows, matrix, strict=True))
    return show.table(("", *map(escape, columns)), cells, title)


def _with_units(labels: list[str], units: list[str], per: str = "") -> list[str]:
    return [f"{label}, {unit}{per}" for label, unit in zip(labels, units, strict=True)]


def _number(x: float, level: float = 0.0) -> str:
    return "0" if abs(x) <= level else f"{x:.5g}"


def save(models: Models, path: Path) -> None:
    """As JSON or as NumPy arrays, by the ending of the name."""
    if path.suffix.lower() == ".json":
        content = (show.json_text(models.as_data()) + "\n").encode()
    else:
        file = io.BytesIO()
        arrays: dict[str, Any] = {"freedoms": np.array(freedom_names(models.robot.model)), **models.arrays()}
        np.savez(file, **arrays)
        content = file.getvalue()
    write_together({path: content})
