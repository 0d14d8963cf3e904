"""Studies: rows depend on nothing but their number, results on nothing but the rows, and stores hold."""

import json
import os
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import recursa as rc
from recursa.studies.reductions import reduction
from recursa.studies.sampling import PIECE, SEQUENCE
from recursa.studies.study import study_from_data
from study_results import equal

pytest.importorskip("zarr")
fcntl = pytest.importorskip("fcntl")

ROBOTS = {
    "arm": rc.robots.panda_like,
    "flyer": lambda: rc.robots.free_flyer(3),
    "chain13": lambda: rc.robots.chain(13, seed=2, joints="mixed"),
    "tree40": lambda: rc.robots.tree(40, seed=1),
}
KEEP = {
    "q": "full",
    "peak_speed": [
        "extrema",
        "moments",
        ("quantiles", [0.1, 0.5]),
        ("histogram", 7, 0.0, 3.0),
        ("top", 3),
        ("bottom", 2),
    ],
}


def rollouts(robot, samples=60, **more):
    vary = {"q0": "uniform", "v0": ("normal", 0.0, 0.2), "payload.mass": ("uniform", 0.0, 0.5)}
    options = {"samples": samples, "seed": 4, "step": 1e-3, "steps": 6, "save_every": 3, "keep": KEEP}
    return rc.study(robot, vary, **{**options, **more})


# ---- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["random", "latin-hypercube", "sobol"])
@pytest.mark.parametrize("name", ROBOTS)
def test_rows_do_not_depend_on_who_draws_them(name, design) -> None:
    study = rollouts(ROBOTS[name](), design=design)
    whole = study.inputs(range(study.total))
    for rows in (range(0, 1), range(17, 18), range(5, 44), range(59, 60)):
        for array, part in study.inputs(rows).items():
            assert np.array_equal(part, whole[array][rows.start : rows.stop])
    q = whole["q0"]
    assert np.allclose(study.robot.integrate(q, np.zeros((len(q), study.robot.nv))), q)  # they are states
    low, high = study.robot.position_limits
    assert (q >= np.nan_to_num(low, neginf=-np.inf) - 1e-12).all() and (q <= high + 1e-12).all()


def test_draws_have_their_distributions() -> None:
    """Moments of 20,000 draws, within four standard errors."""
    said = {"a": ("normal", 2.0, 0.5), "b": ("uniform", -1.0, 3.0), "c": ("normal", 0.0, 1.0, 0.0, np.inf)}
    study = rc.study(rc.robots.planar(1), said, lambda block: block["a"], samples=20_000, seed=8)
    values = study.values(range(study.total))
    expected = {"a": (2.0, 0.5), "b": (1.0, 4 / np.sqrt(12)), "c": (np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi))}
    for name, (mean, deviation) in expected.items():
        assert abs(values[name].mean() - mean) < 4 * deviation / np.sqrt(20_000)
        assert abs(values[name].std() - deviation) < 4 * deviation / np.sqrt(20_000)
    assert values["c"].min() >= 0.0
    other = rc.study(rc.robots.planar(1), said, lambda block: block["a"], samples=20_000, seed=9)
    assert abs(np.corrcoef(values["a"][:, 0], other.values(range(20_000))["a"][:, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(values["a"][:, 0], values["b"][:, 0])[0, 1]) < 0.03


def test_random_rotations_favour_no_direction() -> None:
    robot = rc.robots.free_flyer(1)
    q = rc.study(robot, {"q": "uniform"}, "center_of_mass", samples=20_000).inputs(range(20_000))["q"]
    turned = robot.pose(q, robot.link_names[1])[:, :3, :3]
    assert np.abs(turned.mean(axis=0)).max() < 0.02
    assert abs(np.square(turned).mean(axis=0) - 1 / 3).max() < 0.02


def numbers(samples, design, width=3, seed=5):
    """A study of plain numbers between 0 and 1."""
    vary = {"x": ("uniform", np.zeros(width), np.ones(width))}
    return rc.study(rc.robots.planar(1), vary, lambda block: block["x"], samples=samples, seed=seed, design=design)


@pytest.mark.parametrize("design", ["random", "latin-hypercube", "sobol"])
def test_rows_far_out_are_drawn_by_themselves(design) -> None:
    study = numbers(10**15, design)
    for first in (PIECE - 3, SEQUENCE - 3, 10**15 - 6):
        whole = study.values(range(first, first + 6))["x"]
        assert np.array_equal(study.values(first + 4)["x"], whole[4])
        assert len(np.unique(whole)) == whole.size
        assert whole.min() > 0.0 and whole.max() < 1.0


@pytest.mark.parametrize("total", [1, 2, 7, 64, 1000])
def test_latin_hypercubes_have_a_row_in_every_part_of_every_column(total) -> None:
    x = numbers(total, "latin-hypercube").values(range(total))["x"]
    assert (np.sort(np.floor(x * total), axis=0) == np.arange(total)[:, None]).all()
    assert total < 64 or not np.array_equal(np.argsort(x[:, 0]), np.argsort(x[:, 1]))


def test_sobol_rows_are_those_of_scipy_wherever_one_begins() -> None:
    """One sequence for all that is random, whichever variable it belongs to."""
    from scipy.stats import qmc

    from recursa.studies.sampling import generator

    vary = {"a": ("uniform", [0.0] * 4, 1.0), "b": 3.0, "c": ("uniform", 0.0, 1.0)}
    study = rc.study(rc.robots.planar(1), vary, lambda block: block["a"], samples=SEQUENCE + 10, seed=3, design="sobol")
    theirs = qmc.Sobol(5, bits=32, seed=generator(3, "sobol", 0)).random(2**17)
    for rows in (range(2**10), range(1, 2), range(7, 900), range(PIECE - 1, PIECE + 2)):
        values = study.values(rows)
        assert np.array_equal(np.hstack([values["a"], values["c"]]), theirs[rows.start : rows.stop])
    again = qmc.Sobol(5, bits=32, seed=generator(3, "sobol", 1)).random(16)
    assert np.array_equal(study.values(range(SEQUENCE, SEQUENCE + 10))["a"], again[:10, :4])


def test_sobol_rows_fill_evenly_far_out() -> None:
    """Of 2^m rows that begin at a multiple of 2^m one lies in each of 2^m equal parts."""
    first = (10**15 >> 10) << 10
    x = numbers(10**15 + 10**4, "sobol").values(range(first, first + 1024))["x"]
    assert (np.sort(np.floor(1024 * x), axis=0) == np.arange(1024)[:, None]).all()


def test_draws_of_more_samples_begin_as_those_of_less() -> None:
    for design in ("random", "sobol"):
        assert np.array_equal(numbers(70, design).values(range(70))["x"], numbers(10**6, design).values(range(70))["x"])


def test_grids_take_every_point_with_every_other() -> None:
    study = rc.study(
        rc.robots.planar(2),
        {"q.joint1": ("grid", [0.0, 0.5, 1.0]), "q.joint2": ("grid", [-1.0, 1.0])},
        "gravity_forces",
        samples=2,
    )
    assert study.total == 12
    points = {tuple(row) for row in study.inputs(range(12))["q"]}
    assert points == {(a, b) for a in (0.0, 0.5, 1.0) for b in (-1.0, 1.0)}
    found = study.run()["gravity_forces"]
    assert np.array_equal(found, study.robot.gravity_forces(study.inputs(range(12))["q"]))


def test_tables_constants_and_entries() -> None:
    robot = rc.robots.planar(3)
    table = np.arange(15.0).reshape(5, 3)
    study = rc.study(robot, {"q": table, "v": 0.25, "v.joint2": ("uniform", 1.0, 2.0)}, "bias_forces")
    inputs = study.inputs(range(5))
    assert study.total == 5 and np.array_equal(inputs["q"], table)
    assert (inputs["v"][:, [0, 2]] == 0.25).all() and ((inputs["v"][:, 1] > 1.0) & (inputs["v"][:, 1] < 2.0)).all()


def test_payload_and_scale_are_those_of_robots() -> None:
    robot = rc.robots.panda_like()
    vary = {"payload.mass": 1.5, "payload.x": 0.1, "payload.z": -0.2, "link4.scale": 1.1}
    study = rc.study(robot, {**vary, "q": "uniform"}, "mass_matrix", samples=3)
    heavier = robot.with_parameters(
        {name: 1.1 * robot.parameters[k] for k, name in enumerate(robot.parameter_names) if name.startswith("link4.")}
    )
    heavier = heavier.with_payload(robot.link_names[-1], 1.5, com=(0.1, 0.0, -0.2))
    q = study.inputs(range(3))["q"]
    assert np.allclose(study.run()["mass_matrix"], heavier.mass_matrix(q), rtol=1e-13, atol=1e-13)


# ---- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_results_do_not_depend_on_blocks_and_workers(name, tmp_path) -> None:
    study = rollouts(ROBOTS[name]())
    whole = study.run(block=60, workers=1)
    equal(whole, study.run(block=7, workers=2))
    stored = study.run(store=tmp_path / "out.zarr", block=11, workers=2)
    equal(whole, stored)
    equal(whole, rc.read(tmp_path / "out.zarr"))
    inputs = study.inputs(range(60))
    q, _ = rc.rollout(
        study.robot, inputs["q0"], inputs["v0"], None, 1e-3, 6, save_every=3, parameters=inputs["parameters"]
    )
    assert np.array_equal(whole["q"], q)


@pytest.mark.parametrize(
    "said",
    ["extrema", "moments", ("quantiles", [0.0, 0.3, 1.0]), ("histogram", 5, -1.0, 2.0), ("top", 4), ("bottom", 4)],
)
def test_reductions_agree_with_numpy_and_with_themselves(said) -> None:
    random = np.random.default_rng(3)
    rows = random.normal(0.5, 1.0, (1013, 2, 3))
    rows[random.random(rows.shape) < 0.01] = np.nan
    way = reduction("x", said)
    results = []
    for cuts in ([0, 1013], [0, 1, 2, 512, 1000, 1013], [*range(0, 1013, 37), 1013]):
        parts = [way.part(rows[a:b], a) for a, b in pairwise(cuts)]
        random.shuffle(parts)
        while len(parts) > 1:
            parts = [way.join(parts[0], parts[1]), *parts[2:]]
        results.append(way.result(parts[0], (2, 3)))
    for other in results[1:]:
        assert all(np.array_equal(other[name], x, equal_nan=True) for name, x in results[0].items())
    found = results[0]
    match way.name:
        case "extrema":
            assert np.array_equal(found["max"], np.nanmax(rows, axis=0))
            assert np.array_equal(found["min_row"], np.nanargmin(rows, axis=0))
        case "moments":
            assert np.allclose(found["mean"], np.nanmean(rows, axis=0), rtol=1e-13, atol=1e-15)
            assert np.allclose(found["std"], np.nanstd(rows, axis=0, ddof=1), rtol=1e-13)
            assert np.array_equal(found["count"], np.isfinite(rows).sum(axis=0))
        case "quantiles":
            exact = np.nanquantile(rows, [0.0, 0.3, 1.0], axis=0, method="inverted_cdf")
            assert np.allclose(found["quantiles"], np.moveaxis(exact, 0, -1), rtol=1e-3)
        case "histogram":
            column = rows[:, 1, 2]
            assert np.array_equal(found["counts"][1, 2], np.histogram(column[np.isfinite(column)], 5, (-1.0, 2.0))[0])
            outside = found["below"] + found["above"] + found["not_finite"] + found["counts"].sum(axis=-1)
            assert (outside == 1013).all()
        case "top" | "bottom":
            worst = (
                np.nanmax(rows.reshape(1013, -1), axis=1)
                if way.name == "top"
                else np.nanmin(rows.reshape(1013, -1), axis=1)
            )
            order = np.argsort(-worst if way.name == "top" else worst, kind="stable")[:4]
            assert np.array_equal(found["rows"], order) and np.array_equal(found["values"], worst[order])


def test_simulations_with_events() -> None:
    robot = rc.robots.planar(1)
    level = rc.Event(lambda t, q, v: q[0] + 1.0, name="low", stop=True)
    study = rc.study(
        robot, {"q0": ("uniform", -0.5, 0.5)}, "simulate", samples=4, duration=2.0, events=[level], rtol=1e-9
    )
    found = study.run()
    assert np.array_equal(found["t"], found["event.low"]) and (found["t"] < 2.0).all()
    assert np.allclose(found["q"][:, -1, 0], -1.0, atol=1e-8)
    again = found.study.values(2)["q0"]
    assert np.isclose(
        robot.simulate(again, [0.0], duration=2.0, events=[level], rtol=1e-9, progress=False).t[-1], found["t"][2]
    )


def energies(block):
    return {"energy": block.robot.kinetic_energy(block["q0"], block["v0"]), "gain": block["gain"][:, 0]}


def test_functions_and_measures_see_blocks(tmp_path) -> None:
    robot = rc.robots.planar(2)
    vary = {"q0": "uniform", "v0": "uniform", "gain": ("uniform", 1.0, 2.0)}
    result = rc.study(robot, vary, energies, samples=20).run(store=tmp_path / "f.zarr", block=6)
    inputs = result.study.inputs(range(20))
    assert np.array_equal(result["energy"], robot.kinetic_energy(inputs["q0"], inputs["v0"]))
    read = rc.read(tmp_path / "f.zarr")
    equal(result, read)
    assert read.study == result.study
    with pytest.raises(rc.StudyError, match="energies is not kept in the store"):
        read.study.compute(range(1))
    held = rc.study(
        robot, {"q0": "uniform", "kp": ("uniform", 1.0, 5.0)}, samples=5, step=1e-3, steps=4, keep=["far"],
        torque=lambda block: -block["kp"] * block["q0"],
        measure={"far": lambda block, found: np.abs(found["q"]).max(axis=(1, 2))},
    )  # fmt: skip
    inputs = held.inputs(range(5))
    q, _ = rc.rollout(robot, inputs["q0"], inputs["v0"], -inputs["kp"] * inputs["q0"], 1e-3, 4)
    assert np.array_equal(held.run()["far"], np.abs(q).max(axis=(1, 2)))


def test_datasets_have_names_and_times(tmp_path) -> None:
    study = rollouts(rc.robots.panda_like(), keep=None)
    for result in (study.run(), study.run(store=tmp_path / "o.zarr", block=16)):
        data = result.to_xarray()
        assert data["q"].dims == ("sample", "time", "coordinate") and data["v"].dims == ("sample", "time", "freedom")
        assert np.allclose(data["time"], [0.003, 0.006]) and list(data["coordinate"].values) == list(
            study.robot.q_names
        )
        assert np.array_equal(data["q"].values, result["q"]) and data["payload.mass"].dims == ("sample",)
        assert "q0[6]" in result.to_pandas().columns
    tables = study.run(store=tmp_path / "o.parquet", block=25)
    assert np.array_equal(tables.to_pandas()["q[3]"].to_numpy(), study.run()["q"].reshape(60, -1)[:, 3])


def test_a_row_is_replayed_as_a_run() -> None:
    result = rollouts(rc.robots.planar(2), keep=None).run()
    run = result.replay(7, integrator="rk4", step=1e-3)
    assert np.allclose(run.q[-1], result["q"][7, -1], atol=1e-12)


def test_a_study_is_its_description() -> None:
    study = rollouts(rc.robots.free_flyer(2))
    assert study_from_data(json.loads(json.dumps(study.as_data()))) == study
    again = pickle.loads(pickle.dumps(study))
    assert again == study and hash(again) == hash(study)
    assert b"sweeps" not in pickle.dumps(study)  # the robot travels as text
    assert rollouts(rc.robots.free_flyer(2), seed=5) != study and rollouts(rc.robots.free_flyer(3)) != study
    text = str(study)
    assert "60 rows" in text and "payload.mass: uniform, 0 to 0.5" in text


# ---- stores ----------------------------------------------------------------------------------------------------------


def test_finished_blocks_are_not_computed_again_and_torn_ones_are(tmp_path) -> None:
    study = rollouts(rc.robots.panda_like(), keep=None)
    place = tmp_path / "out.zarr"
    whole = study.run(store=place, block=20)
    records = sorted((place / ".recursa" / "blocks").glob("*.npz"))
    before = [one.stat().st_mtime_ns for one in records]
    equal(whole, study.run(store=place))
    assert [one.stat().st_mtime_ns for one in records] == before
    chunk = place / "q" / "c" / "1" / "0" / "0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[: len(content) // 2] + b"\\0" * (len(content) - len(content) // 2))
    (place / "v" / "c" / "2" / "0" / "0").unlink()
    records[0].write_bytes(records[0].read_bytes()[:100])
    assert rc.read(place).rows == 0
    equal(whole, study.run(store=place))
    assert chunk.read_bytes() == content and rc.read(place).rows == 60


def test_two_writers_are_refused(tmp_path) -> None:
    study, place = rollouts(rc.robots.planar(2)), tmp_path / "out.zarr"
    study.run(store=place, block=30)
    held = os.open(place / ".recursa" / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(rc.StudyError, match="another process is writing"):
        study.run(store=place)
    os.close(held)
    study.run(store=place)


def test_stores_of_others_are_refused(tmp_path, monkeypatch) -> None:
    study, place = rollouts(rc.robots.planar(2)), tmp_path / "out.zarr"
    study.run(store=place, block=30)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with pytest.raises(rc.StudyError, match=r"holds another study .other seed"):
        rollouts(rc.robots.planar(2), seed=7).run(store=place)
    with pytest.raises(rc.StudyError, match="resume=False"):
        study.run(store=place, resume=False)
    with pytest.raises(rc.StudyError, match="blocks of 30 rows"):
        study.run(store=place, block=10)
    with monkeypatch.context() as patch, pytest.raises(rc.StudyError, match=r"was begun with .* and this is 9\.9\.9"):
        patch.setattr("recursa.studies.running.__version__", "9.9.9")
        study.run(store=place)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "thesis.txt").write_text("important")
    with pytest.raises(rc.StudyError, match="holds no study"):
        study.run(store=tmp_path / "mine.zarr")
    with pytest.raises(rc.ResultFileError, match="without a study"):
        rc.read(tmp_path / "mine.zarr")


def test_a_full_disk_leaves_what_was_finished(tmp_path, monkeypatch) -> None:
    from recursa.studies.stores import Store

    study, place = rollouts(rc.robots.planar(2), keep=None), tmp_path / "out.zarr"
    write, count = Store._write_chunks, []

    def full(self, *arguments):
        count.append(1)
        if len(count) == 3:
            raise OSError(28, "No space left on device")
        return write(self, *arguments)

    monkeypatch.setattr(Store, "_write_chunks", full)
    with pytest.raises(rc.StudyError, match=r"No space left on device.*run the study again"):
        study.run(store=place, block=10, workers=1)
    monkeypatch.undo()
    assert 0 < rc.read(place).rows < 60
    equal(study.run(store=place), study.run())


def test_fewer_bits_and_compression(tmp_path) -> None:
    study = rollouts(rc.robots.planar(2), keep=["q"])
    exact = study.run()["q"]
    for compress in ("zstd", "shuffle"):
        assert np.array_equal(study.run(store=tmp_path / f"{compress}.zarr", compress=compress)["q"], exact)
    short = study.run(store=tmp_path / "short.zarr", keep_bits=12)["q"]
    assert 0.0 < np.max(np.abs(short - exact) / np.abs(exact)) <= 2.0**-13
    assert not (short.view(np.uint64) & np.uint64(2**40 - 1)).any()


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said, message",
    [
        ({"vary": {"q9": "uniform"}}, "nothing called 'q9' can be varied"),
        ({"vary": {"q0": "unifrm"}}, "alone it can be"),
        ({"vary": {"q0": ("normale", 0, 1)}}, "Did you mean 'normal'"),
        ({"vary": {"q0": ("uniform", 2.0, 1.0)}}, "ends before it begins"),
        ({"vary": {"q0": ("normal", 0.0, -1.0)}}, "standard deviation is negative"),
        ({"vary": {"q0": ("uniform", [1.0, 2.0, 3.0], 4.0)}}, "expected one number or 2"),
        ({"vary": {"q0": ("uniform", "a", 4.0)}}, "low must be numbers"),
        ({"vary": {"q0": ("grid", [])}}, "points of its grid"),
        ({"vary": {"q0": np.ones((3, 2))}, "samples": 4}, "has 3 rows, and samples is 4"),
        ({"vary": {"q0.elbo": "uniform"}}, "'q0' has no entry 'elbo'"),
        ({"vary": {"payload.mass": ("normal", 1.0, 1.0)}, "samples": 1000}, "would be negative"),
        ({"vary": {"link1.m": ("uniform", -1.0, 1.0)}}, "would be negative"),
        ({"vary": {"link1.Ixx": ("uniform", 5.0, 6.0)}}, "no body has these parameters"),
        ({"vary": {"payload.mass": 1.0}, "payload_at": "tpi"}, "Did you mean 'tip'"),
        ({"vary": {"payload.mass": 1.0}, "payload_at": "world"}, "does not move"),
        ({"vary": {}, "compute": "mass_matrx"}, "Did you mean 'mass_matrix'"),
        ({"vary": {}, "steps": None}, "steps"),
        ({"vary": {}, "stap": 3}, "option of rollout"),
        ({"vary": {}, "keep": {"zz": "full"}}, "no output of rollout 'zz'"),
        ({"vary": {}, "keep": {"q": "median"}}, "way to keep 'q'"),
        ({"vary": {}, "keep": {"q": ("histogram", 3, 2.0, 1.0)}}, "cannot keep"),
        ({"vary": {}, "keep": "q"}, "keep= must be names"),
        ({"vary": {}, "samples": 0}, "at least 1"),
        ({"vary": {}, "seed": 1.5}, "seed must be a whole number"),
        ({"vary": {"q0": "uniform"}, "design": "sobel"}, "Did you mean 'sobol'"),
        ({"vary": []}, "must be a mapping"),
        ({"vary": {}, "samples": 10**17}, "can be counted"),
    ],
)
def test_mistakes_are_named(said, message) -> None:
    options = {"step": 1e-3, "steps": 3} if "compute" not in said else {}
    with pytest.raises(rc.RecursaError, match=message):
        rc.study(rc.robots.planar(2), **{**options, **said}).run()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"store": "out.csv"}, "let it end in"),
        ({"engine": "dsk"}, "Did you mean 'dask'"),
        ({"address": "tcp://127.0.0.1:1"}, 'say engine="dask" or'),
        ({"workers": 0}, "positive whole number"),
        ({"block": 0}, "positive whole number"),
        ({"compress": "zstd"}, "for a store"),
        ({"store": "o.zarr", "compress": "zip"}, "compression"),
        ({"store": "o.zarr", "keep_bits": 60}, "from 1 to 52"),
        ({"engine": "dask", "address": "tcp://127.0.0.1:9"}, "no Dask scheduler"),
    ],
)
def test_mistakes_of_running_are_named(options, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("recursa.studies.on_dask.PATIENCE", 0.5)
    with pytest.raises(rc.RecursaError, match=message):
        rollouts(rc.robots.planar(2)).run(**options)


def test_a_function_that_returns_nonsense_is_named() -> None:
    robot = rc.robots.planar(2)
    for wrong in (lambda block: 3.0, lambda block: np.ones(3), lambda block: {"a": np.array(["x"] * len(block.rows))}):
        with pytest.raises(rc.StudyError, match="one per sample"):
            rc.study(robot, {"q0": "uniform"}, wrong, samples=7).run()


def test_importing_recursa_imports_none_of_it() -> None:
    code = "import recursa, sys; recursa.study; print(*{'dask', 'zarr', 'distributed', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
