"""Inputs led by coverage: ``python fuzz/guided.py urdf 10000`` reads so many for one reader, if atheris is there.

What :mod:`harness` finds it finds here, too, and in the same folder. Inputs that reach new code are kept while it runs,
and changed further; mutations are those of the harness and libFuzzer's in turn.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["recursa"]):
    from harness import Watch
    from mutations import SEALED, changed
    from readers import READERS, corpus


def main(reader: str, inputs: int) -> int:
    """Exit code 1 where something was found."""
    if reader not in READERS:
        sys.exit(f"no reader '{reader}'; there are: {', '.join(READERS)}")
    place = Path(tempfile.mkdtemp())
    good = place / "good"
    good.mkdir()
    for number, data in enumerate(corpus(place)[reader]):
        (good / str(number)).write_bytes(data)
    watch, seal, found = Watch(place), SEALED.get(reader, bytes), [0]

    def read(data: bytes) -> None:
        if watch.broken(reader, seal(data)):
            found[0] += 1
            if found[0] >= 20:
                raise RuntimeError("more than enough")

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        return changed(reader, data, rng)[:size] if rng.random() < 0.5 else atheris.Mutate(data, size)

    arguments = [sys.argv[0], str(good), f"-runs={inputs}", "-max_len=60000", "-timeout=60", "-print_final_stats=1"]
    atheris.Setup(arguments, read, custom_mutator=lambda data, size, seed: mutate(data, size, seed))
    atheris.Fuzz()
    return int(found[0] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
