"""Blocks on a Dask cluster. Distribution, retries and stealing of work are Dask's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from itertools import islice
from operator import call
from typing import Any

from recursa.errors import RecursaError, StudyError
from recursa.processes import safe_paths
from recursa.studies.workers import AHEAD, BlockWork, elsewhere, introduced, require_same_package, warmed

PATIENCE = 10.0  # s until a scheduler that does not answer counts as none
_DASHBOARD = "127.0.0.1:0"  # any free port; an address without a host would listen on all interfaces


class DaskEngine:
    """A cluster that is there, by its client."""

    remote = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._met = _introductions(client)
        require_same_package(self._met, "Dask")

    def workers(self) -> int:
        """How many there are now."""
        return sum(self._client.nthreads().values())

    def run(self, work: BlockWork, blocks: Iterable[Any], done: Callable[[Any], None]) -> None:
        """See :class:`recursa.studies.engines.Engine`."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            failure = self._carry_out(work, blocks, done)
        except RecursaError:
            raise
        except (KilledWorker, FutureCancelledError, OSError, TimeoutError, RuntimeError) as error:
            raise StudyError(
                f"the Dask cluster was lost: {type(error).__name__}: {error}. Finished blocks are kept; run the study "
                "again to go on"
            ) from None
        if failure is not None:
            raise failure  # what went wrong in a block is told as it is

    def _carry_out(self, work: BlockWork, blocks: Iterable[Any], done: Callable[[Any], None]) -> BaseException | None:
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        client, waiting = self._client, iter(blocks)
        # The study is sent once: it is the result of a task, which workers fetch and keep, and which the scheduler
        # has made again if all who had it died. Blocks are sent as a reference to it and their rows.
        study = client.submit(_itself, work, pure=False)
        ready = [
            client.submit(warmed, study, workers=[one], allow_other_workers=True, pure=False)
            for one in elsewhere(self._met)
        ]
        client.gather(ready)

        def submitted(count: int) -> list[Any]:
            return [client.submit(call, study, block, pure=False) for block in islice(waiting, count)]

        under_way = as_completed(submitted(AHEAD * self.workers()), loop=client.loop)
        for one in under_way:
            failure: BaseException | None = one.exception() if one.status == "error" else None
            if failure is not None and not isinstance(failure, KilledWorker):
                return failure
            done(one.result())
            one.release()
            for more in submitted(1):
                under_way.add(more)
        return None


def _itself(work: BlockWork) -> BlockWork:
    return work


@contextmanager
def dask_cluster(
    address: str | None, workers: int | None, cores: int, tell: Callable[[str], None]
) -> Iterator[DaskEngine]:
    """Connect to the cluster at an address, or start one on this machine, whose workers have this version of Recursa.

    A cluster that is started here listens on this machine alone, its dashboard included.
    """
    if find_spec("distributed") is None:
        raise StudyError("engine \"dask\" needs the package 'distributed': pip install 'recursa[studies]'")
    with safe_paths() if address is None else nullcontext():  # Dask may restart workers as long as the cluster is there
        client, cluster = _connected(address, workers or cores)
        try:
            if not client.nthreads():
                raise StudyError(
                    f"the Dask scheduler at '{address}' has no workers. Start some with 'dask worker {address}'"
                )
            engine = DaskEngine(client)
            if client.dashboard_link:
                there = "" if find_spec("bokeh") else " (once the scheduler has the package 'bokeh')"
                tell(f"dashboard: {client.dashboard_link}{there}")
            yield engine
        finally:
            client.close()
            if cluster is not None:
                cluster.close()


def _connected(address: str | None, workers: int) -> tuple[Any, Any]:
    """Return the client of a cluster, and the cluster if it was started here."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {
        "distributed.worker.memory.terminate": False,
        "distributed.worker.profile.interval": "100ms",  # of 10: looking at what runs takes half a per cent of a core
        "logging.distributed": "error",
        # Dask has workers return memory early, and faulting it in again takes 5 % of the time of a block
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 << 20,
        "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
    }
    cluster: Any = None
    with dask.config.set(quiet):
        if address is None:
            try:
                cluster = LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=_DASHBOARD, silence_logs=50
                )
            except (OSError, ValueError, RuntimeError, TimeoutError) as error:
                raise StudyError(
                    f"the local Dask cluster of {workers} workers did not start: {_first_cause(error)}. Is there "
                    'enough memory for them, and do programs start their study under if __name__ == "__main__"? Try '
                    'fewer workers=, or engine="threads"'
                ) from None
        try:
            return Client(cluster or address, timeout=PATIENCE, set_as_default=False), cluster
        except (OSError, ValueError, TimeoutError) as error:
            if cluster is not None:
                cluster.close()
            where = f" at '{address}'" if address else ""
            raise StudyError(f"there is no Dask scheduler{where}: {error}. Start one with 'dask scheduler'") from None


def _first_cause(error: BaseException) -> str:
    """Return the type and text of the exception that started a chain of them."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _introductions(client: Any) -> dict[str, Any]:
    try:
        return dict(client.run(introduced))
    except (ImportError, AttributeError) as error:
        raise StudyError(f"a Dask worker has no Recursa of this version: {error}. Install the same one there") from None
    except (OSError, TimeoutError, RuntimeError) as error:
        raise StudyError(
            f"a Dask worker was lost before it computed anything: {type(error).__name__}: {error}. The worker's own "
            "log tells why; run the study again when the cluster is whole"
        ) from None
