"""What tells studies apart: functions, controllers, ways of writing; and rows that are replayed as they were."""

import numpy as np
import pytest

import recursa as rc

STEP = {"step": 1e-3, "steps": 50}


def scaled(gain):
    return lambda block: {"x": gain * block["q0"][:, 0]}


def hold(arm, stiffness=50.0):
    return rc.control.GravityPD(arm, [0.0, 0.5], stiffness=stiffness, damping=5.0)


def test_functions_that_differ_in_what_they_enclose_are_other_studies():
    arm = rc.robots.planar(2)
    one, same, other = (rc.study(arm, {"q0": "uniform"}, scaled(k), samples=4) for k in (1.0, 1.0, 2.0))
    assert one == same and one != other


def test_controllers_are_told_apart_by_their_gains(tmp_path):
    arm = rc.robots.planar(2)
    said = {"vary": {"q0": "uniform"}, "samples": 4, "keep": ["final_q"], **STEP}
    one, same, other = (rc.study(arm, torque=hold(arm, k), **said) for k in (50.0, 50.0, 80.0))
    assert one == same and one != other
    one.run(tmp_path / "out.zarr")
    with pytest.raises(rc.StudyError, match="other options"):
        other.run(tmp_path / "out.zarr")


def test_gains_are_varied():
    arm = rc.robots.planar(2)
    vary = {"gain.stiffness": ("grid", [50.0, 80.0]), "q0": [0.3, -0.4]}
    found = rc.study(arm, vary, torque=hold(arm), keep=["final_q"], **STEP).run()["final_q"]
    expected = [
        rc.rollout(arm, [0.3, -0.4], [0.0, 0.0], hold(arm, k), save_every=50, **STEP)[0][-1] for k in (50.0, 80.0)
    ]
    assert np.array_equal(found, expected)
    runs = rc.study(arm, vary, "simulate", torque=hold(arm), duration=0.05, keep=["q"], integrator="rk4").run()["q"][
        :, -1
    ]
    assert runs == pytest.approx(np.array(expected), abs=1e-9)
    with pytest.raises(rc.UnknownNameError, match=r"gain\.stiffness"):
        rc.study(arm, {"gain.stifness": 3.0}, torque=hold(arm), **STEP)


def test_a_replay_is_driven_as_its_row_was(tmp_path):
    arm = rc.robots.planar(2)
    result = rc.study(arm, {"q0": "uniform"}, torque=hold(arm), samples=4, keep=["final_q"], **STEP).run(
        tmp_path / "out.zarr"
    )
    assert result.replay(3).q[-1] == pytest.approx(result["final_q"][3], abs=1e-13)
    kept = rc.read(tmp_path / "out.zarr")
    with pytest.raises(rc.StudyError, match="torque= of this study is not kept"):
        kept.replay(3)
    assert kept.replay(3, torque=hold(arm)).q[-1] == pytest.approx(result["final_q"][3], abs=1e-13)


def test_events_without_names_and_by_name_are_found(tmp_path):
    arm = rc.robots.planar(2)

    def over(t, q, v):
        return t - 0.05

    said = {"vary": {"v0": [1.0, 0.0]}, "compute": "simulate", "duration": 0.1}
    run = arm.simulate([0.0, 0.0], [1.0, 0.0], duration=0.1, events=[over], progress=False)
    one = rc.study(arm, events=[over], **said).run(tmp_path / "out.zarr")
    assert one["event.event1"] == pytest.approx([run.events[0].t])
    assert rc.study(arm, events={"over": over}, **said).run()["event.over"] == pytest.approx([run.events[0].t])
    assert rc.read(tmp_path / "out.zarr")["event.event1"] == pytest.approx([run.events[0].t])


def test_a_normal_distribution_cut_off_far_from_its_middle():
    arm = rc.robots.planar(2)
    for low, high in ((9.0, 10.0), (-10.0, -9.0)):
        drawn = rc.study(arm, {"q": ("normal", 0.0, 1.0, low, high)}, "mass_matrix", samples=500).values(range(500))[
            "q"
        ]
        assert np.abs(drawn).mean() == pytest.approx(9.0 + 1.0 / 9.2, abs=0.03)  # the tail falls off like exp(-9 x)
        assert len(np.unique(drawn)) == drawn.size


def test_stores_go_on_as_they_were_begun(tmp_path):
    arm, place = rc.robots.planar(2), tmp_path / "out.zarr"
    study = rc.study(arm, {"q": "uniform"}, "mass_matrix", samples=20)
    whole = study.run(place, block=10, keep_bits=10)["mass_matrix"]
    (place / ".recursa" / "blocks" / "00000001.npz").unlink()
    with pytest.raises(rc.StudyError, match="begun with keep_bits=10"):
        study.run(place, keep_bits=20)
    assert np.array_equal(study.run(place)["mass_matrix"], whole)


@pytest.mark.parametrize("ending", ["zarr", "parquet"])
def test_rows_that_are_not_there_yet_are_no_zeros(tmp_path, ending):
    arm, place = rc.robots.planar(2), tmp_path / f"out.{ending}"
    study = rc.study(arm, {"q": "uniform"}, "mass_matrix", samples=20)

    def broken(block):
        if block.rows.start:
            raise RuntimeError("no more")
        return {"x": block["q0"]}

    whole = study.run(place, block=10).to_pandas()
    (place / ".recursa" / "blocks" / "00000000.npz").unlink()
    found = rc.read(place)
    assert found.rows == 10
    frame = found.to_pandas()
    assert (frame.loc[10:] == whole.loc[10:]).all(axis=None)
    failing = rc.study(arm, {"q0": "uniform"}, broken, samples=100)
    with pytest.raises(RuntimeError, match="no more"):
        failing.run(tmp_path / f"half.{ending}", block=64, workers=1)
    half = rc.read(tmp_path / f"half.{ending}").to_pandas()
    assert half["x[0]"].notna().sum() == 64


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_blocks_of_nothing_but_zeros_or_nan(tmp_path, value):
    study = rc.study(rc.robots.planar(2), {"q0": 0.0}, "rollout", 20, measure={"x": Constant(value)}, **STEP)
    whole = study.run(tmp_path / "out.zarr", block=10)
    assert np.array_equal(whole["x"], np.full(20, value), equal_nan=True)
    assert rc.read(tmp_path / "out.zarr").rows == 20
    study.run(tmp_path / "out.zarr")


class Constant:
    def __init__(self, value):
        self.value = value

    def __call__(self, block, outputs):
        return np.full(len(block.rows), self.value)


def test_what_is_too_large_for_the_memory_is_refused():
    study = rc.study(rc.robots.planar(2), {"q": "uniform"}, "mass_matrix", samples=10**12)
    with pytest.raises(rc.StudyError, match="do not fit into the memory"):
        study.run()


def test_names_that_no_file_can_have_are_refused():
    study = rc.study(rc.robots.planar(2), {"q0": "uniform"}, lambda block: {"../x": block["q0"]}, samples=3)
    with pytest.raises(rc.StudyError, match="without / or"):
        study.run()


def test_options_that_simulations_do_not_have():
    with pytest.raises(rc.UnknownNameError, match="no option of simulate"):
        rc.study(rc.robots.planar(2), {}, "simulate", duration=0.1, sampels=3)
    with pytest.raises(rc.UnknownNameError, match="no computation"):
        rc.study(rc.robots.planar(2), {}, ["mass_matrix"])


def test_what_fails_in_a_function_on_dask_is_told_as_it_is():
    pytest.importorskip("distributed")

    def broken(block):
        raise RuntimeError("no sensor")

    with pytest.raises(RuntimeError, match="no sensor"):
        rc.study(
            rc.robots.planar(2),
            {"q0": "uniform"},
            lambda block: broken(block) if block.rows.start else {"x": block["q0"]},
            samples=100,
        ).run(engine="dask", workers=1, block=64)


def test_quantiles_count_as_a_plain_count_does():
    from collections import Counter

    from recursa.studies.reductions import _BUCKETS, Quantiles, _bucket

    rows = np.random.default_rng(0).normal(size=(2000, 3))
    rows[::7], rows[3::11], rows[4::11], rows[5::17] = np.nan, -1e308, 0.0, 1e-310
    rows[6::17], rows[8::19] = np.inf, 1.79e308
    known, columns = np.isfinite(rows), np.broadcast_to(np.arange(3), rows.shape)
    plain = Counter(zip(columns[known].tolist(), _bucket(rows[known]).tolist(), strict=True))
    way = Quantiles((0.5,))
    for found in (way.part(rows, 0), way.join(way.part(rows[900:], 900), way.part(rows[:900], 0))):
        columns, buckets = np.divmod(found["keys"], _BUCKETS)
        keys = list(zip(columns.tolist(), (buckets - _BUCKETS // 2).tolist(), strict=True))
        assert keys == sorted(plain) and found["count"].tolist() == [plain[key] for key in keys]
