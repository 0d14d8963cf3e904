"""Blocks on Ray: on this machine, or on a cluster. Distribution and retries are Ray's."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager, nullcontext
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from recursa.errors import StudyError
from recursa.processes import safe_paths
from recursa.studies.workers import AHEAD, BlockWork, elsewhere, introduced, require_same_package


class RayEngine:
    """Ray, as it was started or found. ``folder``: the working directory for functions of the study, if it is known."""

    remote = True

    def __init__(self, ray: Any, folder: str | None = None) -> None:
        self._ray, self._folder = ray, folder
        nodes = [one["NodeID"] for one in ray.nodes() if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]
        asked = [self._on(node, introduced).remote() for node in nodes]
        self._met = dict(zip(nodes, ray.get(asked), strict=True))
        require_same_package(self._met, "Ray")

    def _on(self, node: str, function: Callable[..., Any]) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        place = NodeAffinitySchedulingStrategy(node, soft=True)
        return self._ray.remote(function).options(scheduling_strategy=place)

    def workers(self) -> int:
        """How many there are now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, work: BlockWork, blocks: Iterable[Any], done: Callable[[Any], None]) -> None:
        """See :class:`recursa.studies.engines.Engine`."""
        ray, waiting = self._ray, iter(blocks)
        try:
            study = [ray.put(work), self._folder]  # in a list: the workers fetch it themselves, once
            ray.get([self._on(node, _warmed).remote(study) for node in elsewhere(self._met)])
            task = ray.remote(_applied)
            under_way = [task.remote(study, block) for block in islice(waiting, AHEAD * self.workers())]
            while under_way:
                finished, under_way = ray.wait(under_way)
                for one in finished:
                    done(ray.get(one))
                under_way += [task.remote(study, block) for block in islice(waiting, len(finished))]
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None  # what went wrong in a block is told as it is
        except ray.exceptions.RayError as error:
            last = str(error).strip().splitlines()[-1:]  # Ray says much
            raise StudyError(
                f"the Ray cluster was lost, or cannot read the study: {type(error).__name__}: {''.join(last).strip()}. "
                "Finished blocks are kept; run the study again to go on"
            ) from None


def _applied(study: list[Any], block: Any) -> Any:
    return _fetched(*study)(block)


def _warmed(study: list[Any]) -> None:
    _fetched(*study).warm()


@lru_cache(maxsize=2)
def _fetched(place: Any, folder: str | None) -> BlockWork:
    import ray

    if folder is not None:
        os.chdir(folder)
    work: BlockWork = ray.get(place)
    return work


def _require_answer(address: str | None) -> None:
    """Ray itself tries for minutes."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10.0).close()


@contextmanager
def ray_cluster(
    address: str | None, workers: int | None, cores: int, tell: Callable[[str], None]
) -> Iterator[RayEngine]:
    """Ray at an address; without one as it was started in this process, or on this machine alone."""
    if find_spec("ray") is None:
        raise StudyError("engine \"ray\" needs the package 'ray': pip install 'recursa[ray]'")
    import ray

    ours, folder = not ray.is_initialized(), None
    with safe_paths() if ours else nullcontext():
        try:
            if ours:
                _require_answer(address)
                folder = os.getcwd() if address is None else None
                information = _initialized(ray, address, workers or cores)
                if information.dashboard_url:
                    tell(f"dashboard: http://{information.dashboard_url}")
        except (OSError, ValueError, RuntimeError) as error:
            where = f" at '{address}'" if address else ""
            raise StudyError(f"there is no Ray cluster{where}: {error}. Start one with 'ray start --head'") from None
        try:
            yield RayEngine(ray, folder)
        finally:
            if ours:
                ray.shutdown()


def _initialized(ray: Any, address: str | None, cores: int) -> Any:
    """Start Ray, or connect to it, and return what it tells about itself.

    Ray has its workers search the directory in which it is initialised before all others; the one above this package
    has nothing in it that Python does not search anyway.
    """
    options = {"address": "local", "num_cpus": cores} if address is None else {"address": address}
    with chdir(Path(__file__).resolve().parents[2]):
        return ray.init(**options, configure_logging=False, log_to_driver=False)
