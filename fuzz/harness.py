"""Mutated inputs for everything that reads files or texts: ``make fuzz SECONDS=60``.

Whatever is read, the answer is a result or a RecursaError, within a bounded time, and no file is opened but the one
that was named. What breaks that is written to ``fuzz/found/``, with its reader in the name, and printed; the exit code
is then 1. ``python fuzz/harness.py fuzz/found/*`` reads such files again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import recursa as rc
from recursa.cli.state_file import read_state
from recursa.kernels import cache
from recursa.runs import journal
from recursa.runs.hdf5 import USER_BLOCK
from recursa.simulation.checkpoint import Kept

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import mjcf_texts
import sdf_texts
from damage import ELEMENTS, VALUES, damaged
from xacro_texts import CASES, macro_arm, robot

XML = ("urdf", "xacro", "sdf", "mjcf")
FOUND = Path(__file__).parent / "found"
MOST_SECONDS = 10  # for one input
WORDS = [
    b"nan", b"inf", b"-1", b"1e999", b"0", b"9" * 400, b"null", b"true", b"{}", b"[]", b'""', b"<", b">", b"&", b"\0",
    b"\x1b[2J", b"\xff", b"\xe2\x80\xae", b"world", b"__class__", b"../../etc/passwd", b"file:///etc/passwd", b",",
    b"\n",
]  # fmt: skip
OURS = (
    sysconfig.get_paths()["stdlib"],
    *filter(None, sys.path),
    str(Path(rc.__file__).parent),
    str(cache.directory() or os.devnull),
)


class TooSlowError(Exception):
    """An input took too long."""


def main() -> int:
    """Fuzz for a while, or read the cases given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("cases", nargs="*", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    opened: list[str] = []
    sys.addaudithook(lambda name, what: opened.append(str(what[0])) if name == "open" else None)
    with contextlib.suppress(AttributeError):
        signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if given.cases:
            read = [_broken(case.name.split("-")[0], case.read_bytes(), place, opened) for case in given.cases]
            return int(any(read))
        return _fuzz(given.seconds, given.seed, place, opened)


def _fuzz(seconds: float, seed: int | None, place: Path, opened: list[str]) -> int:
    seed = random.randrange(2**32) if seed is None else seed
    rng, corpus, counts = random.Random(seed), _corpus(place), Counter[str]()
    print(f"seed {seed}")
    end, found = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        reader = rng.choice(list(corpus))
        data = rng.choice(corpus[reader])
        data = _rearranged(data, rng) if reader in XML and rng.random() < 0.5 else _mutated(data, rng)
        data = SEALED.get(reader, bytes)(data)
        counts[reader] += 1
        found += _broken(reader, data, place, opened)
    print(f"{counts.total()} inputs: {', '.join(f'{n} {name}' for name, n in sorted(counts.items()))}; {found} found")
    return int(found > 0)


def _broken(reader: str, data: bytes, place: Path, opened: list[str]) -> bool:
    """Whether an input does what none may do; then it is kept."""
    file = place / f"input{SUFFIXES.get(reader, '')}"
    file.write_bytes(data)
    opened.clear()
    why = ""
    try:
        if hasattr(signal, "alarm"):
            signal.alarm(MOST_SECONDS)
        READERS[reader](file)
    except rc.RecursaError:
        pass
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        why = traceback.format_exc()
    finally:
        if hasattr(signal, "alarm"):
            signal.alarm(0)
    others = [one for one in opened if one != str(file) and not one.startswith(OURS) and not one.isdigit()]
    why = why or (f"opened {others}" if others else "")
    if why:
        FOUND.mkdir(exist_ok=True)
        kept = FOUND / f"{reader}-{hashlib.sha256(data).hexdigest()[:12]}"
        kept.write_bytes(data)
        print(f"{kept}:\n{why}")
    return bool(why)


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"more than {MOST_SECONDS} s")


# ---- what is read ----------------------------------------------------------------------------------------------------

ARM = rc.robots.planar(2)


def _robot(file: Path) -> None:
    rc.load(file)


def _formula(file: Path) -> None:
    rc.parse(file.read_bytes().decode(errors="replace"), ARM)


READERS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys(XML, _robot),
    "robot_json": _robot,
    "dh": _robot,
    "csv": lambda file: rc.Trajectory.from_csv(file, ARM),
    "torque": lambda file: rc.TorqueTable.from_csv(file, ARM),
    "state": lambda file: read_state(ARM, str(file)),
    "formula": _formula,
    "h5": rc.read,
    "checkpoint": Kept,
}
SUFFIXES = {
    **{name: f".{name}" for name in XML},
    "robot_json": ".json",
    "dh": ".json",
    "csv": ".csv",
    "torque": ".csv",
    "h5": ".h5",
}


def _corpus(place: Path) -> dict[str, list[bytes]]:
    def written(write: Callable[[Path], Any], name: str) -> bytes:
        write(place / name)
        return (place / name).read_bytes()

    run = ARM.simulate([0.1, 0.2], duration=0.02, dense=True, checkpoint=place / "run.part", progress=False)
    arms = [rc.robots.panda_like(), rc.robots.free_flyer(1)]
    return {
        "urdf": [arm.to_urdf().encode() for arm in arms],
        "xacro": [text.encode() for text in (macro_arm(3), *(robot(case.inside) for case in CASES.values()))],
        "sdf": [text.encode() for text in (*sdf_texts.TEXTS.values(), *sdf_texts.INCLUDES.values(), sdf_texts.HAND)],
        "mjcf": [text.encode() for text in (*(arm.to_mjcf() for arm in arms), *mjcf_texts.TEXTS.values())],
        "robot_json": [written(arm.save, "arm.robot.json") for arm in arms],
        "dh": [written(rc.robots.stanford().to_dh().save, "table.json")],
        "csv": [written(run.save, "run.csv")],
        "torque": [b"t,joint1,joint2\n0,1,2\n1,2,3\n"],
        "state": [b'{"q": [0.1, 0.2], "v": {"joint1": 1}}'],
        "formula": [b"H phi M phi* H*", b"inv(I + H psi K) D"],
        "h5": [written(run.save, "run.h5")],
        "checkpoint": [(place / "run.part").read_bytes()],
    }


# ---- how it is changed -----------------------------------------------------------------------------------------------


def _mutated(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 30, 300))
        piece = data[at : at + length]
        put = rng.choice(
            (b"", piece * 2, rng.choice(WORDS), rng.randbytes(len(piece)), piece[::-1], data[: rng.randrange(60)])
        )
        data = data[:at] + put + data[at + length :]
    return data


def _rearranged(data: bytes, rng: random.Random) -> bytes:
    """Elements and values of XML, as the tests damage them."""
    found = damaged([data.decode()], [*VALUES, *ELEMENTS], rng)
    return found if isinstance(found, bytes) else found.encode(errors="surrogatepass")


def _sealed_run(data: bytes) -> bytes:
    """With a right first line: a checksum would refuse nearly all else."""
    body = data[USER_BLOCK:]
    start = max(body.rfind(b'{"recursa"'), 0)
    checksum = hashlib.sha256(body).hexdigest()
    head = (
        f"recursa run 2, Recursa {rc.__version__}, sha256 {checksum}, {len(body)} bytes follow\n"
        f"index of {len(body) - start} bytes at the end\n"
    )
    return head.encode().ljust(USER_BLOCK, b"\0") + body


def _sealed_checkpoint(data: bytes) -> bytes:
    """Blocks with right checksums, wherever what looks like one begins."""
    first, *blocks = data.split(journal._MARK)
    return first + b"".join(journal.block(one[journal._HEAD.size - len(journal._MARK) :]) for one in blocks)


SEALED: dict[str, Callable[[bytes], bytes]] = {"h5": _sealed_run, "checkpoint": _sealed_checkpoint}


if __name__ == "__main__":
    sys.exit(main())
