"""The LLVM text of every kernel that some robots ask for, as hashes: what a change of structure must not change.

    python benchmarks/kernel_texts.py > before.txt            # on the state before
    python benchmarks/kernel_texts.py --against before.txt    # and after: what is gone, and what is new

Every public question of ``tests/questions.py`` is put to every robot, for one state and for a batch.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import recursa as rc
import zoo
from questions import QUESTIONS, arguments
from recursa.kernels import kernel, native
from recursa.kernels.writer import Shape

ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "stanford": rc.robots.stanford,
    "panda_like": rc.robots.panda_like,
    "free_flyer": rc.robots.free_flyer,
    "small_mixed_tree": zoo.small_mixed_tree,
    "tree": lambda: rc.robots.tree(13, branching=3, seed=1),
    "space_robot": rc.robots.space_robot,
    "floating_tree_with_rotors": zoo.floating_tree_with_rotors,
}
_SHAPE = Shape(4, False)


def texts(name: str) -> Iterator[str]:
    """A line per kernel: the robot, the form, the hash of its text for four lanes."""
    robot, values = ROBOTS[name](), {count: arguments(ROBOTS[name](), count) for count in (1, 3)}
    found: set[str] = set()

    def noted(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        digest = hashlib.sha256(self._program.ir(_SHAPE).encode()).hexdigest()
        found.add(f"{name} {self.form} {digest[:24]}")

    made = kernel.Kernel.__init__
    kernel.Kernel.__init__ = noted  # type: ignore[method-assign]
    try:
        for question in QUESTIONS.values():
            if question.name not in ("rollout", "move_joints", "simulate_links", "base_parameters", "is_flat"):
                for rows in values.values():
                    question.ask(robot, rows)
    finally:
        kernel.Kernel.__init__ = made  # type: ignore[method-assign]
    yield from sorted(found)


def main() -> int:
    """Print the hashes, or compare them with those of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="what this script printed before")
    parser.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=list(ROBOTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    native.Effort.level = 0  # the text is the same, and what is compiled compiles sooner
    now = [line for name in options.robots for line in texts(name)]
    if options.against is None:
        print("\n".join(now))
        return 0
    before = options.against.read_text(encoding="utf-8").split("\n")[:-1]
    for sign, lines in (("-", set(before) - set(now)), ("+", set(now) - set(before))):
        for line in sorted(lines):
            print(sign, line)
    print(f"{len(now)} kernels: {len(set(before) - set(now))} gone, {len(set(now) - set(before))} new", file=sys.stderr)
    return int(set(before) != set(now))


if __name__ == "__main__":
    sys.exit(main())
