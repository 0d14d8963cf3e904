"""What processes of a cluster do for a study beside computing blocks: say who they are, make the kernels ready."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from recursa.errors import StudyError
from recursa.kernels.records import package_mark
from recursa.studies.block_work import BlockWork

AHEAD = 2  # blocks a worker, under way: one that is computed, one that waits

Who = tuple[str, tuple[str, str, str]]


def introduced() -> Who:
    """The machine that this process runs on, and the package that it has."""
    return platform.node(), package_mark()


def warmed(work: BlockWork) -> None:
    """The kernels of this machine are ready."""
    work.warm()


def require_same_package(found: Mapping[str, Who], what: str) -> None:
    """Bits are only equal where the code is; ``found`` by the names of workers, ``what`` they are workers of."""
    _, ours = introduced()
    for worker, (_, theirs) in found.items():
        differ = [
            f"{name} {one or 'unknown'}, here {other or 'unknown'}"
            for name, one, other in zip(("Recursa", "its sources", "NumPy"), theirs, ours, strict=True)
            if one != other and one and other
        ]
        if differ:
            raise StudyError(
                f"{what} worker '{worker}' has {'; '.join(differ)}. Results would not be equal to the bit: install "
                "the same versions on all machines"
            )


def elsewhere(found: Mapping[str, Who]) -> list[str]:
    """One worker of every machine but this one, whose kernels were made before anything was sent."""
    one_of = {machine: worker for worker, (machine, _) in found.items()}
    return [worker for machine, worker in one_of.items() if machine != introduced()[0]]
