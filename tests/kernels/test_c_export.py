"""C export: the files compile without a warning, agree with the methods, and document themselves."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
import zoo
from recursa.cli.commands import recursa
from recursa.dynamics import gathering, mass_matrix
from recursa.dynamics.configuration import random_input
from recursa.facade import exporting
from recursa.facade.asking import exported, quantity_named
from recursa.facade.exporting import CExport
from recursa.kernels import c_loops
from recursa.kernels.c_source import CFunction, c_comment, c_identifier, c_number
from recursa.kernels.kernel import CODES, SPELLED_OUT, Kernel
from recursa.quantities import Quantity

CC = shutil.which("cc")
FOR_FREE_FLYERS = (
    "free.locked_inertia", "operational.flying_inertia", "rebase_state", "base_transform", "base_transform_derivative",
    "free.dual_quantities",
)  # fmt: skip
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
FLAGS = os.environ.get("CFLAGS", "").split()  # tools/sanitize.py sets them
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler")


def compiler(folder: Path, *arguments: str) -> None:
    done = subprocess.run([str(CC), *STRICT, *FLAGS, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def function(export: CExport) -> Any:
    """The exported function, from a shared object."""
    source = export.files[0]
    compiler(source.parent, "-shared", "-fPIC", source.name, "-o", f"{source.stem}.so", "-lm")
    return getattr(ctypes.CDLL(str(source.with_suffix(".so"))), export.function)


def arguments_of(export: CExport) -> list[str]:
    """The names of the inputs, read from the declaration in the header."""
    line = next(line for line in export.files[1].read_text().splitlines() if line.startswith("void "))
    names = [part.split()[-1].split("[")[0].lstrip("*") for part in line.split("(")[1].split(",")]
    assert names[-1] == "out"
    return names[:-1]


def call(native: Any, arrays: list[np.ndarray], size: int) -> np.ndarray:
    out = np.full(size, np.nan)
    pointers = [np.ascontiguousarray(x, dtype=float) for x in (*arrays, out)]
    pointers[-1] = out
    native(*(ctypes.c_void_p(x.ctypes.data) for x in pointers))
    return out


def agrees(robot: rc.Robot, folder: Path, quantity: str, **options: Any) -> CExport:
    """Export, compile, and compare with the usual answers at random states."""
    export = robot.export_c(quantity, folder / f"{quantity}.c", **options)
    native, names, record = function(export), arguments_of(export), quantity_named(quantity)
    plain = {name: value for name, value in options.items() if name in record.options}
    rng = np.random.default_rng(3)
    for _ in range(3):
        arrays = {name: given(robot, record, name, rng) for name in names}
        expected = robot.evaluator.evaluate(record, arrays, plain).ravel()
        found = call(native, list(arrays.values()), expected.size)
        assert np.abs(found - expected).max() <= 1e-12 * max(np.abs(expected).max(), 1e-300), quantity
    return export


def given(robot: rc.Robot, record: Quantity, name: str, rng: np.random.Generator) -> np.ndarray:
    """Random numbers for one of a quantity's arrays; inertial parameters near those of the robot."""
    kind = record.kind(name)
    numbers = np.array(random_input(robot.model, kind, rng)).reshape(kind.axes(robot.model, 0))
    return numbers if kind.own is None else numbers * rng.uniform(0.9, 1.1)


def options_for(robot: rc.Robot, quantity: str) -> dict[str, Any]:
    if quantity == "inverse_dynamics_second_derivatives":
        return {"contract": True}
    links = {"link": robot.link_names[-1], "other": robot.link_names[1], "prescribed": robot.joint_names[1:2]}
    return {name: links[name] for name, item in quantity_named(quantity).options.items() if item.default is item.empty}


CONSTRAINED = ("constraint_", "constraints.", "constrained_", "project_velocity")
"""Beginnings of names of what is asked of robots with constraints."""

FOR_ARMS = {
    "augmented_recursion": "the book's joints have one",
}


# ---- numbers ---------------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("quantity", exported())
@pytest.mark.parametrize("make", [rc.robots.panda_like, rc.robots.free_flyer])
def test_every_quantity_agrees(make: Any, quantity: str, tmp_path: Path) -> None:
    robot = make()
    if quantity.startswith(CONSTRAINED):
        robot = robot.with_constraints(
            rc.Contact("point", robot.link_names[-1]), rc.JointRelation(dict.fromkeys(robot.joint_names[-2:], 1.0))
        )
    if make is rc.robots.panda_like and quantity in FOR_FREE_FLYERS:
        with pytest.raises(rc.NoSweepError, match=r"free flyer|fly freely"):
            agrees(robot, tmp_path, quantity, **options_for(robot, quantity))
        return
    if make is rc.robots.free_flyer and quantity in FOR_ARMS:
        with pytest.raises(rc.NoSweepError, match=FOR_ARMS[quantity]):
            agrees(robot, tmp_path, quantity)
        return
    agrees(robot, tmp_path, quantity, **options_for(robot, quantity))


@needs_compiler
@pytest.mark.parametrize(
    ("name", "quantity", "options"),
    [
        ("stanford", "inverse_dynamics", {}),
        ("stanford", "forward_dynamics", {}),
        ("puma560", "inverse_dynamics", {"losses": True}),
        ("puma560", "forward_dynamics", {"losses": True}),
        ("puma560", "joint_losses", {}),
        ("puma560", "jacobian", {"link": "link6", "frame": "world"}),
        ("puma560", "velocities", {"frame": "mixed"}),
        ("puma560", "accelerations", {"frame": "world", "kind": "classical"}),
        ("puma560", "momentum", {"about": "world"}),
        ("puma560", "inverse_dynamics", {"wrenches": True, "base_acceleration": True, "parameters": True}),
        ("free_flyer", "forward_dynamics", {"wrenches": True, "parameters": True}),
        ("mixed_tree", "forward_dynamics", {}),
        ("one_of_each", "mass_matrix", {}),
        ("one_of_each", "integrate", {}),
        ("floating_tree", "regressor", {}),
    ],
)
def test_options_and_joint_kinds_agree(name: str, quantity: str, options: dict[str, Any], tmp_path: Path) -> None:
    agrees(zoo.ZOO[name](), tmp_path, quantity, **options)


def test_tensors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(rc.RecursaError, match="contract=True"):
        rc.robots.planar(2).export_c("inverse_dynamics_second_derivatives", tmp_path / "all.c")
    with pytest.raises(rc.UnknownNameError, match="direction"):
        rc.robots.planar(2).export_c("inverse_dynamics_second_derivatives", tmp_path / "all.c", direction=True)


@needs_compiler
def test_tied_joints_agree(tmp_path: Path) -> None:
    text = zoo.ZOO["panda_like"]().to_urdf()
    tied = text.replace("</joint>", '<mimic joint="joint1" multiplier="-0.5" offset="0.1"/></joint>')
    first = tied.index("<mimic")
    tied = tied[:first] + tied[tied.index("/>", first) + 2 :]  # the first joint leads
    robot = rc.load(tied, mimic="tie")
    assert robot.nv < robot.nbodies
    agrees(robot, tmp_path, "inverse_dynamics")
    agrees(robot, tmp_path, "mass_matrix")
    for quantity in ("forward_dynamics", "mass_matrix_inverse"):
        with pytest.raises(rc.RecursaError, match="Export mass_matrix"):
            robot.export_c(quantity, tmp_path / "x.c")


@needs_compiler
def test_output_may_be_an_input(tmp_path: Path) -> None:
    robot = rc.robots.puma560()
    native = function(robot.export_c("inverse_dynamics", tmp_path / "id.c"))
    q, v = robot.random_state(4)
    expected, a = robot.inverse_dynamics(q, v, v), v.copy()
    native(*(ctypes.c_void_p(x.ctypes.data) for x in (q, a, a, a)))
    assert np.allclose(a, expected, rtol=1e-12, atol=0)


# ---- the test program ------------------------------------------------------------------------------------------------


@needs_compiler
def test_test_program_passes_and_notices_a_wrong_number(tmp_path: Path) -> None:
    rc.robots.free_flyer().export_c("forward_dynamics", tmp_path / "fd.c")

    def outcome() -> subprocess.CompletedProcess[str]:
        compiler(tmp_path, "fd.c", "fd_test.c", "-o", "fd", "-lm")
        return subprocess.run([tmp_path / "fd"], capture_output=True, text=True)

    good = outcome()
    assert good.returncode == 0
    assert good.stdout.startswith("max error ")
    source = tmp_path / "fd.c"
    text = source.read_text()
    source.write_text(text.replace("    out[2] = ", "    out[2] = 1.0001 * "))
    assert outcome().returncode == 1
    source.write_text(text.replace("    out[0] = ", "    out[0] = sqrt(-1.0) + "))
    assert outcome().returncode == 1


@needs_compiler
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_header_serves_c_plus_plus(tmp_path: Path) -> None:
    rc.robots.planar(2).export_c("poses", tmp_path / "poses.c")
    (tmp_path / "use.cpp").write_text(
        '#include "poses.h"\n#include "poses.h"\nint main() { double q[2] = {0, 0}, out[64]; '
        "planar2_poses(q, out); return 0; }\n"
    )
    compiler(tmp_path, "-c", "poses.c")
    subprocess.run(["c++", "-Wall", "-Werror", *FLAGS, "use.cpp", "poses.o", "-lm"], cwd=tmp_path, check=True)


@needs_compiler
def test_odd_names_compile(tmp_path: Path) -> None:
    """Names that end comments, open them, form trigraphs or are not ASCII."""
    b = rc.Builder("9 */ lives ??/ Ünï")
    b.link("a */ /* b", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("x\u202ey ??/", "revolute", parent="world", child="a */ /* b")
    robot = b.build()
    folder = tmp_path / "with space"
    folder.mkdir()
    export = robot.export_c("pose", folder / "my pose-1.c", link="a */ /* b")
    assert export.function == "robot_9_lives_n_pose_a_b"
    compiler(folder, "my pose-1.c", "my pose-1_test.c", "-lm")
    assert agrees(robot, tmp_path, "bias_forces", name="double").function == "double_"
    assert agrees(robot, tmp_path, "kinetic_energy", name="sin").function == "sin_"


@needs_compiler
def test_kernel_source_in_c(tmp_path: Path) -> None:
    robot = rc.robots.panda_like()

    def gather(values: Any) -> Any:
        return gathering.joint_matrix(robot.model, values.lists["rows"], symmetric=True)

    kernel = Kernel(mass_matrix.MASS_MATRIX_PLAN, robot.model, {"q": 7}, gather)
    text = kernel.source("c")
    assert text.startswith("void kernel(const double q[7], double out[49])\n")
    assert text.count(" * ") == kernel.operations.mul
    (tmp_path / "k.c").write_text(f"#include <math.h>\n{text}")
    compiler(tmp_path, "-c", "k.c")
    with pytest.raises(rc.UnknownNameError, match="kind of source 'cc'"):
        kernel.source("cc")
    assert ("llvm", *SPELLED_OUT) == (*CODES, "graph")


# ---- loops over bodies -----------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("make", "quantity", "options"),
    [
        (zoo.large_flyer, "inverse_dynamics", {"wrenches": True}),  # rows, sums over links
        (zoo.large_flyer, "mass_matrix", {}),  # pairs of bodies
        (zoo.small_flyer, "mass_matrix_inverse", {}),  # pairs on different branches
        (zoo.small_flyer, "forward_dynamics_derivatives", {}),  # products of matrices
        (zoo.small_flyer, "diagonal.joint_rates", {}),  # an argument with a name of its own
        (zoo.lossy_arm, "forward_dynamics", {"losses": True}),
        (zoo.one_of_each, "integrate", {}),
        (lambda: rc.robots.tree(19, seed=4), "kinetic_energy", {}),  # a sum over the robot
    ],
)
def test_loops_agree(
    make: Any, quantity: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too long to be spelled out has loops over bodies."""
    monkeypatch.setattr(CFunction, "most_operations", 0)
    export = agrees(make(), tmp_path, quantity, **options)
    assert "for (int i = 0; " in export.files[0].read_text()
    assert "keeps their numbers on the stack" in export.files[1].read_text()


@needs_compiler
def test_length_of_loops_does_not_grow_with_the_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CFunction, "most_operations", 0)
    lengths = []
    for bodies in (40, 80):
        export = rc.robots.tree(bodies, seed=1).export_c("forward_dynamics", tmp_path / "fd.c")
        lengths.append(export.files[0].read_text().count("const double t"))
    assert lengths[0] == lengths[1]
    compiler(tmp_path, "fd.c", "fd_test.c", "-o", "fd", "-lm")
    assert subprocess.run([tmp_path / "fd"], capture_output=True).returncode == 0


@needs_compiler
def test_matrix_column_by_column_may_be_written_over_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CFunction, "most_operations", 0)
    robot = zoo.small_flyer()
    q, v = robot.random_state(4)
    native = function(robot.export_c("denoc.convective_matrix", tmp_path / "c.c"))
    out = np.concatenate([v, np.zeros(robot.nv * robot.nv - robot.nv)])
    expected = robot.evaluator.evaluate(quantity_named("denoc.convective_matrix"), {"q": q, "v": v})
    native(*(ctypes.c_void_p(x.ctypes.data) for x in (q, out, out)))
    assert np.allclose(out, expected.ravel(), rtol=1e-12, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_formulas_with_numbers_in_them_agree(form: str, tmp_path: Path) -> None:
    robot = rc.robots.tree(13, seed=2)
    o = robot.operators
    f = rc.compile((o.mass + o.diag(np.linspace(1.0, 2.0, 13))).inverse() @ (o.vector("T") - o.C), form=form)
    assert ("for (int i = 0;" in f.source("c")) is (form == "loop")
    export = robot.export_c(f, tmp_path / "f.c")
    (q, v), tau = robot.random_state(1), np.cos(np.arange(13.0))
    found = call(function(export), [q, v, tau], 13)
    assert np.allclose(found, f(q, v, tau), rtol=1e-12, atol=1e-12)
    assert np.allclose(found, rc.dense(f.expression, q, v, T=tau), rtol=1e-11, atol=1e-11)


# ---- text ------------------------------------------------------------------------------------------------------------


def test_header_documents_order_shapes_units_and_joints(tmp_path: Path) -> None:
    robot = rc.robots.free_flyer()
    header = robot.export_c("jacobian", tmp_path / "j.c", link="link2", frame="mixed").files[1].read_text()
    for words in (
        "void free_flyer3_jacobian_link2_mixed(const double q[10], double out[54]);",
        "Options: link = link2, frame = mixed",
        "(6 x 9)",
        "world axes at the link origin",
        "quaternion (x, y, z, w)",
        'extern "C"',
        *robot.joint_names,
        *robot.link_names,
    ):
        assert words in header


@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e-300, 5e-324, 1.7976931348623157e308, -0.0, 3.0, 1e22])
def test_numbers_read_back_to_the_same_bits(value: float) -> None:
    text = c_number(value).strip("()")
    assert float(text).hex() == value.hex()
    assert "." in text or "e" in text  # an integer would divide as one


def test_comments_and_identifiers() -> None:
    assert c_comment(["a */ b /*/ c"]).count("*/") == 1
    assert c_identifier("__x__") == "x"
    assert c_identifier("") == "robot"
    with pytest.raises(rc.RecursaError):
        c_number(float("nan"))


def test_the_same_robot_gives_the_same_files(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        export = rc.robots.stanford().export_c("mass_matrix", tmp_path / "m")
        texts.append([file.read_text() for file in export.files])
    assert texts[0] == texts[1]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.c", "m.h", "m_test.c"]


# ---- refusals --------------------------------------------------------------------------------------------------------


def refused(error: type[Exception], words: str, quantity: str, path: Any, robot: Any = None, **options: Any) -> None:
    with pytest.raises(error, match=words):
        (robot or rc.robots.puma560()).export_c(quantity, path, **options)


def test_unknown_quantities_and_options(tmp_path: Path) -> None:
    path = tmp_path / "x.c"
    refused(rc.UnknownNameError, "Did you mean 'inverse_dynamics'", "inverse_dynamic", path)
    refused(rc.UnknownNameError, "There are: ", "export_c", path)
    refused(rc.UnknownNameError, "no option of mass_matrix 'losses'", "mass_matrix", path, losses=True)
    refused(rc.UnknownNameError, "no option of mass_matrix 'q'", "mass_matrix", path, q=True)
    refused(rc.UnknownNameError, "Did you mean 'link6'", "pose", path, link="lnk6")
    refused(rc.UnknownNameError, "frame", "jacobian", path, link="link6", frame="bdy")
    refused(rc.RecursaError, "pose needs the option link=", "pose", path)
    refused(rc.RecursaError, "wrenches=True", "inverse_dynamics", path, wrenches=[[0.0] * 6] * 7)
    assert not list(tmp_path.iterdir())


def test_robots_that_are_too_large_or_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.c"
    refused(
        rc.RecursaError,
        "several other answers, and it has no loops",
        "diagonal.sensitivity",
        path,
        rc.robots.chain(70, seed=1),
    )
    monkeypatch.setattr(c_loops, "MAX_STACK", 1000)
    refused(rc.RecursaError, "over 60000 .* numbers on the stack", "mass_matrix", path, rc.robots.chain(70, seed=1))
    b = rc.Builder("still")
    b.link("a", mass=1.0, inertia=(1, 1, 1)).joint("weld", "fixed", parent="world", child="a")
    refused(rc.RecursaError, "no entries", "mass_matrix", path, b.build())
    assert not list(tmp_path.iterdir())


def test_joint_without_inertia_is_named(tmp_path: Path) -> None:
    b = rc.Builder("idle")
    b.link("a", mass=1.0, inertia=(1, 1, 1)).joint("turn", "revolute", parent="world", child="a")
    b.link("b", mass=1.0, inertia=(1, 1, 1)).joint("idle", "revolute", parent="a", child="b")
    text = b.build().to_urdf()
    start = text.index("<inertial", text.index('<link name="b"'))
    end = text.index("</inertial>", start) + len("</inertial>")
    robot = rc.load(text[:start] + text[end:], strict=False)
    refused(rc.RecursaError, "joint 'idle': hinge inertia D is 0", "forward_dynamics", tmp_path / "x.c", robot)
    robot.export_c("inverse_dynamics", tmp_path / "x.c")


@needs_compiler
def test_robot_without_joints_has_poses(tmp_path: Path) -> None:
    b = rc.Builder("still")
    b.link("a", mass=1.0, inertia=(1, 1, 1)).joint("weld", "fixed", parent="world", child="a", xyz=(1, 2, 3))
    agrees(b.build(), tmp_path, "poses")
    compiler(tmp_path, "poses.c", "poses_test.c", "-lm")


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    refused(rc.RecursaError, "cannot write .*No such file", "mass_matrix", tmp_path / "missing" / "x.c")
    refused(rc.RecursaError, "give the path of a C file", "mass_matrix", tmp_path)
    refused(rc.RecursaError, "give the path of a C file", "mass_matrix", tmp_path / "x.py")
    refused(rc.RecursaError, "give the path of a C file", "mass_matrix", tmp_path / 'a"b.c')


def test_a_failed_write_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.c"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(exporting.os, "replace", full)
    refused(rc.RecursaError, "cannot write .*No space left", "mass_matrix", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---- command line ----------------------------------------------------------------------------------------------------


def test_command_writes_and_tells(tmp_path: Path) -> None:
    path = tmp_path / "j.c"
    words = ["export", "puma560", "jacobian", "--link", "link6", "--frame", "world", "-o", str(path)]
    result = CliRunner().invoke(recursa, words, catch_exceptions=False)
    assert result.exit_code == 0
    for name in ("j.c", "j.h", "j_test.c"):
        assert f"wrote {tmp_path / name}" in result.output
        assert (tmp_path / name).is_file()
    assert "puma560_jacobian_link6_world: " in result.output
    assert " operations (" in result.output


def test_command_as_json_and_refusal(tmp_path: Path) -> None:
    words = ["export", "puma560", "inverse_dynamics", "--losses", "--name", "torque", "-o", str(tmp_path / "t.c")]
    data = json.loads(CliRunner().invoke(recursa, [*words, "--json"], catch_exceptions=False).output)
    assert data["function"] == "torque"
    assert data["operations"]["mul"] > 100
    assert len(data["files"]) == 3
    with pytest.raises(rc.UnknownNameError, match="Did you mean"):
        CliRunner().invoke(recursa, ["export", "puma560", "mass_matrx", "-o", "m.c"], catch_exceptions=False)


def test_a_formula_as_c_matches_the_compiled_one(tmp_path):
    robot = rc.robots.puma560()
    f = rc.compile("inv(m) (T - C)", robot)
    export = robot.export_c(f, tmp_path / "moments.c", name="moments")
    assert (export.function, arguments_of(export)) == ("moments", ["q", "v", "joint_T"])
    q, v = robot.random_state(4)
    tau = np.linspace(-1.0, 1.0, 6)
    assert np.abs(call(function(export), [q, v, tau], 6) - f(q, v, tau)).max() < 1e-13
    with pytest.raises(rc.RecursaError, match="is a formula of robot 'puma560', not of robot 'planar2'"):
        rc.robots.planar(2).export_c(f, tmp_path / "x.c")
    with pytest.raises(rc.UnknownNameError, match="no option of a formula 'losses'"):
        robot.export_c(f, tmp_path / "x.c", losses=True)


def test_the_command_line_exports_formulas(tmp_path):
    from click.testing import CliRunner

    from recursa.cli.commands import recursa

    def outcome(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(recursa, ["export", "planar", "-o", str(tmp_path / "f.c"), *words])
        return done.exit_code, done.output

    code, said = outcome("--formula", "J(tip) x", "--vector", "x=joint")
    assert code == 0 and "planar3_formula" in said
    assert "joint_x[3]" in (tmp_path / "f.h").read_text()
    for words in ((), ("mass_matrix", "--formula", "mass"), ("mass_matrix", "--vector", "x=joint")):
        assert outcome(*words)[0] == 2
