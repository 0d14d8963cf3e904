"""Loading beside peers: ``python benchmarks/loading.py [--rounds 30] [MODEL.xml ...]``; prints a table in Markdown.

From a text in memory to a robot that can be asked, in every format, beside the program that does the same job:
Pinocchio for URDF, MuJoCo's compiler for MJCF, the xacro tool followed by Pinocchio for xacro, Drake for SDF; each
where it is installed. Best times, ours and theirs in turns, so that a busy machine slows both. Ours include shapes and
the doctor's checks; Pinocchio's and Drake's models have no shapes. MJCF files that are named are read with their
meshes, from the folder above their own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

os.environ.setdefault("RECURSA_COMPILE", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import recursa as rc
from mjcf_texts import CONSTRAINED, PENDULUM
from robot_files import CSV, JSON, YAML
from sdf_texts import TEXTS as SDF_TEXTS
from xacro_texts import macro_arm

URDF_FILES = ("panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf",
              "hyq_description/robots/hyq_no_sensors.urdf", "talos_data/robots/talos_reduced.urdf")  # fmt: skip


class Case(NamedTuple):
    """A text, how a peer reads it, and the peer's name."""

    format: str
    name: str
    ours: Callable[[], Any]
    peer: str = ""
    theirs: Callable[[], Any] | None = None


def data() -> Path | None:
    """Where the robots of example-robot-data are."""
    inside = "cmeel.prefix/share/example-robot-data/robots"
    return next((Path(place, inside) for place in sys.path if Path(place, inside).is_dir()), None)


def ours(text: str | bytes, format: str, **options: Any) -> Callable[[], Any]:
    """Our reading of a text."""
    return partial(rc.load, text, format=format, strict=False, **options)  # type: ignore[arg-type]


def urdfs() -> Iterator[Case]:
    """Real URDF files, by Pinocchio."""
    import pinocchio

    for file in URDF_FILES if (robots := data()) else ():
        text = (robots / file).read_text(encoding="utf-8")
        yield Case("urdf", Path(file).stem, ours(text, "urdf"), "Pinocchio",
                   partial(pinocchio.buildModelFromXML, text))  # fmt: skip


def mjcfs() -> Iterator[Case]:
    """MJCF by MuJoCo's own compiler: ours calls it, too, on a text that was made safe."""
    import mujoco

    texts = {"pendulum": PENDULUM, "constrained": CONSTRAINED, "panda_like": rc.robots.panda_like().to_mjcf()}
    texts["tree of 40"] = rc.robots.tree(40, seed=1).to_mjcf()
    for name, text in texts.items():
        yield Case("mjcf", name, ours(text, "mjcf"), "MuJoCo", partial(mujoco.MjModel.from_xml_string, text))


def mjcf_files(paths: list[Path]) -> Iterator[Case]:
    """MJCF files with their meshes, by MuJoCo's own compiler."""
    import mujoco

    for path in paths:
        load = partial(rc.load, path, assets=path.resolve().parents[1], strict=False)
        theirs = partial(mujoco.MjModel.from_xml_path, str(path))
        yield Case("mjcf", f"{path.parent.name}/{path.name}", load, "MuJoCo", theirs)


def xacros() -> Iterator[Case]:
    """xacro by the tool of that name, which makes a URDF, and Pinocchio, which makes a model of it."""
    import pinocchio
    import xacro

    def theirs(text: str) -> Any:
        document = xacro.parse(io.StringIO(text))
        xacro.process_doc(document)
        return pinocchio.buildModelFromXML(document.toxml())

    for count in (2, 7, 30):
        text = macro_arm(count)
        yield Case("xacro", f"macro, {count} calls", ours(text, "xacro"), "xacro, Pinocchio", partial(theirs, text))


def sdfs() -> Iterator[Case]:
    """SDF by Drake."""
    texts = {name: SDF_TEXTS[name] for name in ("frames",) if name in SDF_TEXTS}
    if robots := data():
        texts["cassie"] = (robots / "cassie_description/robots/cassie_v2.sdf").read_text(encoding="utf-8")
    texts |= {path.stem: path.read_text(encoding="utf-8") for path in drake_files()}
    for name, text in texts.items():
        yield Case("sdf", name, ours(text, "sdf"), "Drake", partial(in_drake, text) if drake_reads(text) else None)


def drake_files() -> list[Path]:
    """Robots that come with Drake."""
    found = find_spec("pydrake")
    places = found.submodule_search_locations if found else None
    return sorted(Path(places[0], "share/drake/examples").rglob("*.sdf"))[:6] if places else []


def drake_reads(text: str) -> bool:
    """Whether Drake is there and takes the text: of loops it makes no plant."""
    logging.getLogger("drake").setLevel(logging.ERROR)
    try:
        in_drake(text)
    except (ImportError, RuntimeError):
        return False
    return True


def in_drake(text: str) -> Any:
    """Drake's plant of an SDF."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    return plant


def tables() -> Iterator[Case]:
    """What nobody else reads."""
    panda = rc.robots.panda_like()
    from recursa.formats.recursa_json import write_recursa

    yield Case("recursa", "panda_like", ours(write_recursa(panda.model), "recursa"))
    for name, text in (("json", JSON), ("yaml", YAML), ("csv", CSV)):
        yield Case("dh", name, ours(text.replace("CONVENTION", "modified"), "dh"))


def best(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The shortest time of every call, taken in turns."""
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = perf_counter()
            call()
            times[k] = min(times[k], perf_counter() - start)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| format | file | Recursa, ms | peer, ms | | ratio |\n|---|---|---|---|---|---|")
    for kind in (partial(mjcf_files, given.files),) if given.files else (urdfs, mjcfs, xacros, sdfs, tables):
        with contextlib.suppress(ImportError):
            for case in kind():
                times = best([case.ours, *([case.theirs] if case.theirs else [])], given.rounds)
                peer = f"{1e3 * times[1]:.2f} | {case.peer} | {times[0] / times[1]:.2f}" if case.theirs else "| |"
                print(f"| {case.format} | {case.name} | {1e3 * times[0]:.2f} | {peer} |")


if __name__ == "__main__":
    main()
