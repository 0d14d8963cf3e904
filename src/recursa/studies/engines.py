"""Who computes the blocks of a study: threads of this process, a Dask cluster, or Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, Literal, Protocol, get_args

from recursa.errors import StudyError, unknown_name
from recursa.studies.on_dask import dask_cluster
from recursa.studies.on_ray import ray_cluster
from recursa.studies.workers import AHEAD, BlockWork

EngineName = Literal["threads", "dask", "ray"]
ENGINES: tuple[str, ...] = get_args(EngineName)


class Engine(Protocol):
    """An engine that is ready; ``remote`` where it computes in other processes, perhaps on other processors."""

    remote: bool

    def workers(self) -> int:
        """How many blocks are computed at the same time."""

    def run(self, work: BlockWork, blocks: Iterable[Any], done: Callable[[Any], None]) -> None:
        """Call ``work(block)`` for every block somewhere, and ``done(result)`` here for each result, in any order.

        Never more blocks are under way than keep the workers busy.
        """


_Cluster = Callable[[str | None, int | None, int, Callable[[str], None]], AbstractContextManager[Engine]]
_CLUSTERS: dict[str, _Cluster] = {"dask": dask_cluster, "ray": ray_cluster}


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
            raise StudyError('address= is that of a cluster: say engine="dask" or engine="ray", too')
        yield Threads(workers or cores())
        return
    with _CLUSTERS[name](address, workers, cores(), tell) as engine:
        yield engine


class Threads:
    """Threads of this process."""

    remote = False

    def __init__(self, count: int) -> None:
        self._count = count

    def workers(self) -> int:
        """How many there are."""
        return self._count

    def run(self, work: BlockWork, blocks: Iterable[Any], done: Callable[[Any], None]) -> None:
        """See :class:`Engine`."""
        waiting = iter(blocks)
        with ThreadPoolExecutor(self._count, thread_name_prefix="study") as pool:
            under_way: set[Future[Any]] = {pool.submit(work, one) for one in islice(waiting, AHEAD * self._count)}
            try:
                while under_way:
                    finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for one in finished:
                        done(one.result())
                    under_way |= {pool.submit(work, block) for block in islice(waiting, len(finished))}
            finally:
                for one in under_way:
                    one.cancel()
