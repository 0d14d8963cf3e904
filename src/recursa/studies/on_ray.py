"""Blocks on Ray: on this machine, or on a cluster. Distribution and retries are Ray's."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from typing import Any

from recursa.errors import StudyError
from recursa.studies.workers import AHEAD, Work, applied, elsewhere, introduced, require_same_package, warmed


class RayEngine:
    """Ray, as it was started or found."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
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

    def run(self, work: Work, blocks: Iterable[range], done: Callable[[Any], None]) -> None:
        """See :class:`recursa.studies.engines.Engine`."""
        ray, waiting = self._ray, iter(blocks)
        try:
            study = [ray.put(work)]  # in a list: the workers fetch it themselves, once
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


def _applied(study: list[Any], rows: range) -> Any:
    return applied(_fetched(study[0]), rows)


def _warmed(study: list[Any]) -> None:
    warmed(_fetched(study[0]))


@lru_cache(maxsize=2)
def _fetched(place: Any) -> Work:
    import ray

    found: Work = ray.get(place)
    return found


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

    ours = not ray.is_initialized()
    try:
        if ours:
            _require_answer(address)
            here = {"address": "local", "num_cpus": workers or cores} if address is None else {"address": address}
            told = ray.init(**here, configure_logging=False, log_to_driver=False)
            if told.dashboard_url:
                tell(f"dashboard: http://{told.dashboard_url}")
    except (OSError, ValueError, RuntimeError) as error:
        where = f" at '{address}'" if address else ""
        raise StudyError(f"there is no Ray cluster{where}: {error}. Start one with 'ray start --head'") from None
    try:
        yield RayEngine(ray)
    finally:
        if ours:
            ray.shutdown()
