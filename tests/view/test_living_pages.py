"""Living pages in a real browser: joints stop at their limits, loops stay closed, everything is seen, keys work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from browser import Tab
from robot_files import with_mesh

pytestmark = pytest.mark.filterwarnings("ignore::recursa.LimitWarning")  # runs without stops pass their limits


def opened(tab: Tab, page: Path, **options: Any) -> Tab:
    return tab.open(page, **options).ready()


def state(tab: Tab) -> tuple[np.ndarray, np.ndarray]:
    q, v = tab.run("[Array.from(recursa.mechanics.q), Array.from(recursa.mechanics.v)]")
    return np.array(q), np.array(v)


def slide(tab: Tab, number: int, value: float) -> None:
    """Move a slider as a finger does."""
    tab.run(f"""(() => {{ const one = document.querySelectorAll('.sliders input')[{number}]; one.focus();
                one.value = {value}; one.dispatchEvent(new Event('input')); }})()""")


def press(tab: Tab, key: str, code: str) -> None:
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, text=key if kind == "keyDown" else "")


# ---- stops -----------------------------------------------------------------------------------------------------------

FALLEN = """(() => {
  const { mechanics } = recursa, { joints } = mechanics.stops;
  let deepest = 0, highest = -Infinity;
  mechanics.set(%s, %s);
  const start = mechanics.energy();
  for (let picture = 0; picture < 150; picture++) {
    if (!mechanics.advance(16, 1e-3)) return null;
    for (const one of joints) deepest = Math.max(deepest, mechanics.q[one.q] - one.high, one.low - mechanics.q[one.q]);
    highest = Math.max(highest, mechanics.energy());
  }
  return { deepest, grown: (highest - start) / mechanics.energyScale(), drift: mechanics.energyDrift() };
})()"""


@pytest.mark.parametrize("name", ["panda_like", "puma560", "desk_arm"])
def test_an_arm_that_is_let_go_stops_at_its_limits(name: str, tab: Tab, tmp_path: Path) -> None:
    """From many poses, some of them in full motion: no joint leaves its range, no energy comes from nowhere."""
    robot = rc.load(rc.robots.urdf(name), mimic="tie") if name == "desk_arm" else rc.robots.by_name(name)
    opened(tab, robot.to_html(tmp_path / "arm.html"))
    low, high = robot.position_limits
    rng = np.random.default_rng(5)
    for pose in range(8):
        q = np.clip(robot.neutral(), low, high) if pose == 0 else rng.uniform(np.maximum(low, -3), np.minimum(high, 3))
        v = rng.normal(scale=2.0, size=robot.nv) * (pose % 2)
        found = tab.run(FALLEN % (json.dumps(q.tolist()), json.dumps(v.tolist())))
        assert found is not None
        assert found["deepest"] < 0.1
        assert found["grown"] < 1e-6
        assert found["drift"] < 2e-3
    assert tab.errors == []


def test_stops_are_those_of_python(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.panda_like()
    q = np.array([0.3, 1.6, 0.2, -0.3, 0.1, 3.5, 0.4])
    opened(tab, robot.to_html(tmp_path / "arm.html", q))
    assert tab.run("recursa.mechanics.advance(250, 1e-3)")
    run = robot.simulate(q, duration=0.25, stops=True, losses="damping", samples=2)
    found, speeds = state(tab)
    np.testing.assert_allclose(found, run.q[-1], atol=3e-4)
    np.testing.assert_allclose(speeds, run.v[-1], atol=3e-2)
    free = robot.simulate(q, duration=0.25, losses="damping", samples=2)
    assert np.abs(free.q[-1] - run.q[-1]).max() > 0.1  # something was stopped
    tab.run("document.querySelectorAll('details')[0].querySelector('input[type=checkbox]').click(); recursa.restart()")
    assert tab.run("recursa.mechanics.advance(250, 1e-3)")
    np.testing.assert_allclose(state(tab)[0], free.q[-1], atol=1e-6)


def test_a_joint_that_begins_beyond_its_limit_is_not_thrown_back(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.panda_like()
    run = robot.simulate({"joint2": 0.5, "joint4": -1.2, "joint6": 1.0}, duration=1.0)
    assert (run.q[-1] > robot.position_limits[1]).any()
    opened(tab, run.to_html(tmp_path / "run.html"))
    tab.run("recursa.playback.seek(1.0, true); recursa.letGo(true); recursa.simulating = false")
    start = tab.run("recursa.mechanics.energy()")
    assert tab.run("recursa.mechanics.advance(500, 1e-3)")
    assert tab.run("recursa.mechanics.energy()") < start + 1e-3 * tab.run("recursa.mechanics.energyScale()")
    tab.run("recursa.refresh()")
    assert "joint7" in tab.run("recursa.said.textContent")


# ---- loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "delta", "gripper"])
def test_loops_stay_closed_under_sliders(name: str, tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.by_name(name)
    opened(tab, robot.to_html(tmp_path / "loop.html"))
    mobility = robot.mobility(robot.neutral()).freedoms
    assert f"mobility {mobility}" in tab.run("document.querySelector('header p').textContent")
    sliders = tab.run("recursa.robot.freedoms.map(x => [x.low, x.high])")
    for number, (low, high) in enumerate(sliders):
        tab.run("recursa.restart()")
        for share in (0.55, 0.7, 0.97, 0.2):
            slide(tab, number, low + share * (high - low))
            q = state(tab)[0]
            assert np.abs(robot.constraint_error(q)).max() < 1e-8
        tab.wait("!recursa.moved")
        shown = tab.run("Array.from(recursa.sliders.q())")
        np.testing.assert_allclose(robot.difference(shown, q), 0.0, atol=1e-9)
    assert tab.errors == []


def test_a_slider_moves_its_joint_and_the_others_follow(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.five_bar()
    opened(tab, robot.to_html(tmp_path / "five.html"))
    slide(tab, 0, 0.5)
    q = state(tab)[0]
    assert abs(q[0] - 0.5) < 1e-9
    assert np.abs(q[1:]).max() > 0.05
    slide(tab, 0, 0.0)
    np.testing.assert_allclose(state(tab)[0], 0.0, atol=0.05)  # no other branch


@pytest.mark.parametrize(
    ("name", "joint"), [("delta", "arm1"), ("stewart", "leg3"), ("standing_quadruped", "rear_left_pitch")]
)
def test_sliders_of_drives_move_beside_a_body_that_is_free(name: str, joint: str, tab: Tab, tmp_path: Path) -> None:
    """Coordinates of a free body are a quaternion: rounding in them is no motion of that body."""
    robot = rc.robots.by_name(name)
    opened(tab, robot.to_html(tmp_path / "loop.html"))
    tab.run("recursa.sliders.node.closest('details').open = true")
    freedoms = tab.run("recursa.robot.freedoms")
    number = next(k for k, one in enumerate(freedoms) if one["name"] == joint)
    low, high, place = (freedoms[number][key] for key in ("low", "high", "coordinate"))
    start = state(tab)[0][place]
    for share in (0.1, 0.3, -0.05):
        slide(tab, number, start + share * (high - low))
        q = state(tab)[0]
        assert abs(q[place] - start - share * (high - low)) < 1e-9
        assert np.abs(robot.constraint_error(q)).max() < 1e-8
        tab.wait("!recursa.moved")


def test_a_prescribed_joint_can_be_posed_and_is_driven(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.planar(2).with_constraints(rc.Prescribed("joint1"))
    opened(tab, robot.to_html(tmp_path / "arm.html"))
    slide(tab, 0, 0.7)
    np.testing.assert_allclose(state(tab)[0], [0.7, 0.0], atol=1e-12)
    assert sorted(tab.run("[...recursa.bars.driven]")) == [0, 1]


@pytest.mark.parametrize("name", ["four_bar", "delta", "standing_quadruped"])
def test_mechanisms_fall_as_in_python(name: str, tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.by_name(name)
    opened(tab, robot.to_html(tmp_path / "loop.html"))
    q = state(tab)[0]
    tab.run("recursa.mechanics.stops.on = false")
    assert tab.run("recursa.mechanics.advance(300, 1e-3)")
    run = robot.simulate(q, duration=0.3, integrator="rk4", step=1e-3, samples=2, losses="damping")
    found, speeds = state(tab)
    np.testing.assert_allclose(robot.difference(found, run.q[-1]), 0.0, atol=1e-8)
    np.testing.assert_allclose(speeds, run.v[-1], atol=1e-7)
    assert np.abs(robot.constraint_error(found)).max() < 1e-10


def test_torques_that_hold_a_mechanism_are_those_of_its_drives(tab: Tab, tmp_path: Path) -> None:
    """Not those of the open tree: torques of the joints that are chosen hold it together with the loops."""
    robot = rc.robots.five_bar()
    q = robot.assemble([0.4, -0.2, 0.1, 0.0], fixed=["left_joint"])
    opened(tab, robot.to_html(tmp_path / "five.html", q))
    tab.run("recursa.bars.node.closest('details').open = true; recursa.moved = true")
    tab.wait("!recursa.moved")
    shown = "[...document.querySelectorAll('.bar b')].map(x => x.textContent)"
    torques = np.array(
        tab.run("""(() => { const { mechanics } = recursa, gravity = recursa.kernels.gravity(mechanics.q);
                   return Array.from(mechanics.loops.balanced(mechanics.q, gravity, [0, 2]).tau); })()""")
    )
    rest = np.zeros(4)
    wanted = robot.actuator_torques(q, rest, rest, actuated=["left_joint", "right_joint"]).tau
    np.testing.assert_allclose(torques, wanted, atol=1e-9)
    np.testing.assert_allclose(robot.forward_dynamics(q, rest, torques), 0.0, atol=1e-8)
    assert tab.run(shown)[2:] == ["–", "–"]
    tab.run("for (const k of [1, 2]) document.querySelectorAll('.bar input')[k].click()")
    tab.wait("!recursa.moved")
    texts = tab.run(shown)
    assert [texts[1], texts[3]] == ["–", "–"]
    np.testing.assert_allclose([float(texts[k].split()[0]) for k in (0, 2)], wanted[[0, 2]], rtol=1e-2)
    tab.run("document.querySelectorAll('.bar input')[0].click()")
    tab.wait("!recursa.moved")
    assert "cannot hold" in tab.run("recursa.bars.said.textContent")
    assert tab.run(shown) == ["–"] * 4


def test_a_page_begins_with_closed_loops_or_says_that_it_cannot(tmp_path: Path) -> None:
    robot = rc.robots.four_bar()
    with pytest.raises(rc.StateError, match=r"does not close the loops .* robot\.assemble\(q\)"):
        robot.to_html(tmp_path / "x.html", [0.3, 0.0, 0.0])


# ---- what is seen ----------------------------------------------------------------------------------------------------

PLACES = "(() => {{ const {{ min, max }} = recursa.stage.seen({}).box; return [min.x, min.y, max.x, max.y]; }})()"
WITHIN = PLACES.format("recursa.figure.outline()")


@pytest.mark.parametrize("width", [390, 1400])
def test_everything_is_in_the_picture_and_a_run_stays_in_it(width: int, tab: Tab, tmp_path: Path) -> None:
    """The demo's run of the Stanford arm, whose hand slides out by three metres."""
    robot = rc.robots.stanford()
    run = robot.simulate([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0], duration=1.0)
    opened(tab, run.to_html(tmp_path / "run.html"), width=width, height=844)
    before = tab.run("recursa.stage.camera.position.toArray()")
    for t in np.linspace(0.0, 1.0, 9):
        tab.run(f"recursa.playback.seek({t})")
        tab.wait("!recursa.moved")
        assert np.abs(tab.run(WITHIN)).max() < 0.97
    assert tab.run("recursa.stage.camera.position.toArray()") == before
    tab.run("recursa.stage.camera.position.multiplyScalar(3); recursa.fit()")
    np.testing.assert_allclose(tab.run("recursa.stage.camera.position.toArray()"), before, atol=1e-9)
    seen = np.array(tab.run(PLACES.format("recursa.outline()")))
    assert 0.8 < np.abs(seen).max() < 0.9  # as near as that allows


def test_what_a_slider_moves_stays_in_the_picture(tab: Tab, tmp_path: Path) -> None:
    opened(tab, rc.robots.planar(3).to_html(tmp_path / "arm.html", [1.5, 0.0, 0.0]))
    slide(tab, 0, 3.0)
    tab.wait("!recursa.moved")
    assert np.abs(tab.run(WITHIN)).max() < 1.0


def test_what_is_simulated_stays_in_the_picture(tab: Tab, tmp_path: Path) -> None:
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    opened(tab, robot.to_html(tmp_path / "robot.html"))
    tab.run("recursa.letGo(true)")
    tab.wait("recursa.mechanics.t > 1.0")
    assert np.abs(tab.run(WITHIN)).max() < 1.0
    assert "touches the ground" in " ".join(tab.run("recursa.data.notes"))
    # whoever has come near to look at a detail is left there
    tab.run("recursa.restart(); recursa.fit(); recursa.canvas.focus()")
    for _ in range(12):
        tab.run("recursa.canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))")
    camera = tab.run("recursa.stage.camera.position.toArray()")
    tab.run("recursa.letGo(true)")
    tab.wait("recursa.mechanics.t > 0.2")
    assert tab.run("recursa.stage.camera.position.toArray()") == camera


def test_space_works_after_a_slider_was_touched(tab: Tab, tmp_path: Path) -> None:
    opened(tab, rc.robots.planar(2).to_html(tmp_path / "arm.html"))
    slide(tab, 0, 0.3)
    assert tab.run("document.activeElement.type") == "range"
    press(tab, " ", "Space")
    assert tab.run("recursa.simulating")
    tab.wait("recursa.mechanics.t > 0.1 && +document.querySelector('.sliders input').value < 0.2")  # sliders follow
    press(tab, " ", "Space")
    assert not tab.run("recursa.simulating")


def test_a_click_gives_the_keys_back(tab: Tab, tmp_path: Path) -> None:
    opened(tab, rc.robots.planar(2).to_html(tmp_path / "arm.html"))
    x, y = tab.run("(b => [b.x + 5, b.y + 5])(document.querySelector('header button').getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    press(tab, " ", "Space")
    assert tab.run("recursa.simulating")


def test_there_is_one_clock(tab: Tab, tmp_path: Path) -> None:
    run = rc.robots.planar(2).simulate([0.1, 0.2], duration=0.5)
    opened(tab, run.to_html(tmp_path / "run.html"))
    tab.run("recursa.playback.seek(0.2, true)")
    tab.wait("!recursa.moved")
    assert tab.run("recursa.playback.clock.textContent") == "0.200 s"
    tab.run("recursa.letGo(true)")
    tab.wait("recursa.mechanics.t > 0.3")
    tab.run("recursa.stop(); recursa.refresh()")
    clock = float(tab.run("recursa.playback.clock.textContent").split()[0])
    assert abs(clock - tab.run("recursa.mechanics.t")) < 1e-3
    assert not tab.run("recursa.said.textContent").startswith("t ")


def test_the_balance_of_energy_is_of_the_energy_that_there_is(tab: Tab, tmp_path: Path) -> None:
    """At rest, held by its torques, nothing is exchanged; what rounding leaves is not compared with nothing."""
    robot = rc.robots.panda_like()
    opened(tab, robot.to_html(tmp_path / "arm.html", {"joint2": 0.4, "joint4": -1.8, "joint6": 1.6}))
    tab.run("recursa.mechanics.hold(true)")
    assert tab.run("recursa.mechanics.advance(50, 1e-3)")
    assert tab.run("recursa.mechanics.energyDrift()") < 1e-12
    tab.run("recursa.refresh()")
    lifted = robot.mass * 9.81 * tab.run("recursa.robot.size")
    assert f"of {lifted:.3g}\u00a0J" in tab.run("recursa.said.textContent")


def test_rounding_is_not_shown_as_energy(tab: Tab, tmp_path: Path) -> None:
    """A symmetric gripper has no energy, and none comes up when it is let go."""
    opened(tab, rc.robots.gripper().to_html(tmp_path / "gripper.html"))
    slide(tab, 1, 0.5)
    tab.run("recursa.mechanics.advance(50, 1e-3); recursa.refresh()")
    said = tab.run("recursa.said.textContent")
    assert "energy 0 J · balanced to 1e-15 of " in said, said


# ---- names and curves ------------------------------------------------------------------------------------------------


def long_names(count: int) -> rc.Robot:
    """A chain of planar links whose joints have names that differ at their ends."""
    text = rc.robots.planar(count).to_urdf()
    for k in range(count, 0, -1):
        text = text.replace(f'"joint{k}"', f'"upper_left_manipulator_finger_segment_joint_{k}"')
    return rc.load(text)


@pytest.mark.parametrize("width", [390, 1400])
def test_names_of_joints_are_whole(width: int, tab: Tab, tmp_path: Path) -> None:
    robot = long_names(3)
    run = robot.simulate([0.1, 0.2, 0.3], [1.0, 0.0, 0.0], duration=0.3)
    opened(tab, run.to_html(tmp_path / "run.html"), width=width, height=844)
    tab.run("for (const one of document.querySelectorAll('details')) one.open = true; recursa.moved = true")
    tab.wait("!recursa.moved")
    cut = """[...document.querySelectorAll('.name')].filter(x => {
      for (let one = x; one && one.id !== 'panel'; one = one.parentElement) {
        if (getComputedStyle(one).overflowX === 'hidden' && one.scrollWidth > one.clientWidth) return true;
      }
      return false; }).map(x => x.textContent)"""
    assert tab.run(cut) == []
    for place in (".slider", ".bar", ".legend"):
        names = tab.run(f"[...document.querySelectorAll('{place} .name')].map(x => x.textContent)")
        assert set(robot.joint_names) <= set(names)
    assert tab.run("recursa.panel.scrollWidth <= recursa.panel.clientWidth")


def test_curves_of_thirty_joints_can_be_chosen(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.chain(30, seed=3)
    run = robot.simulate(0.1 * np.ones(30), duration=0.05, samples=20)
    opened(tab, run.to_html(tmp_path / "run.html"), width=1400, height=900)
    plot = "recursa.plots[0]"
    shown = tab.run(f"[...{plot}.styles.keys()]")
    assert len(shown) == 8
    change = np.ptp(run.q, axis=0)
    assert set(shown) == set(np.argsort(change)[-8:].tolist())
    colours = tab.run(f"{plot}.rows.filter((_, k) => {plot}.styles.has(k)).map(x => x.dot.style.background)")
    assert len(set(colours)) == 8
    hidden = next(k for k in range(30) if k not in shown)
    before = tab.run(f"{plot}.range")
    tab.run(f"{plot}.rows[{hidden}].row.click()")
    assert tab.run(f"{plot}.styles.has({hidden}) && recursa.plots[1].styles.has({hidden})")  # and its speed
    for name, count in (("none", 0), ("all", 30), ("most", 8)):
        tab.run(f"[...{plot}.node.querySelectorAll('.picks button')].find(x => x.textContent === '{name}').click()")
        assert tab.run(f"{plot}.styles.size") == count
    assert tab.run(f"{plot}.range") == before
    tab.run(f"{plot}.choose({plot}.panel.columns.keys())")
    styles = tab.run(f"{plot}.panel.columns.map((_, k) => {plot}.colour(k) + {plot}.dashes(k))")
    assert len(set(styles)) == 30
    assert tab.errors == []


def test_of_many_curves_the_limits_that_are_reached_are_drawn(tab: Tab, tmp_path: Path) -> None:
    robot = rc.robots.panda_like()
    run = robot.simulate({"joint2": 0.5, "joint4": -1.2, "joint6": 1.0}, duration=1.0, stops=True)
    opened(tab, run.to_html(tmp_path / "run.html"))
    plot = "recursa.plots[0]"
    low, high = robot.position_limits
    reached = [[run.q[:, k].min() < low[k], run.q[:, k].max() > high[k]] for k in range(7)]
    assert any(map(any, reached))
    assert not all(map(any, reached))
    limits = f"{plot}.panel.columns.map((_, k) => {plot}.limitsOf(k))"
    for drawn, sides, ends in zip(tab.run(limits), reached, zip(low, high, strict=True), strict=True):
        assert {x for x, side in zip(ends, sides, strict=True) if side} <= set(drawn)
    assert sum(map(len, tab.run(limits))) < 7
    tab.run(f"{plot}.mark(2)")
    assert tab.run(f"{plot}.limitsOf(2)") == [low[2], high[2]]
    tab.run(f"{plot}.choose([0, 1, 2, 3])")
    assert tab.run(f"{plot}.limitsOf(1)") == [low[1], high[1]]


@pytest.mark.parametrize(("low", "high"), [(-45.0, 45.0), (0.0, 1.0), (-0.7, 2.3), (3.0, 3.2), (0.0, 35.0)])
def test_an_axis_has_two_to_six_numbers(low: float, high: float, tab: Tab, tmp_path: Path) -> None:
    run = rc.robots.planar(2).simulate([0.1, 0.2], duration=0.1)
    opened(tab, run.to_html(tmp_path / "run.html"))
    shown = tab.run(f"""(() => {{
      const plot = recursa.plots[0], found = [], c = plot.canvas.getContext('2d'), own = c.fillText;
      plot.range = [{low}, {high}];
      c.fillText = (text, x) => x < 46 && found.push(+text);
      plot.draw(0);
      c.fillText = own;
      return found; }})()""")
    assert 2 <= len(shown) <= 6
    np.testing.assert_allclose(np.diff(shown), shown[1] - shown[0])


def test_an_arm_that_hangs_does_not_reach_the_ground(tab: Tab, tmp_path: Path) -> None:
    """The arm of the documentation's first page, let go from many poses."""
    robot = rc.robots.panda_like().with_gravity((0, 0, 9.81))
    opened(tab, robot.to_html(tmp_path / "arm.html", {"joint2": 0.4, "joint4": -1.8, "joint6": 1.6}))
    floor = tab.run("recursa.robot.floor")
    low, high = robot.position_limits
    for q in [np.zeros(7), *np.random.default_rng(2).uniform(low, high, (20, 7))]:
        tab.run(f"recursa.show({q.tolist()})")
        lowest = tab.run(
            "Math.min(...recursa.figure.outline(recursa.kernels.poses(recursa.mechanics.q)).map(p => -p.z))"
        )
        assert lowest > floor
    assert floor > -1.4  # it hangs 1.2 m down


@pytest.mark.parametrize("name", ["planar", "five_bar", "slider_crank"])
def test_what_swings_about_a_pivot_does_not_pass_the_ground(name: str, tab: Tab, tmp_path: Path) -> None:
    opened(tab, rc.robots.by_name(name).to_html(tmp_path / "page.html"))
    lowest = tab.run("""(() => { let lowest = Infinity; const { mechanics, kernels, figure, stage } = recursa;
      for (let picture = 0; picture < 100 && mechanics.advance(20, 1e-3); picture++)
        lowest = Math.min(lowest, ...figure.outline(kernels.poses(mechanics.q)).map(p => p.dot(stage.up)));
      return lowest; })()""")
    assert lowest < -0.05
    assert lowest > tab.run("recursa.robot.floor")


def test_meshes_that_were_not_found_are_named(tab: Tab, tmp_path: Path) -> None:
    text = with_mesh("package://somewhere/parts/upper.stl")
    opened(tab, rc.load(text).to_html(tmp_path / "arm.html"))
    assert tab.run("document.querySelector('.missing').textContent") == "bodypackage://somewhere/parts/upper.stl"
    assert "Meshes that are not shown (1)" in tab.run("recursa.panel.textContent")
    assert "1 of 1 meshes were not found: load the robot with assets=" in tab.run("recursa.panel.textContent")


def test_meshes_that_cannot_be_read_are_named(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "part.stl").write_bytes(b"solid nothing\nendsolid")
    robot = rc.load(with_mesh(f"package://{tmp_path.name}/part.stl"), assets=[tmp_path])
    with pytest.warns(rc.ModelWarning, match=r"part\.stl"):
        opened(tab, robot.to_html(tmp_path / "arm.html"))
    assert tab.run("document.querySelector('.missing').textContent").endswith("part.stl: cannot be read")
