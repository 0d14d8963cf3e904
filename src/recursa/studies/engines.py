"""Who computes the blocks of a study: threads of this process, or a Dask cluster. An engine is one function.

``engine(work, blocks, done, workers)`` calls ``work(block)`` for every block somewhere, and ``done(result)`` here for
each result, in any order. It never has more blocks under way than keep its workers busy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal, get_args

from recursa.errors import RecursaError, StudyError, unknown_name
from recursa.kernels.records import package_mark

EngineName = Literal["threads", "dask"]
ENGINES: tuple[str, ...] = get_args(EngineName)

Work = Callable[[range], Any]
Engine = Callable[[Work, Iterable[range], Callable[[Any], None]], None]

_AHEAD = 2  # blocks a worker: one under way, one waiting


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def opened(name: str | None, address: str | None, workers: int | None, tell: Callable[[str], None]) -> Iterator[Engine]:
    """The engine of that name, ready; closed afterwards if it was started here."""
    name = "threads" if name is None else name
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise StudyError(f"workers must be a positive whole number, not {workers!r}")
    if name == "threads":
        if address is not None:
            raise StudyError('address= is that of a Dask scheduler: say engine="dask", too')
        yield partial(_on_threads, workers or cores())
        return
    with _cluster(address, workers, tell) as client:
        yield partial(_on_dask, client)


# ---- threads ---------------------------------------------------------------------------------------------------------


def _on_threads(workers: int, work: Work, blocks: Iterable[range], done: Callable[[Any], None]) -> None:
    waiting = iter(blocks)
    with ThreadPoolExecutor(workers, thread_name_prefix="study") as pool:
        under_way: set[Future[Any]] = {pool.submit(work, one) for one in islice(waiting, _AHEAD * workers)}
        try:
            while under_way:
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for one in finished:
                    done(one.result())
                under_way |= {pool.submit(work, block) for block in islice(waiting, len(finished))}
        finally:
            for one in under_way:
                one.cancel()


# ---- Dask ------------------------------------------------------------------------------------------------------------


@contextmanager
def _cluster(address: str | None, workers: int | None, tell: Callable[[str], None]) -> Iterator[Any]:
    """A client of a cluster whose workers have the same version of this package."""
    if find_spec("distributed") is None:
        raise StudyError("engine \"dask\" needs the package 'distributed': pip install 'recursa[studies]'")
    import dask
    from distributed import Client, LocalCluster

    quiet = {"distributed.worker.memory.terminate": False, "logging.distributed": "error"}
    cluster: Any = None
    try:
        with dask.config.set(quiet):
            if address is None:
                cluster = LocalCluster(
                    n_workers=workers or cores(), threads_per_worker=1, dashboard_address=":0", silence_logs=50
                )
            client = Client(cluster if address is None else address, timeout=10.0, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        if cluster is not None:
            cluster.close()
        where = f" at '{address}'" if address else ""
        raise StudyError(f"there is no Dask scheduler{where}: {error}. Start one with 'dask scheduler'") from None
    try:
        if not client.nthreads():
            raise StudyError(
                f"the Dask scheduler at '{address}' has no workers. Start some with 'dask worker {address}'"
            )
        _require_same_package(client)
        if client.dashboard_link and find_spec("bokeh") is not None:
            tell(f"dashboard: {client.dashboard_link}")
        yield client
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _require_same_package(client: Any) -> None:
    """Bits are only equal where the code is."""
    ours = package_mark()
    try:
        found = client.run(package_mark)
    except (ImportError, AttributeError) as error:
        raise StudyError(f"a Dask worker has no Recursa of this version: {error}. Install the same one there") from None
    for worker, theirs in found.items():
        differ = [
            f"{what} {one or 'unknown'}, here {other or 'unknown'}"
            for what, one, other in zip(("Recursa", "its sources", "NumPy"), theirs, ours, strict=True)
            if one != other and one and other
        ]
        if differ:
            raise StudyError(
                f"Dask worker '{worker}' has {'; '.join(differ)}. Results would not be equal to the bit: install "
                "the same versions on all machines"
            )


def _on_dask(client: Any, work: Work, blocks: Iterable[range], done: Callable[[Any], None]) -> None:
    from distributed import as_completed
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    waiting = iter(blocks)
    ahead = _AHEAD * sum(client.nthreads().values())

    def submitted(count: int) -> list[Any]:
        return [client.submit(work, block, pure=False) for block in islice(waiting, count)]

    try:
        under_way = as_completed(submitted(ahead), loop=client.loop)
        for one in under_way:
            failure = one.exception() if one.status == "error" else None
            if failure is not None and not isinstance(failure, KilledWorker):
                break  # what went wrong in a block is told as it is
            done(one.result())
            one.release()
            for more in submitted(1):
                under_way.add(more)
        else:
            return
    except RecursaError:
        raise
    except (KilledWorker, FutureCancelledError, OSError, TimeoutError, RuntimeError) as error:
        raise StudyError(
            f"the Dask cluster was lost: {type(error).__name__}: {error}. Finished blocks are kept; run the study "
            "again to go on"
        ) from None
    raise failure
