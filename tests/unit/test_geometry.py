"""Shapes of links: as files tell them, where their meshes are, and what links weigh that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.model.geometry import SIZES, Geometry, Material
from recursa.model.solids import solid
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

trimesh = pytest.importorskip("trimesh")

POSE = Transform(Rotation.from_constant_rpy(0.3, -0.7, 1.1), Vec3(0.1, -0.2, 0.3))
TEXT = """<robot name="cart">
  <material name="steel"><color rgba="0.5 0.6 0.7 1"/></material>
  <link name="base">
    <visual name="body">
      <origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>
      <geometry><box size="0.4 0.3 0.2"/></geometry>
      <material name="steel"/>
    </visual>
    <visual><geometry><mesh filename="package://cart/meshes/hood.stl" scale="0.001 0.001 0.002"/></geometry>
      <material name="paint"><color rgba="1 0 0 0.5"/><texture filename="package://cart/paint.png"/></material></visual>
    <collision><geometry><sphere radius="0.3"/></geometry></collision>
  </link>
  <link name="wheel">
    <visual><geometry><cylinder radius="0.1" length="0.05"/></geometry><material name="paint"/></visual>
    <collision><origin xyz="0 0.1 0"/><geometry><capsule radius="0.1" length="0.05"/></geometry></collision>
  </link>
  <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 0 1"/></joint>
</robot>"""
PAINT = Material("paint", (1.0, 0.0, 0.0, 0.5), "package://cart/paint.png")


def cart(**options: object) -> rc.Robot:
    with pytest.warns(rc.ModelWarning):  # nothing of it has a mass
        return rc.load(TEXT, **options)  # type: ignore[arg-type]


def crate(shape: str, origin: str = "", **options: object) -> rc.Robot:
    link = f'<link name="box"><collision>{origin}<geometry>{shape}</geometry></collision></link>'
    with pytest.warns(rc.ModelWarning):
        return rc.load(f'<robot name="crate">{link}</robot>', floating=True, **options)  # type: ignore[arg-type]


def test_shapes_of_a_link_are_those_of_the_file() -> None:
    robot = cart()
    body, hood = robot.geometry("base", "visual")
    assert body == Geometry(
        "box", "visual", (0.4, 0.3, 0.2), POSE, material=Material("steel", (0.5, 0.6, 0.7, 1.0)), name="body"
    )
    assert hood == Geometry(
        "mesh", "visual", mesh="package://cart/meshes/hood.stl", scale=Vec3(0.001, 0.001, 0.002), material=PAINT
    )
    assert robot.geometry("base", role="collision") == (Geometry("sphere", "collision", (0.3,)),)
    assert robot.geometry("wheel")[0].material == PAINT  # described in another link
    assert [shape.role for shape in robot.geometry("wheel")] == ["visual", "collision"]
    assert rc.robots.planar(1).geometry("link1") == ()


def test_unknown_links_and_roles_are_refused_with_a_proposal() -> None:
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'wheel'"):
        cart().geometry("weel")
    with pytest.raises(rc.UnknownNameError, match="'collision'"):
        cart().geometry("wheel", role="colision")  # type: ignore[arg-type]
    with pytest.raises(rc.UnknownNameError, match="'visual'"):
        cart().with_inertia_from_geometry(role="visuals")  # type: ignore[arg-type]


def test_a_colour_that_is_none_is_a_finding_and_no_refusal() -> None:
    robot = rc.load(TEXT.replace("0.5 0.6 0.7 1", "0.5 0.6 red"), strict=False)
    assert robot.geometry("base")[0].material == Material("steel")
    (found,) = (one for one in robot.doctor() if one.code == "color")
    assert "steel" in found.reason
    assert found.line == 2


# ---- files -----------------------------------------------------------------------------------------------------------


def test_shapes_survive_urdf_and_our_own_files(tmp_path: Path) -> None:
    robot = cart()
    again = rc.load(robot.to_urdf(), strict=False)
    for link in robot.link_names:
        for one, other in zip(robot.geometry(link), again.geometry(link), strict=True):
            assert replace(one, pose=other.pose) == other
            assert np.allclose(one.pose.rows(), other.pose.rows(), atol=1e-15)
    assert rc.load(robot.save(tmp_path / "cart.robot.json"), strict=False) == robot


def test_shapes_without_a_word_in_urdf_are_left_out() -> None:
    robot = cart()
    link = robot.model.description.links[1]
    odd = (Geometry("ellipsoid", "visual", (1.0, 2.0, 3.0)), Geometry("plane", "visual"), Geometry("mesh", "visual"))
    more = replace(robot.model.description, links=(robot.model.description.links[0], replace(link, geometry=odd)))
    assert rc.load(robot._changed(description=more).to_urdf(), strict=False).geometry("wheel") == ()


@pytest.mark.parametrize(
    ("change", "place"),
    [('"size": [1.0]', r"links\[0\]\.geometry\[0\]\.size"), ('"pose": [[1,0,0,0,1,0,0,0,2],[0,0,0]]', "pose"),
     ('"role": "both"', "role"), ('"path": "/etc/passwd"', "path")],
)  # fmt: skip
def test_files_of_ours_with_impossible_shapes_are_refused(change: str, place: str) -> None:
    """The path is found when a robot is loaded: no file can say it."""
    role = "" if "role" in change else '"role": "visual", '
    link = f'{{"name": "base", "geometry": [{{"shape": "box", {role}{change}}}]}}'
    with pytest.raises(rc.ModelError, match=place):
        rc.load(f'{{"format": "recursa", "version": 1, "name": "a", "links": [{link}], "joints": []}}')


# ---- folders ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the package "cart" in it, and beside it a mesh that is nobody's business."""
    meshes = tmp_path / "share" / "cart" / "meshes"
    meshes.mkdir(parents=True)
    trimesh.creation.box((100.0, 200.0, 300.0)).export(meshes / "hood.stl")
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "secret.stl")
    return tmp_path / "share"


def test_meshes_are_found_in_the_folders_that_are_named(packages: Path) -> None:
    hood = str(packages / "cart" / "meshes" / "hood.stl")
    for folder in (packages, packages / "cart"):
        assert cart(assets=folder).geometry("base")[1].path == hood
    assert cart().geometry("base")[1].path is None
    assert cart(assets=packages) == cart()  # where the files are is not what the robot is
    model = cart().to_urdf().replace("package://", "model://")
    assert rc.load(model, strict=False, assets=packages).geometry("base")[1].path == hood


def test_relative_meshes_are_beside_the_file(packages: Path) -> None:
    file = packages / "cart" / "cart.urdf"
    file.write_text(TEXT.replace("package://cart/", ""))
    assert rc.load(file, strict=False).geometry("base")[1].path == str(packages / "cart/meshes/hood.stl")
    assert rc.load(file.read_text(), strict=False).geometry("base")[1].path is None  # text opens nothing


@pytest.mark.parametrize("reference", ["../secret.stl", "package://cart/../../secret.stl", "{}/secret.stl"])
def test_nothing_outside_the_folders_is_found(packages: Path, reference: str) -> None:
    text = TEXT.replace("package://cart/meshes/hood.stl", reference.format(packages.parent))
    assert rc.load(text, strict=False, assets=packages).geometry("base")[1].path is None


def test_ros_paths_are_those_of_the_environment(packages: Path) -> None:
    prefix, none = packages.parent, packages / "nothing"
    assert rc.ros_paths({"AMENT_PREFIX_PATH": f"{prefix}:{none}"}) == (packages,)
    assert rc.ros_paths({"ROS_PACKAGE_PATH": f"{packages}:{prefix}::{packages}"}) == (packages, prefix)
    assert rc.ros_paths({}) == ()


# ---- robots made from others -----------------------------------------------------------------------------------------


def test_scaled_shapes_have_scaled_volumes() -> None:
    robot, big = (one.with_inertia_from_geometry() for one in (cart(), cart().scaled(length=2.0)))
    for link in robot.link_names:
        for one, other in zip(robot.geometry(link), big.geometry(link), strict=True):
            assert other.size == tuple(2.0 * x for x in one.size)
            assert other.pose.translation == one.pose.translation * 2.0
            if one.shape == "mesh":
                assert other.scale == one.scale * 2.0
                assert other.reach is None
            else:
                assert other.reach == 2.0 * one.reach  # type: ignore[operator]
    assert np.allclose(big.parameters, robot.parameters * np.repeat([8, 16, 32], [1, 3, 6]))


def test_shapes_follow_their_links() -> None:
    robot, arm = cart(), rc.robots.panda_like()
    both = arm.attach(robot, at="flange", prefix="cart_")
    assert both.geometry("cart_wheel") == robot.geometry("wheel")
    assert robot.renamed(links={"wheel": "roller"}).geometry("roller") == robot.geometry("wheel")
    assert robot.reduced(lock=["axle"]).geometry("wheel") == robot.geometry("wheel")  # fixed, and still its own
    assert robot.chain("wheel", "base").geometry("base") == robot.geometry("base")


# ---- inertia from shapes ---------------------------------------------------------------------------------------------

MESHES: dict[str, tuple[tuple[float, ...], Callable[[], object]]] = {
    "box": ((0.3, 0.5, 0.7), lambda: trimesh.creation.box((0.3, 0.5, 0.7))),
    "sphere": ((0.4,), lambda: trimesh.creation.icosphere(5, 0.4)),
    "ellipsoid": ((0.3, 0.5, 0.7), lambda: trimesh.creation.icosphere(5, 1.0).apply_scale((0.3, 0.5, 0.7))),
    "cylinder": ((0.2, 0.9), lambda: trimesh.creation.cylinder(0.2, 0.9, sections=500)),
    "capsule": ((0.2, 0.9), lambda: trimesh.creation.capsule(0.9, 0.2, count=(200, 200))),
}


@pytest.mark.parametrize("shape", MESHES)
def test_closed_forms_are_those_of_fine_meshes(shape: str) -> None:
    size, mesh = MESHES[shape]
    assert len(size) == SIZES[shape]
    found, fine = solid(shape, size), mesh().mass_properties  # type: ignore[attr-defined]
    assert found is not None
    assert found.mass == pytest.approx(fine.mass, rel=2e-3)
    assert np.diag([found.moment.xx, found.moment.yy, found.moment.zz]) == pytest.approx(
        fine.inertia, rel=3e-3, abs=1e-6
    )


def test_inertia_of_a_turned_box_is_that_of_its_mesh(tmp_path: Path) -> None:
    origin = '<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.1"/>'
    trimesh.creation.box((100.0, 200.0, 300.0)).export(tmp_path / "box.stl")
    plain = crate('<box size="0.1 0.2 0.3"/>', origin).with_inertia_from_geometry(500.0)
    mesh = crate('<mesh filename="box.stl" scale="0.001 0.001 0.001"/>', origin, assets=tmp_path)
    assert plain.mass == pytest.approx(3.0)
    filled = mesh.with_inertia_from_geometry(500.0)
    np.testing.assert_allclose(filled.parameters, plain.parameters, rtol=1e-6, atol=1e-12)
    q, _ = plain.random_state(1)
    np.testing.assert_allclose(filled.mass_matrix(q), plain.mass_matrix(q), rtol=1e-6, atol=1e-12)
    mirrored = crate('<mesh filename="box.stl" scale="-0.001 0.001 0.001"/>', origin, assets=tmp_path)
    np.testing.assert_allclose(mirrored.with_inertia_from_geometry(500.0).parameters, plain.parameters, rtol=1e-6)


def test_shapes_of_one_link_add_up() -> None:
    robot = cart().with_inertia_from_geometry(2.0, links=["base"], role="collision")
    base = robot.model.description.links[0]
    assert base.mass == pytest.approx(2.0 * 4.0 / 3.0 * math.pi * 0.3**3)
    halves = '<collision><origin xyz="{} 0 0"/><geometry><box size="0.2 0.3 0.4"/></geometry></collision>'
    link = f'<link name="box">{halves.format(0.1)}{halves.format(-0.1)}</link>'
    two = rc.load(f'<robot name="two">{link}</robot>', floating=True, strict=False).with_inertia_from_geometry()
    one = crate('<box size="0.4 0.3 0.4"/>').with_inertia_from_geometry()
    np.testing.assert_allclose(two.parameters, one.parameters, rtol=1e-14, atol=1e-15)


def test_estimates_are_for_links_without_data_unless_named() -> None:
    arm = rc.load(rc.robots.urdf("quadruped"))
    assert arm.with_inertia_from_geometry(role="visual") == arm
    named = arm.with_inertia_from_geometry(role="visual", links=["front_left_hip"])
    assert named.mass != arm.mass
    (found,) = named.doctor()
    assert (found.code, found.subject, found.severity) == ("estimated", "link 'front_left_hip'", "warning")
    assert "visual shapes (box) at 1000 kg/m^3" in found.reason
    assert not named.with_parameters(named.parameters).doctor()  # nothing is left of the estimate


def test_open_meshes_are_taken_as_convex_hulls_and_it_is_said(tmp_path: Path) -> None:
    open_box = trimesh.creation.box((0.1, 0.2, 0.3))
    open_box.update_faces(np.arange(len(open_box.faces)) > 0)
    open_box.export(tmp_path / "open.stl")
    robot = crate('<mesh filename="open.stl"/>', assets=tmp_path).with_inertia_from_geometry()
    assert robot.mass == pytest.approx(6.0, rel=1e-6)
    assert "convex hull of mesh 'open.stl', which is not closed" in robot.doctor()[0].reason


@pytest.mark.parametrize(
    ("shape", "said"),
    [('<mesh filename="none.stl"/>', "was not found; load the robot with assets="),
     ('<mesh filename="bad.obj"/>', "cannot be read"),
     ('<mesh filename="empty.stl"/>', "has no volume|cannot be read"),
     ('<mesh filename="flat.stl"/>', "has no volume"), ('<mesh filename="sheet.stl"/>', "has no volume"),
     ('<mesh filename="sheet.stl" scale="0 1 1"/>', "has no volume"),
     ('<mesh filename="drawing.step"/>', "of a kind that is not read"),
     ('<mesh filename="entities.dae"/>', "document type"),
     ("<box/>", "with no size has no volume"), ('<box size="1 0 2"/>', "has no volume"), ("<cone/>", "has no volume"),
     ('<sphere radius="nan"/>', "has no volume")],
)  # fmt: skip
def test_shapes_without_a_volume_are_refused(tmp_path: Path, shape: str, said: str) -> None:
    for name in ("empty.stl", "drawing.step"):
        (tmp_path / name).write_bytes(b"solid nothing\n")
    (tmp_path / "bad.obj").write_bytes(b"v 1 2 three\nf 1 1 1\n")
    (tmp_path / "entities.dae").write_bytes(b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA/>")
    trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).export(tmp_path / "flat.stl")
    trimesh.creation.box((1.0, 1.0, 0.0)).export(tmp_path / "sheet.stl")
    robot = crate(shape, assets=tmp_path)
    with pytest.raises(rc.ModelError, match=said) as caught:
        robot.with_inertia_from_geometry()
    assert "link 'box'" in str(caught.value)


@pytest.mark.parametrize("density", [0.0, -1.0, math.nan, "heavy"])
def test_densities_must_be_positive(density: float) -> None:
    with pytest.raises(rc.ModelError, match="density"):
        crate('<box size="1 1 1"/>').with_inertia_from_geometry(density)


def test_a_link_without_such_shapes_cannot_be_estimated() -> None:
    with pytest.raises(rc.ModelError, match="link 'link1' has no collision shape"):
        rc.robots.planar(1).with_inertia_from_geometry(links="link1")
