"""Logs with gaps, holes, wrong names and units, and motions that excite too little: a clear error each."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from identified import log, motion, vaguely, with_friction
from recursa.identification.consistent import sound
from recursa.identification.log_filters import without_spikes
from recursa.identification.logs import logs_of

ARM = rc.robots.planar(2).with_joint("joint1", limits=(-3, 3)).with_joint("joint2", limits=(-3, 3))


@pytest.fixture
def good() -> dict[str, np.ndarray]:
    return log(with_friction(ARM), 1, rate=100.0)


def refused(measured, words: str, kind: type[Exception] = rc.StateError, **options) -> rc.RecursaError:
    with pytest.raises(kind, match=words) as caught:
        rc.identify(ARM, measured, **options)
    assert isinstance(caught.value, rc.RecursaError)
    return caught.value


def test_a_gap_is_named_with_its_time(good):
    kept = np.r_[0:300, 400:1000]
    refused({name: x[kept] for name, x in good.items()}, r"gap of 1.01 s after t = 2.99 s.*two logs")


def test_holes_are_named_by_row_and_joint(good):
    good["tau"][17, 1] = np.nan
    refused(good, r"tau contains nan \(row 17, 'joint2'\)")
    good["tau"][17, 1] = 0.0
    good["q"][3, 0] = np.inf
    refused(good, r"q contains inf \(row 3, 'joint1'\)")


def test_time_has_to_increase(good):
    good["t"][5] = good["t"][4]
    refused(good, r"times must increase: times\[5\]")


def test_shapes_have_to_fit(good):
    refused({**good, "tau": good["tau"][:, :1]}, "tau", rc.ShapeError)
    refused({**good, "t": good["t"][:-1]}, "999 times for 1000 samples", rc.ShapeError)
    refused({name: x[:10] for name, x in good.items()}, "10 samples; at least 20")


def test_degrees_are_recognised(good):
    refused({**good, "q": np.degrees(good["q"])}, "'joint1' goes from .* They look like degrees; give rad")
    t, q, v, a = motion(ARM, 1)
    told = {"t": t, "q": q, "tau": ARM.inverse_dynamics(q, v, a)}
    refused({**told, "v": np.degrees(v)}, "the speeds of 'joint1' do not add up .* 57.3 times .* degrees per second")
    refused({**told, "v": v[:, ::-1]}, "do not add up")
    assert rc.identify(ARM, {**told, "v": v}, unexcited="prior").score is not None


def test_millimetres_are_recognised():
    arm = rc.robots.stanford().with_joint("joint3", limits=(0.1, 0.9))
    measured = log(arm, 1, rate=50.0)
    measured["q"] *= np.where(np.array(arm.q_units) == "m", 1000.0, 1.0)
    with pytest.raises(rc.StateError, match="look like millimetres; give m"):
        logs_of(arm, measured)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: {k: v for k, v in x.items() if k != "tau"}, "has no 'tau'; it needs t, q and tau"),
        (lambda x: {**x, "torque": x["tau"]}, "entry of a log 'torque'"),
        (lambda x: {**x, "current": x["tau"]}, "has both tau and current"),
        (lambda x: [], "there is no log"),
        (lambda x: 3.0, "must be a mapping of arrays"),
        (
            lambda x: [x, {"t": x["t"], "q": x["q"], "current": x["tau"]}],
            "some logs have torques and some have currents",
        ),
    ],
)
def test_what_is_no_log_is_refused(good, change, words):
    refused(change(good), words, rc.RecursaError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "best"}, "method of identification 'best'"),
        ({"unexcited": "maybe"}, "way with what is not excited 'maybe'"),
        ({"fit": ("mass",)}, "no term 'mass'"),
        ({"fit": "inertia"}, "fit must be a tuple"),
        ({"prior": 0.0}, "prior must be a positive number"),
        ({"holdout": 1.0}, "holdout must be a share"),
        ({"cutoff": 80.0}, "it must lie between 0 and 50"),
        ({"cutoff": "low"}, "must be a frequency"),
        ({"payload_at": "hand"}, "no link 'hand'"),
        ({"torque_constants": 1.0}, "torque constants belong to currents"),
        ({"fit": ("torque constant",)}, "torque constants belong to currents"),
    ],
)
def test_options_that_mean_nothing_are_refused(good, options, words):
    refused(good, words, rc.RecursaError, **options)


def test_currents_need_constants_or_a_known_load(good):
    currents = {"t": good["t"], "q": good["q"], "current": good["tau"]}
    refused(currents, "give torque_constants= in N m/A")
    refused(currents, "currents alone do not tell torque constants.*known mass", fit=("inertia", "torque constant"))
    refused(currents, "torque_constants has shape", rc.ShapeError, torque_constants=[1.0, 2.0, 3.0])
    refused(currents, "torque_constants must be positive", torque_constants=[1.0, -2.0])


def test_too_little_excitation_names_what_cannot_be_told_apart():
    true = with_friction(ARM)
    t = np.arange(1000) / 100.0
    q = np.column_stack([np.sin(2 * t), np.zeros_like(t)])
    v, a = np.column_stack([2 * np.cos(2 * t), 0 * t]), np.column_stack([-4 * np.sin(2 * t), 0 * t])
    still = {"t": t, "q": q, "tau": true.inverse_dynamics(q, v, a, losses=True)}
    error = refused(still, "Joints that stand still: joint2", rc.ExcitationError)
    assert {"joint2.viscous", "joint2.coulomb", "joint2.armature"} <= set(error.names)
    assert "rc.excitation" in str(error)
    found = rc.identify(vaguely(ARM), still, unexcited="prior")
    assert found.score.unknown
    assert found.held_out.after[0] < 0.02 * found.held_out.measured[0]
    assert "not told apart" in str(found)


def test_a_log_too_short_for_its_cutoff_is_refused(good):
    refused({name: x[:200] for name, x in good.items()}, "too short for a cutoff", cutoff=0.5)


def test_a_part_too_short_to_be_held_out_is_left_out(good):
    found = rc.identify(ARM, {name: x[:500] for name, x in good.items()}, cutoff=4.0, holdout=0.1, unexcited="prior")
    assert found.held_out is None
    assert "held out" not in str(found)
    assert found.plot() is not None


def test_robots_without_masses_are_refused(good):
    bare = ARM.with_parameters(np.zeros(20))
    with pytest.raises(rc.StateError, match="has no masses to start from"):
        rc.identify(bare, good)


def test_runs_with_a_moved_base_are_refused():
    robot = rc.robots.planar(2)

    def lifted(t):
        return [0.0, 0.0, 0.1 * t, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.1], np.zeros(6)

    run = robot.simulate([0.1, 0.2], duration=0.2, samples=41, base=lifted)
    with pytest.raises(rc.StateError, match="its base was moved"):
        rc.identify(robot, run)


def test_flat_bodies_get_some_thickness_and_others_stay():
    rod = np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1 / 3, 0.0, 0.0, 1 / 3])
    thick = sound(rod, 0.5)
    assert thick[:4] == pytest.approx(rod[:4])
    assert thick[4] > 0.0
    solid = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
    assert sound(solid, 0.5) is solid


# ---- CSV files -------------------------------------------------------------------------------------------------------


def written(
    folder: Path, measured: dict[str, np.ndarray], names: str = "t,joint1,joint2,joint1:tau,joint2:tau"
) -> Path:
    file = folder / "log.csv"
    table = np.column_stack([measured["t"], measured["q"], measured["tau"]])
    np.savetxt(file, table, delimiter=",", header=names, comments="", fmt="%.17g")
    return file


def test_a_csv_file_is_the_log_it_was_written_from(good, tmp_path):
    by_file, by_array = (rc.identify(ARM, x) for x in (written(tmp_path, good), good))
    assert np.array_equal(by_file.parameters, by_array.parameters)
    two = rc.identify(ARM, [written(tmp_path, good), good])
    assert two.rows == 2 * by_file.rows


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("time,joint1,joint2,joint1:tau,joint2:tau", "no column 't' for the time"),
        ("t,joint1,jiont2,joint1:tau,joint2:tau", "lacks columns for coordinates .* joint2. Did you mean"),
        ("t,joint1,joint2,joint1:tau,joint2_tau", "lacks columns for torques .* joint2:tau. Did you mean 'joint2_tau'"),
        ("t,joint1,joint2,joint1:tau,joint3:tau", "column 'joint3:tau': belongs to no joint"),
    ],
)
def test_wrong_columns_are_named(good, tmp_path, names, words):
    refused(written(tmp_path, good, names), words, rc.TableError)


def test_other_columns_are_left_alone_and_holes_named_by_line(good, tmp_path):
    file = written(tmp_path, good)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0] + ",temperature", *(line + ",35" for line in lines[1:])]))
    assert rc.identify(ARM, file).rows > 10
    lines[4] = re.sub(r",[^,]*$", ",nan", lines[4])
    file.write_text("\n".join(lines))
    refused(file, "line 5, column 'joint2:tau'.*not a finite number", rc.TableError)
    refused(tmp_path / "none.csv", "cannot be read", rc.TableError)


def test_frames_of_pandas_are_logs():
    pandas = pytest.importorskip("pandas")
    run = with_friction(ARM).simulate([0.5, 1.0], duration=2.0, samples=201)
    frame = run.to_pandas()
    by_frame, by_run = (rc.identify(ARM, x, unexcited="prior") for x in (frame, run))
    assert np.allclose(by_frame.parameters, by_run.parameters)
    frame.iloc[3, 0] = np.nan
    refused(frame, r"contains nan \(row 3, 'joint1'\)")
    refused(pandas.DataFrame({"t": ["now"], "joint1": ["here"]}), "not all numbers")


def test_floating_bases_need_no_torques_in_a_file(tmp_path):
    robot = rc.robots.free_flyer(1)
    run = robot.simulate(robot.random_state(1)[0], robot.random_state(1)[1], duration=1.0, samples=101)
    run.save(tmp_path / "run.csv")
    text = (tmp_path / "run.csv").read_text().splitlines()
    start = next(k for k, line in enumerate(text) if line.startswith("t,"))
    keep = [k for k, name in enumerate(text[start].split(",")) if not re.match(r"root.*:tau", name)]
    (tmp_path / "run.csv").write_text("\n".join(",".join(line.split(",")[k] for k in keep) for line in text[start:]))
    found = logs_of(robot, tmp_path / "run.csv")[0]
    assert not found.tau[:, :6].any()
    assert found.v is not None


# ---- numbers that no fit survives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e60, 1e150, 1e306])
@pytest.mark.parametrize("name", ["q", "tau"])
def test_numbers_whose_squares_overflow_are_named_by_joint(good, name: str, factor: float) -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.StateError, match=f"the log: {name} of 'joint[12]' reaches .*unit"):
        rc.identify(robot, {key: good[key] * (factor if key == name else 1.0) for key in ("t", "q", "tau")})


@pytest.mark.parametrize("prior", [1e-200, 1e200])
def test_a_prior_that_no_number_can_be_weighed_with_is_refused(good, prior: float) -> None:
    refused(good, "prior must be a positive number, from 1e-12 to 1e\\+12", prior=prior)


@pytest.mark.parametrize("payload", [{"mass": 1.0}, {"link": "tip"}, {"link": "tip", "mass": 1.0, "weight": 2}, "tip"])
def test_a_payload_that_says_too_little_or_too_much_is_refused(good, payload) -> None:
    refused({**good, "payload": payload}, "payload of the log must be a mapping with 'link' and 'mass'")


def test_singular_equations_are_an_error_of_ours(good, monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "inv", singular)
    refused(good, "equations .* are singular .Singular matrix.", rc.ExcitationError)


@pytest.mark.parametrize("rate", [100, 200, 500])
def test_only_samples_that_stick_out_are_replaced(rate) -> None:
    """On steep slopes and at sharp peaks, which coarse logs have, noise is no spike."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 20.0, 1.0 / rate)
    torques = np.column_stack([np.sin(9.0 * t) ** 7 + np.sin(4.0 * t), np.cos(13.0 * t) * np.sin(3.0 * t) ** 3])
    measured = torques + 0.01 * rng.normal(size=torques.shape)
    assert without_spikes(measured)[1] == 0
    at = rng.choice(np.arange(5, len(t) - 5, 10), 20, replace=False)
    measured[at, 0] += 3.0 * rng.choice([-1.0, 1.0], 20)
    smooth, count = without_spikes(measured)
    assert 20 <= count <= 23  # next to a spike a slope sticks out, too
    assert (smooth != measured)[at, 0].all()
    assert np.median(np.abs(smooth - torques)[at, 0]) < 0.1


@pytest.mark.interpreted(reason="statistics of the fit, not of how its rows are computed")
def test_noise_of_coarse_logs_is_not_taken_for_spikes() -> None:
    """100 samples a second of a fast motion: viscous and dry friction were off by one standard deviation on average."""
    robot = rc.robots.planar(2)
    for name in robot.joint_names:
        robot = robot.with_joint(name, damping=0.3, friction=0.2)
    t = np.arange(0.0, 20.0, 0.01)
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        paces = 2.0 * np.pi * 0.2 * np.arange(1, 6)[:, None, None]
        sines, cosines = rng.normal(size=(2, 5, 2))[:, :, None] * 0.4
        angle = paces * t[:, None]
        q = (sines * np.sin(angle) + cosines * np.cos(angle)).sum(axis=0)
        v = (paces * (sines * np.cos(angle) - cosines * np.sin(angle))).sum(axis=0)
        a = -(paces**2 * (sines * np.sin(angle) + cosines * np.cos(angle))).sum(axis=0)
        tau = robot.inverse_dynamics(q, v, a, losses=True)
        tau = tau + 0.01 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
        found = rc.identify(robot, {"t": t, "q": q, "tau": tau}, method="base", holdout=0.0)
        assert not any("stuck out" in note for note in found.notes)
        errors += [(found.joints["viscous"][x] - 0.3) / found.deviations["viscous"][x] for x in robot.joint_names]
    assert abs(np.mean(errors)) < 0.6
