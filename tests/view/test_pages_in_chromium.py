"""Pages in a real browser: they load nothing, log no error, show the pose, and compute what Python computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
import robot_data
import zoo
from browser import Tab
from recursa.cli.commands import recursa
from recursa.view.page import json_in_html
from recursa.view.widget import MODULE

pytestmark = pytest.mark.filterwarnings("ignore::recursa.LimitWarning")  # nothing holds joints that fall


def opened(tab: Tab, page: Path, **options: Any) -> Tab:
    tab.open(page, **options).ready()
    return tab


def quiet(tab: Tab, page: Path) -> None:
    """Nothing was asked for but the page itself, and nothing went wrong."""
    assert tab.errors == []
    assert tab.requests == [page.resolve().as_uri()]


def colours_near(tab: Tab, at: list[float], reach: int = 3) -> np.ndarray:
    picture, (x, y) = np.asarray(tab.picture()), (round(at[0]), round(at[1]))
    return picture[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1].reshape(-1, 3).astype(int)


def state(tab: Tab) -> np.ndarray:
    return np.array(tab.run("Array.from(recursa.mechanics.q)"))


def falls_as_in_python(tab: Tab, robot: rc.Robot, q: Any, v: Any, seconds: float = 1.0) -> None:
    """Let go from a state without stops, in the page and in Python: the same steps."""
    steps = round(seconds / 1e-3)
    tab.run("recursa.mechanics.stops.on = false")
    tab.run(f"recursa.mechanics.set({json.dumps(np.asarray(q).tolist())}, {json.dumps(np.asarray(v).tolist())})")
    assert tab.run(f"recursa.mechanics.advance({steps}, 1e-3)")
    run = robot.simulate(q, v, duration=seconds, integrator="rk4", step=1e-3, samples=2, losses="damping")
    found, speeds = state(tab), np.array(tab.run("Array.from(recursa.mechanics.v)"))
    np.testing.assert_allclose(found, run.q[-1], atol=1e-9)
    np.testing.assert_allclose(speeds, run.v[-1], atol=1e-9 * max(1.0, np.abs(run.v[-1]).max()))


def test_an_arm_is_seen_posed_let_go_and_pulled(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.panda_like()
    page = robot.to_html(tmp_path / "arm.html", {"joint2": 0.5, "joint4": -1.2, "joint6": 1.0})
    assert page.stat().st_size < 1_500_000
    opened(tab, page)
    q = state(tab)
    np.testing.assert_allclose(q[[1, 3, 5]], [0.5, -1.2, 1.0])

    poses = robot.poses(q)
    middle = (poses[robot.model.link_index("link2"), :3, 3] + poses[robot.model.link_index("link3"), :3, 3]) / 2
    at = tab.run(f"recursa.stage.project({json.dumps(middle.tolist())})")
    orange = colours_near(tab, at).mean(axis=0)  # the colour of the second body
    assert orange[0] > 1.4 * orange[2]
    sky = colours_near(tab, [40, 560]).mean(axis=0)
    assert sky.min() > 200

    tab.run("""(() => { const one = document.querySelector('.sliders input'); one.value = 1.1;
               one.dispatchEvent(new Event('input')); })()""")
    assert abs(state(tab)[0] - 1.1) < 1e-12
    tab.wait("!recursa.moved")
    np.testing.assert_allclose(
        tab.run("Array.from(recursa.figure.poses.subarray(72, 84))"),
        robot.pose(state(tab), robot.model.joints[6].child)[:3].ravel(), atol=1e-12,
    )  # fmt: skip

    falls_as_in_python(tab, robot, q, np.zeros(7))
    assert tab.run("recursa.mechanics.energyDrift()") < 1e-6

    tab.run("recursa.mechanics.set(recursa.robot.q); recursa.letGo(true)")
    tab.wait("recursa.mechanics.t > 0.1")
    tab.run("recursa.hold(true)")
    tab.wait("recursa.simulating && recursa.mechanics.holding && recursa.mechanics.t > 0.05")
    tab.run("recursa.restart()")
    tab.wait("!recursa.moved")
    np.testing.assert_allclose(state(tab), q)

    grip = json.dumps(poses[robot.model.link_index(robot.model.joints[6].child), :3, 3].tolist())
    tab.run(f"recursa.pull.begin(6, recursa.figure.world(6).fromArray({grip}))")
    tab.run("recursa.pull.aimAt(recursa.pull.target.clone().add({x: 0, y: 0.3, z: 0}))")
    assert tab.run("recursa.simulating && recursa.mechanics.holding && recursa.mechanics.advance(400, 1e-3)")
    tab.run("recursa.figure.show(recursa.mechanics.q)")
    assert tab.run("recursa.figure.world(6).y") > 0.02 + json.loads(grip)[1]
    tab.run("recursa.pull.up()")
    quiet(tab, page)


def test_gravity_damping_and_a_pull_are_those_of_python(tab: Tab, tmp_path: Path) -> None:
    robot = zoo.ZOO["puma560"]()
    page = robot.to_html(tmp_path / "arm.html", meshes=False)
    opened(tab, page)
    q, v = robot.random_state(4)
    tab.run("""Object.assign(recursa.mechanics, { gravityScale: 0.4, extraDamping: 0.3 });
               const spring = { body: 5, point: [0.01, 0.02, 0.03], target: [0.3, 0.2, 0.5] };
               recursa.mechanics.pull({ ...spring, stiffness: 50, damping: 2 })""")
    tab.run(f"recursa.mechanics.set({json.dumps(q.tolist())}, {json.dumps(v.tolist())})")
    assert tab.run("recursa.mechanics.advance(200, 1e-3)")
    link = robot.model.joints[5].child
    number = robot.model.link_index(link)

    def wrench(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pose, twist, point = (
            robot.pose(q, link),
            robot.velocities(q, v, frame="mixed")[number],
            np.array([0.01, 0.02, 0.03]),
        )
        arm = pose[:3, :3] @ point
        force = 50 * (np.array([0.3, 0.2, 0.5]) - pose[:3, 3] - arm) - 2 * (twist[3:] + np.cross(twist[:3], arm))
        own = pose[:3, :3].T @ force
        everywhere = np.zeros((robot.nlinks, 6))
        everywhere[number] = [*np.cross(point, own), *own]
        return everywhere

    def drag(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -0.3 * v

    light = robot.with_gravity(tuple(0.4 * np.array(robot.gravity)))
    run = light.simulate(
        q, v, duration=0.2, torque=drag, wrenches=wrench, integrator="rk4", step=1e-3, samples=2, losses="damping"
    )
    np.testing.assert_allclose(state(tab), run.q[-1], atol=1e-9)
    assert tab.run("recursa.mechanics.energyDrift()") < 1e-6


@pytest.mark.parametrize("name", ["one_of_each", "tied"])
def test_joints_of_every_kind_fall_as_in_python(name: str, tab: Tab, tmp_path: Path) -> None:
    """Quaternions, planes, screws; and joints that follow others, which are solved with the mass matrix."""
    if name == "tied":
        text, joint = rc.robots.panda_like().to_urdf(), '<joint name="joint7"'
        before, after = text.split(joint)
        mimic = '<mimic joint="joint5" multiplier="-0.5" offset="0.1"/></joint>'
        robot = rc.load(before + joint + after.replace("</joint>", mimic, 1), mimic="tie")
        assert robot.nv == 6
    else:
        robot = zoo.ZOO[name]()
    page = robot.to_html(tmp_path / "all.html")
    opened(tab, page)
    q, v = robot.random_state(2)
    falls_as_in_python(tab, robot, q, v, 0.3)
    tab.run("recursa.sliders.follow(recursa.mechanics.q)")
    np.testing.assert_allclose(robot.difference(tab.run("Array.from(recursa.sliders.q())"), state(tab)), 0.0, atol=1e-9)
    quiet(tab, page)


@pytest.mark.parametrize("tied", [False, True])
def test_what_holds_a_pose_holds_its_springs(tab: Tab, tmp_path: Path, tied: bool) -> None:
    """Under any gravity; the energy in springs is not scaled with it."""
    text = rc.robots.planar(3).to_urdf()
    if tied:
        text = text.replace("</joint>", '<mimic joint="joint1" multiplier="-0.5"/></joint>')
        text = text.replace('<mimic joint="joint1" multiplier="-0.5"/></joint>', "</joint>", 1)
    robot = rc.load(text, mimic="tie")
    robot = robot.with_joint("joint1", stiffness=30.0, rest=0.2).with_joint("joint3", stiffness=12.0, rest=-0.4)
    page = robot.to_html(tmp_path / "sprung.html")
    opened(tab, page)
    q = robot.random_state(3)[0]
    tab.run(
        f"recursa.mechanics.gravityScale = 0.4; recursa.mechanics.set({json.dumps(q.tolist())}); recursa.hold(true)"
    )
    light = robot.with_gravity([0.4 * x for x in robot.gravity])
    found = np.array(tab.run("Array.from(recursa.mechanics.holdingTorques())"))
    np.testing.assert_allclose(found, light.bias_forces(q, np.zeros(robot.nv)), atol=1e-12)
    assert abs(tab.run("recursa.mechanics.energy()") - light.potential_energy(q)) < 1e-12
    assert tab.run("recursa.mechanics.advance(300, 1e-3)")
    np.testing.assert_allclose(state(tab), q, atol=1e-10)
    tab.run("recursa.stop(); recursa.mechanics.hold(false); recursa.mechanics.reset()")
    assert tab.run("recursa.mechanics.advance(300, 1e-3)")
    run = light.simulate(q, duration=0.3, integrator="rk4", step=1e-3, samples=2)
    np.testing.assert_allclose(state(tab), run.q[-1], atol=1e-9)
    assert np.abs(state(tab) - q).max() > 0.05
    tab.run("recursa.mechanics.reset()")
    assert tab.run("recursa.mechanics.advance(3000, 1e-4)")
    assert tab.run("recursa.mechanics.energyDrift()") < 1e-6
    quiet(tab, page)


def test_a_space_robot_keeps_its_momentum(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.space_robot()
    page = robot.to_html(tmp_path / "space.html")
    opened(tab, page, dark=True)
    assert colours_near(tab, [20, 580]).max() < 60
    q, v = robot.random_state(1)
    tab.run("for (const box of document.querySelectorAll('input[type=checkbox]')) box.click()")
    falls_as_in_python(tab, robot, q, v, 0.3)
    tab.run("recursa.moved = true")
    tab.wait("!recursa.moved")
    h = np.array(tab.run("Array.from(recursa.kernels.momentum(recursa.mechanics.q, recursa.mechanics.v))"))
    np.testing.assert_allclose(h, robot.momentum(q, v), atol=1e-6)
    quiet(tab, page)


def test_a_run_and_its_ghost_play_as_they_went(tab: Tab, tmp_path: Path) -> None:
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    q, v = robot.neutral(), np.zeros(robot.nv)
    v[:3] = 0.5, -1.0, 2.0
    run = robot.simulate(q, v, duration=0.5, losses="damping")
    other = robot.with_payload(robot.link_names[-1], mass=1.0).simulate(q, v, duration=0.5, losses="damping")
    page = run.to_html(tmp_path / "run.html", ghost=other, title="A fall")
    opened(tab, page, width=390, height=800)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    for t in (0.0, 0.1234, 0.5):
        tab.run(f"recursa.playback.seek({t})")
        np.testing.assert_allclose(state(tab), run.at(t)[0], atol=2e-6)
    assert tab.run("recursa.ghost.poses[7] !== recursa.figure.poses[7]")
    assert tab.run("document.querySelectorAll('canvas.plot').length") == len(tab.run("recursa.data.panels")) > 2
    tab.run("recursa.playback.toggle(true)")
    tab.wait("recursa.playback.t > 0.02 && recursa.playback.t < 0.4")
    tab.run("recursa.playback.seek(0.2); recursa.letGo(true)")
    tab.wait("recursa.mechanics.t > 0.02")
    assert tab.run("!recursa.playback.playing")
    quiet(tab, page)


HOSTILE = "</script><script>window.broken=1</script><img src=x onerror=broken=1>\"'`<!--"


def test_hostile_names_are_text(tab: Tab, tmp_path: Path) -> None:
    import html as markup

    text = rc.robots.planar(2).to_urdf()
    for name in ("planar2", "joint1", "link1"):
        text = text.replace(f'"{name}"', f'"{markup.escape(HOSTILE + name)}"')
    robot = rc.load(text)
    assert HOSTILE in robot.name
    page = robot.simulate([0.1, 0.2], duration=0.1).to_html(tmp_path / "x.html")
    opened(tab, page)
    assert tab.run("typeof window.broken") == "undefined"
    assert tab.run("document.querySelector('h1').textContent") == robot.name
    assert tab.run("document.images.length") == 0
    assert tab.run("[...document.querySelectorAll('.slider label')].some(x => x.textContent.includes('</script>'))")
    quiet(tab, page)


def test_a_humanoid_with_meshes(tab: Tab, tmp_path: Path) -> None:
    files = [path for path in robot_data.urdf_files() if path.name == "talos_reduced.urdf"]
    if not files:
        pytest.skip("no example-robot-data")
    share = next(folder for folder in files[0].parents if folder.name == "share")
    robot = rc.load(files[0], assets=[share], floating=True, strict=False)
    page = robot.to_html(tmp_path / "talos.html")
    assert 1_500_000 < page.stat().st_size < 4_000_000
    opened(tab, page)
    assert tab.run("recursa.data.meshes.length") > 20
    head = robot.pose(state(tab), "head_2_link")[:3, 3]
    at = tab.run(f"recursa.stage.project({json.dumps(head.tolist())})")
    assert np.ptp(np.asarray(tab.picture())[int(at[1]) - 20 : int(at[1]) + 20, int(at[0]) - 20 : int(at[0]) + 20]) > 60
    falls_as_in_python(tab, robot, state(tab), np.zeros(robot.nv), 0.05)
    quiet(tab, page)


def test_a_running_program_moves_its_page(tab: Tab) -> None:
    robot = rc.robots.planar(3)
    with robot.view([0.1, 0.2, 0.3], open=False) as view:
        tab.open(view.url).ready()
        np.testing.assert_allclose(state(tab), [0.1, 0.2, 0.3])
        view.show({"joint2": 0.7})
        tab.wait("recursa.mechanics.q[1] === 0.7")
        run = robot.simulate([0.5, 0.0, 0.0], duration=0.3)
        view.play(run)
        tab.wait("recursa.playback && recursa.playback.playing && !!document.querySelector('canvas.plot')")
        tab.run("recursa.playback.seek(0.2, true)")
        np.testing.assert_allclose(state(tab), run.at(0.2)[0], atol=1e-6)
        view.show([0.0, 0.0, 0.4])
        tab.wait("!recursa.playback && recursa.mechanics.q[2] === 0.4")
        assert tab.errors == []
        assert {request.rsplit("/", 1)[0] for request in tab.requests} == {view.url.rstrip("/")}
        tab.run("recursa.live.close()")
        tab.open("about:blank")


def test_any_formula_can_be_typed_in_a_page_that_a_program_serves(tab: Tab) -> None:
    robot = rc.robots.panda_like()
    with robot.view(open=False) as view:
        tab.open(view.url).ready()
        assert tab.run("recursa.formula.formulas.length") == 0
        tab.run("""(() => { const { entry, node } = recursa.formula; node.open = true;
                   entry.typed.value = 'J(link7) inv(mass) J(link7)*'; entry.go.click(); })()""")
        tab.wait("recursa.formula.formulas.length === 1")
        told = rc.explain("J(link7) inv(mass) J(link7)*", robot, code="c")
        shown = tab.run("recursa.formula.steps.textContent")
        assert told.simplified.text() in shown
        assert told.cost in shown
        assert told.code in shown
        sweeps = tab.run("recursa.formula.sweeps")
        assert [one["way"] for one in sweeps] == ["here", "inward", "outward", "here"]
        assert [one["waves"][0] for one in sweeps] == [[6], [6], [0], [6]]
        tab.wait("recursa.formula.glow.some(x => x > 0.5)")
        mistake = "H phi <img src=x onerror=broken=1> )"
        tab.run(f"recursa.formula.entry.send({json.dumps(mistake)})")
        tab.wait("recursa.formula.entry.error.textContent !== ''")
        with pytest.raises(rc.RecursaError) as said:
            rc.parse(mistake, robot)
        assert tab.run("recursa.formula.entry.error.textContent") == str(said.value)
        assert tab.run("typeof window.broken") == "undefined"
        assert tab.run("document.images.length") == 0
        tab.run("""(() => { const { entry } = recursa.formula; entry.vectors.value = 'x=joint'; entry.code.value = 'js';
                   entry.typed.value = ''; entry.insert('mass'); entry.insert('x'); entry.go.click(); })()""")
        tab.wait("recursa.formula.formulas.length === 2 && recursa.formula.entry.error.textContent === ''")
        assert tab.run("recursa.formula.formulas[1].typed") == "mass x "
        assert "function kernel" in tab.run("recursa.formula.formulas[1].code")
        assert tab.errors == []
        assert {request.rsplit("/", 1)[0] for request in tab.requests} == {view.url.rstrip("/")}
        tab.run("recursa.formula.toggle(false); recursa.live.close()")
        tab.wait("!recursa.formula.lit")
    tab.run("recursa.formula.entry.send('mass T')")
    tab.wait("recursa.formula.entry.error.textContent.includes('is gone')")
    tab.open("about:blank")


def test_a_formula_runs_over_the_bodies(tab: Tab, tmp_path: Path) -> None:
    page = tmp_path / "formula.html"
    words = ["explain", "inv(mass) (T - C)", "--robot", "panda_like", "-o", str(page), "--also", "H phi M phi* H*"]
    done = CliRunner().invoke(recursa, words)
    assert done.exit_code == 0, done.output
    opened(tab, page)
    sweeps = tab.run("recursa.formula.sweeps")
    assert [sweep["title"].split(", ")[1] for sweep in sweeps] == ["base to tip", "tip to base", "base to tip"]
    assert [sweep["waves"][0] for sweep in sweeps] == [[0], [6], [0]]
    tab.run("recursa.formula.toggle(false); recursa.formula.at = 8.5; recursa.formula.choose(3)")
    tab.wait("recursa.formula.shown === 1")
    assert tab.run("recursa.formula.now().wave") == [5]
    shown = tab.run("recursa.formula.card.textContent")
    assert tab.run("recursa.formula.places.selectedOptions[0].textContent") == "4: link4"
    assert "c is 5" in shown
    assert "G(4) = P(4) H*(4) D⁻¹(4)" in shown
    tab.run("recursa.formula.select(1)")
    assert "void kernel" in tab.run("recursa.formula.steps.textContent")
    quiet(tab, page)


def test_a_widget_follows_its_program(tab: Tab, tmp_path: Path) -> None:
    """Its module with a model of ours, as a notebook has one. For the test alone the frame may be looked into."""
    assert '"sandbox", "allow-scripts"' in MODULE
    module = MODULE.replace('"allow-scripts"', '"allow-scripts allow-same-origin"').replace(
        "export default", "const it ="
    )
    robot = rc.robots.planar(2)
    widget = robot.widget([0.1, 0.2])
    widget.play(robot.simulate([0.3, 0.4], duration=0.1))
    assert widget.told["play"]["count"] > 100
    widget.show({"joint2": 0.7})
    page = tmp_path / "notebook.html"
    model = json_in_html({"page": widget.page, "told": widget.told, "height": widget.height})
    page.write_text(
        f"""<!DOCTYPE html><div id="cell"></div><script type="module">{module}
        const values = {model}, listeners = [];
        window.asked = [];
        window.model = {{ get: name => values[name], on: (name, f) => listeners.push([name, f]),
                          send: message => window.asked.push(message),
                          say: (name, what) => listeners.forEach(([of, f]) => of === name && f(what)),
                          set: (name, value) => {{ values[name] = value; window.model.say("change:told"); }} }};
        it.render({{ model, el: document.getElementById("cell") }});
        window.inner = () => document.querySelector("iframe").contentWindow.recursa;</script>""",
        "utf-8",
    )
    tab.open(page)
    tab.wait("inner() && inner().frames > 0 && inner().mechanics.q[1] === 0.7")
    tab.run("model.set('told', { show: [0.25, 0.5] })")
    tab.wait("inner().mechanics.q[0] === 0.25")

    sent: list[Any] = []
    widget.send = sent.append
    tab.run("void inner().formula.entry.send('mass T')")
    message = tab.wait("asked[0]")
    widget._handle_custom_msg(message, [])
    widget._handle_custom_msg("nothing of ours", [])
    assert [one["answers"] for one in sent] == [message["number"]]
    tab.run(f"model.say('msg:custom', {json.dumps(sent[0])})")
    tab.wait("inner().formula.formulas.length === 1")
    assert tab.run("inner().formula.formulas[0].written") == "H φ M φ* H* T"
    widget.close()
    assert tab.errors == []
