"""Files that a robot file names in its own folder or ROS package are found without ``assets=``; no others are."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.formats.urdf import package_name

TETRAHEDRON = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def urdf(*references: str) -> str:
    shapes = "".join(f'<visual><geometry><mesh filename="{one}"/></geometry></visual>' for one in references)
    return f'<robot name="cart"><link name="body">{shapes}</link></robot>'


def package(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text(f"<package><name> {name} </name></package>")
    return folder


def paths(file: Path, **options: object) -> list[str | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return [shape.path for shape in rc.load(file, strict=False, **options).geometry("body")]  # type: ignore[arg-type]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A package with a robot file in ``urdf/`` and meshes beside that folder and in it; a secret outside."""
    folder = package(tmp_path / "ws" / "cart_folder", "cart")
    for place in ("urdf", "urdf/parts", "meshes"):
        (folder / place).mkdir()
        (folder / place / "hood.obj").write_text(TETRAHEDRON)
    (tmp_path / "secret.obj").write_text(TETRAHEDRON)
    (folder / "urdf" / "link.obj").symlink_to(tmp_path / "secret.obj")
    (folder / "urdf" / "loop.obj").symlink_to("loop.obj")
    return folder


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("hood.obj", "urdf/hood.obj"),
        ("./parts/../parts/hood.obj", "urdf/parts/hood.obj"),
        ("../meshes/hood.obj", "meshes/hood.obj"),
        ("file://parts/hood.obj", "urdf/parts/hood.obj"),
        ("package://cart/meshes/hood.obj", "meshes/hood.obj"),
        ("package:///cart/meshes/hood.obj", "meshes/hood.obj"),
        ("package://cart_folder/meshes/hood.obj", "meshes/hood.obj"),
    ],
)
def test_own_folder_and_own_package_are_open(workspace: Path, reference: str, expected: str) -> None:
    file = workspace / "urdf" / "cart.urdf"
    file.write_text(urdf(reference))
    assert [Path(found or "").resolve() for found in paths(file)] == [workspace / expected]


@pytest.mark.parametrize(
    "reference",
    [
        "meshes/hood.obj",  # which is in the package, but not where the reference says
        "HOOD.obj/../hood.obj/x",
        "package://other/meshes/hood.obj",
        "package://cart/../../secret.obj",
        "package://../secret.obj",
        "package://cart",
        "package://",
        "model://cart/meshes/hood.obj",
        "../../../secret.obj",
        "{outside}/secret.obj",
        "file://{outside}/secret.obj",
        "link.obj",
        "loop.obj",
        "parts",
        "x" * 5000,
        "//host/share/mesh.obj",
        "~/secret.obj",
    ],
)
def test_nothing_else_is_open(workspace: Path, reference: str) -> None:
    file = workspace / "urdf" / "cart.urdf"
    file.write_text(urdf(reference.format(outside=workspace.parents[1])))
    assert paths(file) == [None]


def test_folder_above_is_open_in_a_package_only(workspace: Path) -> None:
    (workspace / "package.xml").unlink()
    file = workspace / "urdf" / "cart.urdf"
    file.write_text(urdf("../meshes/hood.obj", "hood.obj"))
    assert [one is None for one in paths(file)] == [True, False]


def test_nearest_package_of_the_name_counts_and_relative_paths_stay_in_the_nearest(workspace: Path) -> None:
    outer = package(workspace.parent, "cart")
    (outer / "outer.obj").write_text(TETRAHEDRON)
    inner = package(workspace / "urdf", "wheels")
    file = inner / "cart.urdf"
    file.write_text(
        urdf(
            "package://cart/meshes/hood.obj",
            "package://wheels/hood.obj",
            "package://cart/outer.obj",
            "../meshes/hood.obj",
        )
    )
    hood, wheel, beyond, relative = paths(file)
    assert (hood, wheel) == (str(workspace / "meshes/hood.obj"), str(workspace / "urdf/hood.obj"))
    assert beyond is None  # the nearest package of that name has none
    assert relative is None  # the nearest package ends below


@pytest.mark.parametrize(
    "content",
    [
        b"", b"<package><name>cart</name>", b"<!DOCTYPE x><package><name>cart</name></package>", b"<package/>",
        b"\xff\xfe", b"<package><name>cart</name></package>" + b" " * (1 << 20),
    ],
)  # fmt: skip
def test_package_files_that_cannot_be_read_name_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "package.xml").write_bytes(content)
    assert package_name(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.xml")
    os.mkfifo(tmp_path / "mesh.obj")
    file = tmp_path / "cart.urdf"
    file.write_text(urdf("mesh.obj", "package://cart/mesh.obj"))
    assert paths(file) == [None, None]


def test_paths_that_lead_out_are_not_even_looked_at(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at ``//host/share`` connects to that host on some systems."""
    file = workspace / "urdf" / "cart.urdf"
    file.write_text(urdf("/outside/secret.obj", "//host/share/secret.obj", "../../../secret.obj"))
    looks: list[str] = []
    resolve, is_file = Path.resolve, Path.is_file

    def looking(method):  # type: ignore[no-untyped-def]
        return lambda self, *options, **more: (looks.append(str(self)), method(self, *options, **more))[1]

    monkeypatch.setattr(Path, "resolve", looking(resolve))
    monkeypatch.setattr(Path, "is_file", looking(is_file))
    assert paths(file) == [None] * 3
    assert looks
    assert not [one for one in looks if "secret" in one]


def test_what_was_not_found_is_a_warning_and_is_listed_in_the_page(workspace: Path) -> None:
    file = workspace / "urdf" / "cart.urdf"
    file.write_text(urdf("hood.obj", "gone.obj", "package://away/hood.obj"))
    with pytest.warns(rc.ModelWarning) as caught:
        robot = rc.load(file, strict=False)
    (message,) = [str(one.message) for one in caught if "not found" in str(one.message)]
    assert "2 meshes were not found in" in message
    assert f"'{workspace / 'urdf'}'" in message
    assert f"'{workspace}' (the ROS package 'cart')" in message
    assert "'gone.obj', 'package://away/hood.obj'" in message
    assert "hood.obj'," not in message.replace("away/hood.obj", "")
    page = robot.to_html(workspace / "cart.html").read_text("utf-8")
    assert re.search(r'\["body", ?"gone.obj", ?""\], ?\["body", ?"package://away/hood.obj", ?""\]', page)
    with warnings.catch_warnings():
        warnings.simplefilter("error", rc.ModelWarning)
        assert rc.load(urdf("gone.obj"), strict=False).geometry("body")[0].path is None  # text looks for nothing


def test_warning_does_not_command_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "cart.urdf"
    file.write_text(urdf("a&#155;31mb.obj"))
    with pytest.warns(rc.ModelWarning, match="mesh was not found") as caught:
        rc.load(file, strict=False)
    assert all(str(one.message).isprintable() for one in caught)


def test_model_with_a_skybox_included_files_and_mesh_folders_loads(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    suite = tmp_path / "suite"
    (suite / "common").mkdir(parents=True)
    (suite / "shapes").mkdir()
    sky = '<texture name="sky" type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 0" width="80" height="80"/>'
    (suite / "common" / "skybox.xml").write_text(f"<mujoco><asset>{sky}</asset></mujoco>")
    (suite / "common" / "looks.xml").write_text(
        '<mujoco><asset><texture name="grid" type="2d" file="grid.png"/><material name="grid" texture="grid"/></asset>'
        "</mujoco>"
    )
    (suite / "shapes" / "solid.obj").write_text(TETRAHEDRON)
    file = suite / "pendulum.xml"
    file.write_text(
        '<mujoco model="pendulum"><compiler meshdir="shapes" texturedir="pictures"/>'
        '<include file="./common/skybox.xml"/><include file="./common/looks.xml"/>'
        '<asset><mesh name="solid" file="solid.obj"/></asset>'
        '<worldbody><body name="bob"><joint name="hinge" axis="0 1 0"/><geom type="mesh" mesh="solid"/></body>'
        "</worldbody></mujoco>"
    )
    assert np.isclose(rc.load(file).mass, 1000.0 / 6.0 * 1e-3)
    with pytest.raises(
        rc.ModelError, match=r"<include> refers to './common/skybox.xml', and other files are opened only"
    ):
        rc.load(file.read_text())


def test_macros_and_models_beside_a_file_are_included(tmp_path: Path) -> None:
    (tmp_path / "part.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="2.5"/></robot>'
    )
    main = package(tmp_path, "arm") / "arm.urdf.xacro"
    main.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="$(find arm)/part.xacro"/>'
        '<link name="base"><inertial><mass value="${m}"/></inertial></link></robot>'
    )
    assert rc.load(main, floating=True, strict=False).mass == 2.5
    inertia = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
    (tmp_path / "hand.sdf").write_text(
        f'<sdf version="1.9"><model name="hand"><link name="palm"><inertial><mass>3</mass>{inertia}</inertial></link>'
        "</model></sdf>"
    )
    world = tmp_path / "robot.sdf"
    world.write_text(
        '<sdf version="1.9"><model name="robot"><include><uri>hand.sdf</uri><name>left</name></include></model></sdf>'
    )
    assert rc.load(world).mass == 3.0
