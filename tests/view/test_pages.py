"""Pages as files: what is in them, what is not, what is refused; and the front end, built anew."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trimesh

import recursa as rc
import robot_data
from recursa.view import figures
from recursa.view import page as pages
from recursa.view.figures import figure_of, shelf_for
from robot_files import with_mesh

FRONTEND = Path(__file__).parents[2] / "frontend"


def data_in(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="recursa-data">(.*?)</script>', page.read_text("utf-8"))
    assert found
    return json.loads(found[1])


def test_the_policy_allows_the_scripts_of_the_page_and_no_others(tmp_path: Path) -> None:
    text = rc.robots.planar(2).to_html(tmp_path / "x.html").read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert rules["script-src"] == " ".join(f"'sha256-{one}'" for one in digests)
    assert len(scripts) == 2
    assert not re.search(r"(src|href)=", text.split("<script>")[0])


def test_a_page_is_the_same_every_time(tmp_path: Path) -> None:
    robot = rc.robots.free_flyer(2)
    assert pages.robot_page(robot) == pages.robot_page(robot)


@pytest.mark.parametrize("ending", ["stl", "obj", "glb", "dae"])
def test_meshes_of_every_format_are_drawn(ending: str, tmp_path: Path) -> None:
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / f"part.{ending}")
    robot = rc.load(with_mesh(f"package://{tmp_path.name}/part.{ending}"), assets=[tmp_path])
    data = data_in(robot.to_html(tmp_path / "x.html"))
    shape = data["robots"][0]["bodies"][0]["shapes"][0]
    assert shape["kind"] == "mesh"
    np.testing.assert_allclose(np.array(shape["place"]).reshape(3, 4), [[2, 0, 0, 0.1], [0, 2, 0, 0], [0, 0, 2, 0]])
    (record,) = (data["meshes"][k] for k in shape["parts"])
    np.testing.assert_allclose(sorted(record["span"]), [0.1, 0.2, 0.3], rtol=1e-6)
    points = np.frombuffer(base64.b64decode(record["points"]), "<u2").reshape(-1, 3)
    assert len(points) == 8
    assert data_in(robot.to_html(tmp_path / "x.html", meshes=False))["meshes"] == []


def test_a_fine_mesh_is_thinned_out_and_keeps_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_TRIANGLES", 3000)
    trimesh.creation.icosphere(5, radius=0.5).export(tmp_path / "ball.stl")
    robot = rc.load(with_mesh(str(tmp_path / "ball.stl")), assets=[tmp_path])
    (record,) = data_in(robot.to_html(tmp_path / "x.html"))["meshes"]
    triangles = np.frombuffer(base64.b64decode(record["triangles"]), "<u2").reshape(-1, 3)
    assert 2500 < len(triangles) <= 3000 < 20_480
    np.testing.assert_allclose(record["span"], 1.0, atol=1e-2)


def test_the_panda_with_its_meshes_is_small(tmp_path: Path) -> None:
    files = [path for path in robot_data.urdf_files() if path.name == "panda.urdf"]
    if not files:
        pytest.skip("no example-robot-data")
    share = next(folder for folder in files[0].parents if folder.name == "share")
    page = rc.load(files[0], assets=[share], strict=False).to_html(tmp_path / "panda.html")
    assert 1_200_000 < page.stat().st_size < 4_000_000
    assert len(data_in(page)["meshes"]) > 20


def test_meshes_outside_the_folders_are_never_read(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    secret = tmp_path / "secret.stl"
    trimesh.creation.box((1, 1, 1)).export(secret)
    for reference in (str(secret), "../secret.stl", "package://allowed/../secret.stl", f"file://{secret}"):
        robot = rc.load(with_mesh(reference), assets=[tmp_path / "allowed"])
        data = data_in(robot.to_html(tmp_path / "x.html"))
        assert data["meshes"] == []
        assert "assets=" in data["notes"][-1]
        assert data["robots"][0]["bodies"][0]["shapes"]


@pytest.mark.parametrize("content", [b"", b"solid nothing\nendsolid", b"\0" * 84 + b"\xff" * 40, b"<!DOCTYPE x><y/>"])
def test_a_broken_mesh_is_a_warning_and_a_box(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "part.dae" if b"DOCTYPE" in content else tmp_path / "part.stl").write_bytes(content)
    name = "part.dae" if b"DOCTYPE" in content else "part.stl"
    robot = rc.load(with_mesh(f"package://{tmp_path.name}/{name}"), assets=[tmp_path])
    with pytest.warns(rc.ModelWarning, match=rf"link 'body': the mesh '{name}'.*a box is drawn instead"):
        page = robot.to_html(tmp_path / "x.html")
    assert data_in(page)["robots"][0]["bodies"][0]["shapes"][0]["kind"] == "box"


def test_links_without_shapes_are_bars_that_reach_to_what_hangs_on_them() -> None:
    robot = rc.robots.panda_like()
    figure, _ = figure_of(robot, robot.neutral(), robot.neutral()[None], shelf_for(robot))
    for body, joint in zip(figure["bodies"][:-1], robot.model.joints[1:], strict=True):
        at = np.array([float(x) for x in joint.placement.translation])
        reached = [np.zeros(3), *(np.array(shape["to"]) for shape in body["shapes"] if shape["kind"] == "bar")]
        assert min(np.linalg.norm(at - one) for one in reached) < 1e-3 * figure["size"]
    assert [shape["kind"] for shape in figure["base"]] == ["bar", "bar"]
    assert all(joint["shown"] for joint in figure["joints"])


def test_what_slides_and_what_closes_loops_can_be_seen() -> None:
    def drawn(robot: rc.Robot) -> dict:
        q = robot.neutral()
        return figure_of(robot, q, q[None], shelf_for(robot))[0]

    (slide,) = drawn(rc.robots.stanford())["struts"]
    assert (slide["from"]["body"], slide["to"]["body"]) == (1, 2)
    delta = rc.robots.delta()
    rods, poses = drawn(delta)["struts"], delta.poses(delta.neutral())
    links = [delta.model.link_index(joint.child) for joint in delta.model.joints]
    assert len(rods) == 6
    for rod in rods:
        first, second = (poses[links[end["body"]]] @ [*end["point"], 1.0] for end in (rod["from"], rod["to"]))
        np.testing.assert_allclose(np.linalg.norm(first - second), 0.55, rtol=1e-12)
    arms = rc.robots.two_arms()  # which hold a bar between them
    (loop,) = arms.constraints
    where, poses = arms.pose(arms.neutral(), loop.link) @ [*loop.at, 1.0], arms.poses(arms.neutral())
    reached = [
        poses[body["link"]] @ [*shape["to"], 1.0]
        for body in drawn(arms)["bodies"]
        for shape in body["shapes"]
        if shape["kind"] == "bar"
    ]
    assert min(np.linalg.norm(end - where) for end in reached) < 1e-9


def test_arms_that_hang_have_a_post_up_to_their_plate() -> None:
    robot = rc.robots.panda_like().with_gravity((0, 0, 9.81))
    figure, _ = figure_of(robot, robot.neutral(), robot.neutral()[None], shelf_for(robot))
    plate, post = figure["base"]
    assert plate["from"][2] == 0.0
    np.testing.assert_allclose((post["from"], post["to"]), ((0, 0, 0), (0, 0, 0.333)), atol=1e-12)


def test_pages_name_sliding_joints_that_nothing_stops(tmp_path: Path) -> None:
    notes = data_in(rc.robots.stanford().to_html(tmp_path / "x.html"))["notes"]
    assert any("Sliding joints without limits" in note and "joint3" in note for note in notes), notes
    assert not data_in(rc.robots.panda_like().to_html(tmp_path / "y.html"))["notes"]


def test_the_arm_of_the_first_page_does_not_swing_through_its_pedestal() -> None:
    """Nothing in a page collides, so the arm and the pose are chosen such that it stays clear of what it hangs on."""
    docs = (FRONTEND.parent / "docs" / "conf.py").read_text("utf-8")
    start = {"joint2": 0.4, "joint4": -1.8, "joint6": 1.6}
    assert "rc.robots.panda_like().with_gravity((0, 0, 9.81))" in docs
    assert '"arm.html", {"joint2": 0.4, "joint4": -1.8, "joint6": 1.6}' in docs
    robot = rc.robots.panda_like().with_gravity((0, 0, 9.81))
    run = robot.simulate(start, duration=5.0, stops=True, samples=500, integrator="rk4", step=1e-3)
    origins = robot.poses(run.q)[:, robot.link_names.index("link4") :, :3, 3]
    post = np.linspace((0, 0, 0), (0, 0, 0.333), 10)
    along = np.linspace(0.0, 1.0, 10)[:, None, None, None]
    links = origins[:, :-1] + along * (origins[:, 1:] - origins[:, :-1])
    assert np.linalg.norm(links[..., None, :] - post, axis=-1).min() > 0.1


def test_a_large_robot_is_shown_without_its_dynamics(tmp_path: Path) -> None:
    data = data_in(rc.robots.chain(90, seed=1).to_html(tmp_path / "x.html"))
    assert "at most 80" in data["notes"][0]


def test_what_cannot_be_shown_is_said(tmp_path: Path) -> None:
    arm = rc.robots.planar(2)
    with pytest.raises(rc.RecursaError, match=r"let it end in \.html"):
        arm.to_html(tmp_path / "arm.png")
    with pytest.raises(rc.StateError, match="nan or infinity"):
        arm.to_html(tmp_path / "x.html", [np.nan, 0.0])
    with pytest.raises(rc.ShapeError, match="begins at one state"):
        arm.to_html(tmp_path / "x.html", np.zeros((3, 2)))
    with pytest.raises(rc.StateError, match="which robot"):
        rc.Trajectory.cycloid([0, 0], [1, 1], T=1.0).to_html(tmp_path / "x.html")


def test_torques_of_a_trajectory_are_among_its_curves(tmp_path: Path) -> None:
    arm = rc.load(rc.robots.urdf("desk_arm"))
    motion = rc.Trajectory.cycloid(arm.neutral(), 0.3 + arm.neutral(), T=1.0, robot=arm)
    data = data_in(motion.to_html(tmp_path / "x.html"))
    panels = {panel["title"]: panel for panel in data["panels"]}
    assert panels["Torques"]["columns"][0][2] == [-18.0, 18.0]
    assert panels["Angles"]["columns"][0][2] == arm.position_limits[:, 0].tolist()
    record = data["motions"][0]
    tau = np.frombuffer(base64.b64decode(record["series"]["tau"]), "<f4").reshape(record["count"], arm.nv)
    q, v, a = motion.sample(np.linspace(0.0, 1.0, record["count"]))
    np.testing.assert_allclose(tau, arm.inverse_dynamics(q, v, a, losses=True), rtol=1e-5, atol=1e-5)


def test_notebooks_show_robots_and_runs() -> None:
    robot = rc.robots.planar(2)
    shown = robot._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert 'sandbox="allow-scripts"' in shown
    assert "energy drift" in robot.simulate([0.1, 0.2], duration=0.1)._repr_html_()


def test_the_front_end_in_the_package_is_what_its_sources_build(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (FRONTEND / "node_modules" / "esbuild").is_dir():
        pytest.skip("no node, or the packages of frontend/ are not installed: npm ci --prefix frontend")
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=FRONTEND, check=True, timeout=60)
    for name in ("page.js", "page.css", "page.LICENSE.txt"):
        packed = Path(pages.__file__).with_name(name)
        assert packed.read_bytes() == (tmp_path / name).read_bytes(), f"{name} is stale: make frontend"
