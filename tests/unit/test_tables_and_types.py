"""Words that users may give stand in a type (``Literal``) and in tables: all of them are the same words.

A plain tuple of the words is made from the type by ``get_args`` and needs no test. Tables with something behind each
word are compared with the type here; a table that is not entered is found by its words.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import pytest

import recursa as rc
from recursa import integrators
from recursa.book import methods as book
from recursa.cli import losses as words_of_losses
from recursa.cli.commands import recursa
from recursa.cli.identify_command import TERMS as IDENTIFY_TERMS
from recursa.constraints.closure_errors import ERRORS
from recursa.constraints.quantities import METHODS as CONSTRAINED_METHODS
from recursa.counts import arms
from recursa.diagonal import diagonal_coriolis
from recursa.diagonal.diagonal_methods import CoriolisMethod
from recursa.diagonal.unnormalized_equations import UnnormalizedCoriolisMethod
from recursa.dynamics import kinematics, link_derivatives, manipulability, momentum_rates, ordering, wrenches
from recursa.facade import export_questions
from recursa.facade.derivative_methods import LinearizeMethod
from recursa.formats import source, table
from recursa.free import momentum
from recursa.identification import unknowns
from recursa.identification.excitation import Criterion
from recursa.identification.identify import Method as IdentifyMethod
from recursa.identification.identify import Unexcited
from recursa.kernels import kernel
from recursa.methods import first_order, inverse_and_forward, matrices
from recursa.model import constraint_equations, constraints, description
from recursa.model.joints import KINDS
from recursa.operational import orientation
from recursa.operators import expression, printing
from recursa.plotting import panels
from recursa.quantities.quantity import Form
from recursa.studies import engines
from recursa.trajectories import bounds, courses, csv_files, drives
from recursa.view import motions

SOURCE = Path(rc.__file__).parent


class Pair(NamedTuple):
    """The words of a type, and those of a table; ``besides`` are in the type and are not looked up in the table."""

    type: Any
    table: Collection[Any]
    besides: Collection[Any] = ()


PAIRS = {
    "joint kinds": Pair(description.JointType, KINDS, ["fixed"]),
    "kinds of loops: units": Pair(
        constraints.LoopKind | constraints.ContactKind, constraint_equations.UNITS, ["surface"]
    ),
    "kinds of loops: errors": Pair(constraints.LoopKind | constraints.ContactKind, ERRORS, ["surface"]),
    "kinds of contacts": Pair(constraints.ContactKind, constraint_equations.CONTACT_CLOSINGS),
    "formats": Pair(table.FormatName, table.FORMATS),
    "frames: motions": Pair(kinematics.Frame, kinematics.IN_FRAME),
    "frames: names in Pinocchio": Pair(kinematics.Frame, kinematics.PINOCCHIO_FRAMES),
    "frames: rates": Pair(kinematics.Frame, kinematics.RATES_IN),
    "frames: second rates": Pair(kinematics.Frame, momentum_rates.SECOND_IN),
    "frames: derivatives": Pair(kinematics.Frame, link_derivatives._TURNING),
    "frames: headers of C files": Pair(kinematics.Frame, export_questions._FRAMES),
    "inverse dynamics": Pair(inverse_and_forward.InverseMethod, book.INVERSE, ["newton-euler", "denoc"]),
    "forward dynamics": Pair(
        inverse_and_forward.ForwardMethod,
        (*inverse_and_forward.FORWARD, *inverse_and_forward._SOLVED),
        CONSTRAINED_METHODS,
    ),
    "mass matrix": Pair(matrices.MassMethod, book.MASS, ["composite", "column", "denoc"]),
    "linearization": Pair(LinearizeMethod, first_order.LINEARIZATIONS),
    "Coriolis vector": Pair(CoriolisMethod, diagonal_coriolis.NORMALIZED),
    "Coriolis vector, unnormalized": Pair(UnnormalizedCoriolisMethod, diagonal_coriolis.UNNORMALIZED),
    "losses: plans": Pair(wrenches.Losses, wrenches._LOST, [False]),
    "losses: words": Pair(wrenches.Losses, words_of_losses.WORDS),
    "losses: of a robot": Pair(wrenches.Losses, words_of_losses.WITH),
    "losses: options": Pair(wrenches.Losses, words_of_losses.OPTION),
    "losses: in CSV files": Pair(wrenches.Losses, csv_files._WORDS),
    "losses: meanings of options": Pair(wrenches.Losses, words_of_losses._MEANING.values()),
    "tasks: rows": Pair(manipulability.TaskName, manipulability.ROWS),
    "tasks: units of volumes": Pair(manipulability.TaskName, panels._UNITS),
    "parts of a state": Pair(ordering.StatePart, motions._NOISE),
    "undisturbed": Pair(momentum.Undisturbed, momentum._ROWS),
    "orientation": Pair(orientation.Orientation, orientation.KINDS),
    "functions of matrices": Pair(expression.FunctionName, printing._FUNCTIONALS),
    "forms of code": Pair(Form, kernel.FORMS),
    "languages": Pair(kernel.Code, kernel.SPELLED_OUT.keys() - {"graph"}, ["llvm"]),
    "engines": Pair(engines.EngineName, engines._CLUSTERS, ["threads"]),
    "limits": Pair(bounds.Limited, bounds._UNITS),
    "ends of quintics": Pair(courses.Ends, courses._ENOUGH, ["clamped"]),
    "geometries": Pair(arms.Geometry, arms._TWIST),
    "terms of identification": Pair(unknowns.Term, IDENTIFY_TERMS),
    "integrators of simulations": Pair(integrators.explicit.SimulationIntegrator, integrators.names("simulate")),
    "integrators of rollouts": Pair(integrators.explicit.RolloutIntegrator, integrators.names("rollout")),
    "integrators of links": Pair(integrators.explicit.LinksIntegrator, integrators.names("links")),
}


def words(kind: Any) -> set[Any]:
    """The values of a type: those of literals, of unions of them, of bool."""
    if kind is bool:
        return {True, False}
    return {word for part in get_args(kind) for word in ([part] if isinstance(part, str) else words(part))}


@pytest.mark.parametrize("name", PAIRS)
def test_table_has_the_words_of_its_type(name: str) -> None:
    kind, listed, besides = PAIRS[name]
    assert words(kind) == {*listed, *besides}
    assert not {*listed} & {*besides}


SUBSETS = {
    "methods that take losses off": (inverse_and_forward.FORWARD, inverse_and_forward._LOSING),
    "methods without links": (inverse_and_forward.FORWARD, inverse_and_forward._WITHOUT_LINKS),
    "methods for joints that turn": (book.INVERSE, book._TURNING_ONLY),
    "layouts that lack joints": (ordering.LAYOUTS, ordering._LACKING),
    "endings of robot files": (source.SUFFIXES, [".urdf", ".xacro", ".sdf", ".mjcf", ".json"]),
}


@pytest.mark.parametrize("name", SUBSETS)
def test_words_of_a_part_are_known(name: str) -> None:
    whole, part = SUBSETS[name]
    assert {*part} <= {*whole}


CHOICES = {
    "identify --method": words(IdentifyMethod),
    "identify --unexcited": words(Unexcited),
    "identify --fit": words(unknowns.Term),
    "excite --criterion": words(Criterion),
    "linearize --method": words(LinearizeMethod) - {"direct"},  # which is for derivatives alone
    "simulate --between": words(drives.Between),
    "study run --engine": words(engines.EngineName),
    "info --mimic": words(description.MimicMode),
}


@pytest.mark.parametrize("option", CHOICES)
def test_choices_of_the_command_line_are_those_of_the_type(option: str) -> None:
    *verbs, name = option.split()
    command: click.Command | None = recursa
    for verb in verbs:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), verb)
    assert command is not None
    (kind,) = (x.type for x in command.params if name in x.opts)
    assert isinstance(kind, click.Choice) and {*kind.choices} == CHOICES[option]


# ---- pairs that are not entered --------------------------------------------------------------------------------------


def _literals(tree: ast.AST) -> Iterator[frozenset[str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            yield frozenset(x.value for x in ast.walk(node.slice) if isinstance(x, ast.Constant))


def _tables(tree: ast.Module) -> Iterator[tuple[str, frozenset[str], bool]]:
    """Names of the tables of a file, their words, and whether nothing stands behind these."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[name], value=value) | ast.AnnAssign(target=name, value=value):
                parts = getattr(value, "keys", None) or getattr(value, "elts", [])
                texts = frozenset(x.value for x in parts if isinstance(x, ast.Constant) and isinstance(x.value, str))
                if len(texts) > 1 and len(texts) == len(parts):
                    yield ast.unparse(name), texts, not isinstance(value, ast.Dict)


def unlisted_tables(sources: dict[str, str]) -> list[str]:
    """Tables with the words of a literal type that nothing compares with it."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    literals = {literal for tree in trees.values() for literal in _literals(tree) if len(literal) > 1}
    entered = [frozenset(pair.table) for pair in PAIRS.values()]
    return [
        f"{file}: {name}"
        for file, tree in trees.items()
        for name, texts, plain in _tables(tree)
        if texts in literals and (plain or texts not in entered) and texts != frozenset(IDENTIFY_TERMS)
    ]


def test_every_table_with_the_words_of_a_type_is_compared() -> None:
    """Make plain tuples by ``get_args``, and enter other tables in ``PAIRS``."""
    files = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    skipped = ("integrators/", "runs/interpolants.py", "studies/outcome.py")
    assert not unlisted_tables({name: text for name, text in files.items() if not name.startswith(skipped)})


def test_rule_sees_tables_that_are_not_entered() -> None:
    kind = "Kind = Literal['left', 'right']\n"
    assert unlisted_tables({"a.py": kind, "b.py": "SIDES = {'right': 1, 'left': 2}"}) == ["b.py: SIDES"]
    assert unlisted_tables({"a.py": kind + "SIDES: tuple[str, ...] = ('left', 'right')"}) == ["a.py: SIDES"]
    assert not unlisted_tables({"a.py": kind + "SIDES = get_args(Kind)\nOTHERS = ('left', 'up')"})
