"""Engines: the same bits from all of them, the study sent once, and clear words where something is wrong."""

import os
import subprocess
import sys

import pytest

import recursa as rc
from recursa.studies import on_dask, on_ray, workers
from recursa.studies.study_progress import Progress, duration
from study_results import equal

KEEP = {"q": "full", "peak_speed": ["extrema", "moments", ("quantiles", [0.1, 0.5]), ("top", 3)]}


def rollouts(robot, samples=300, **more):
    vary = {"q0": "uniform", "v0": ("normal", 0.0, 0.2), "payload.mass": ("uniform", 0.0, 0.5)}
    options = {"samples": samples, "seed": 4, "step": 1e-3, "steps": 6, "save_every": 3, "keep": KEEP}
    return rc.study(robot, vary, **{**options, **more})


def local_cluster(count):
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, processes=True
    )


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2) as found:
        yield found


@pytest.fixture
def patched(cluster):
    """Something else in the workers, until the test is over."""
    from distributed import Client

    changed = []
    with Client(cluster, set_as_default=False) as client:

        def patch(module, name, value):
            changed.append((module, name))
            client.run(_patch, module, name, value)
            return client

        yield patch
        for module, name in changed:
            client.run(_restore, module, name)


def _patch(module, name, value):
    import importlib

    found = importlib.import_module(module)
    setattr(found, f"_before_{name}", getattr(found, name))
    setattr(found, name, value(getattr(found, name)))


def _restore(module, name):
    import importlib

    found = importlib.import_module(module)
    setattr(found, name, getattr(found, f"_before_{name}"))


# ---- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [rc.robots.panda_like, lambda: rc.robots.free_flyer(3), lambda: rc.robots.tree(40, seed=1)]
)
def test_dask_gives_the_bits_of_threads(cluster, make) -> None:
    study = rollouts(make(), samples=120)
    whole = study.run()
    for block in (17, 50, 120):
        equal(whole, study.run(engine="dask", address=cluster.scheduler_address, block=block, progress=False))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_dask_gives_the_bits_of_threads_for_every_number_of_workers(count, tmp_path) -> None:
    study = rollouts(rc.robots.panda_like(), samples=2000)
    whole = study.run()
    for block in (64, 333, 2000):
        equal(whole, study.run(engine="dask", workers=count, block=block, progress=False))
        place = tmp_path / f"{block}.zarr"
        equal(whole, study.run(store=place, engine="dask", workers=count, block=block, progress=False))


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_functions_travel_and_their_errors_come_back(engine, request) -> None:
    pytest.importorskip({"dask": "distributed"}.get(engine, engine))
    where = {"address": request.getfixturevalue("cluster").scheduler_address} if engine == "dask" else {"workers": 1}
    robot, factor = rc.robots.planar(1), 3.0

    def failing(block):
        if block.rows.start:
            raise rc.StudyError("it does not like these rows")
        return block["x"]

    study = rc.study(robot, {"x": ("uniform", 0.0, 1.0)}, lambda block: factor * block["x"], samples=40)
    equal(study.run(), study.run(engine=engine, block=15, progress=False, **where))
    with pytest.raises(rc.StudyError, match=r"^it does not like these rows$"):
        rc.study(robot, {"x": ("uniform", 0.0, 1.0)}, failing, samples=100).run(
            engine=engine, block=64, progress=False, **where
        )


def test_ray_gives_the_bits_of_threads(tmp_path) -> None:
    pytest.importorskip("ray")
    study = rollouts(rc.robots.panda_like())
    whole = study.run()
    equal(whole, study.run(engine="ray", workers=2, block=64, progress=False))
    equal(whole, study.run(store=tmp_path / "out.zarr", engine="ray", workers=1, block=100, progress=False))


# ---- what is sent ----------------------------------------------------------------------------------------------------


def counted(function):
    def call(*arguments):
        rc.calls = calls() + 1
        return function(*arguments)

    return call


def calls():
    return vars(rc).get("calls", 0)


def test_the_study_is_sent_once_and_not_with_every_block(cluster, patched) -> None:
    client = patched("recursa.studies.study", "_study_of", counted)
    before = sum(client.run(calls).values())
    rollouts(rc.robots.planar(3)).run(engine="dask", address=cluster.scheduler_address, block=10, progress=False)
    assert 1 <= sum(client.run(calls).values()) - before <= 4  # 30 blocks


def test_kernels_of_other_machines_are_made_before_the_first_block(cluster, patched, monkeypatch) -> None:
    client = patched("recursa.studies.workers", "warmed", counted)
    study, where = rollouts(rc.robots.planar(3)), {"engine": "dask", "address": cluster.scheduler_address}
    before = client.run(calls)
    study.run(**where, block=150, progress=False)
    assert client.run(calls) == before  # all of them are on this machine, and find what was made here
    monkeypatch.setattr(on_dask, "elsewhere", lambda met: list(met)[:1])
    study.run(**where, block=150, progress=False)
    assert sum(client.run(calls).values()) == sum(before.values()) + 1
    mark = workers.package_mark()
    met = {"a": ("one", mark), "b": ("two", mark), "c": ("two", mark), "d": (workers.introduced()[0], mark)}
    assert workers.elsewhere(met) == ["a", "c"]


def test_workers_of_a_local_cluster_keep_their_memory(monkeypatch) -> None:
    """Dask's own setting returns arrays over 128 kB to the system, to be faulted in again."""
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(name, raising=False)
    with on_dask.dask_cluster(None, 1, 1, lambda text: None) as engine:
        (found,) = engine._client.run(lambda: dict(os.environ)).values()
    assert found["MALLOC_TRIM_THRESHOLD_"] == str(256 << 20) and found["MALLOC_MMAP_THRESHOLD_"] == str(32 << 20)


# ---- what is said ----------------------------------------------------------------------------------------------------


def test_a_worker_of_another_version_is_refused_and_nothing_is_written(cluster, patched, tmp_path) -> None:
    patched("recursa.studies.workers", "package_mark", lambda mark: lambda: ("9.9.9", *mark()[1:]))
    study = rollouts(rc.robots.planar(2))
    with pytest.raises(rc.StudyError, match=r"worker 'tcp.*' has Recursa 9\.9\.9, here .* install the same versions"):
        study.run(store=tmp_path / "out.zarr", engine="dask", address=cluster.scheduler_address, progress=False)
    assert rc.read(tmp_path / "out.zarr").rows == 0
    equal(study.run(store=tmp_path / "out.zarr"), study.run())


def test_a_cluster_without_workers_says_so() -> None:
    with (
        local_cluster(0) as empty,
        pytest.raises(rc.StudyError, match=r"has no workers\. Start some with 'dask worker"),
    ):
        rollouts(rc.robots.planar(2)).run(engine="dask", address=empty.scheduler_address, progress=False)


def test_the_dashboard_is_told(cluster, capsys) -> None:
    rollouts(rc.robots.planar(2)).run(engine="dask", address=cluster.scheduler_address)
    assert "dashboard: http://" in capsys.readouterr().err


def test_ray_that_is_not_there_says_so() -> None:
    pytest.importorskip("ray")
    with pytest.raises(rc.StudyError, match=r"no Ray cluster at '127\.0\.0\.1:9'.*ray start"):
        rollouts(rc.robots.planar(2)).run(engine="ray", address="127.0.0.1:9", progress=False)


def test_engines_that_are_not_installed_say_what_to_do(monkeypatch) -> None:
    for module in (on_dask, on_ray):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    for engine, extra in (("dask", "studies"), ("ray", "ray")):
        with pytest.raises(rc.StudyError, match=rf"pip install 'recursa\[{extra}\]'"):
            rollouts(rc.robots.planar(2)).run(engine=engine, progress=False)


def test_progress_speaks_without_a_terminal(capsys) -> None:
    bar = Progress(1_000_000, 100_000, lambda: 2)
    begin = bar._begin
    bar.look(begin + 4.0)
    bar.add(90_000)
    bar.look(begin + 6.0)  # not a tenth more yet
    assert capsys.readouterr().err == ""
    bar.add(10_000)
    bar.look(begin + 10.0)
    said = capsys.readouterr().err
    assert said == "study: 200,000 of 1,000,000 rows, 20 %, 10,000 rows/s, 2 workers, 80 s left\n"
    bar.look(begin + 20.0)
    assert capsys.readouterr().err == ""
    bar.look(begin + 40.0)  # half a minute without a word
    assert "200,000 of 1,000,000 rows, 20 %, 2,500 rows/s" in capsys.readouterr().err
    assert duration(90.0) == "90 s" and duration(3 * 86400.0) == "3 days"


def test_progress_says_that_nothing_is_finished_and_survives_a_cluster_that_is_gone(capsys) -> None:
    asked = iter([4])
    bar = Progress(10, 0, lambda: next(asked))
    bar.look(bar._begin + 31.0)
    assert "0 of 10 rows, 0 %, 0 rows/s, 0 workers, no block is finished yet" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="resource")
def test_memory_does_not_grow_with_rows() -> None:
    """Rows are reduced as they come: ten times as many take a tenth more memory at the most."""
    code = """
import resource, sys
import recursa as rc
study = rc.study(rc.robots.planar(3), {"q": "uniform", "v": "uniform"}, "bias_forces", samples=int(sys.argv[1]),
                 keep={"bias_forces": ["extrema", "moments", ("quantiles", [0.01, 0.99]), ("top", 10)]})
study.run(block=25_000, workers=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    sizes = [
        int(subprocess.run([sys.executable, "-c", code, rows], capture_output=True, text=True, check=True).stdout)
        for rows in ("100000", "1000000")
    ]
    assert sizes[1] < 1.1 * sizes[0]


def test_blocks_of_long_rollouts_are_small_though_little_is_kept() -> None:
    """What a block needs while it is computed is bounded, too: here 32 kB a row, of which 24 bytes are kept."""
    from recursa.studies.running import _BYTES, _block_size

    study = rollouts(rc.robots.planar(2), samples=10**6, steps=1000, save_every=1, keep={"peak_speed": "extrema"})
    assert _block_size(study.pilot, study, None) * 1000 * 4 * 8 <= _BYTES


def test_a_local_dask_cluster_listens_on_this_machine_alone() -> None:
    psutil = pytest.importorskip("psutil")
    with on_dask.dask_cluster(None, 1, 1, lambda text: None):
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        sockets = [one for process in processes for one in process.net_connections("tcp") if one.status == "LISTEN"]
    assert len(sockets) > 2 and {one.laddr.ip for one in sockets} <= {"127.0.0.1", "::1"}


def test_a_dask_worker_that_dies_at_start_is_a_study_error(tmp_path, monkeypatch) -> None:
    """As one does that finds no memory, or whose program has no ``if __name__ == "__main__"``."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(rc.StudyError, match=r"local Dask cluster of 1 workers did not start: .* engine=\"threads\""):
        rollouts(rc.robots.planar(2)).run(engine="dask", workers=1, progress=False)


@pytest.mark.parametrize("failure", [OSError("Timed out trying to connect"), RuntimeError("Worker is closing")])
def test_a_dask_worker_that_is_lost_when_it_is_asked_who_it_is_is_a_study_error(failure) -> None:
    class Client:
        def run(self, function):
            raise failure

    with pytest.raises(rc.StudyError, match=f"was lost before it computed anything: .*{failure}"):
        on_dask.DaskEngine(Client())
