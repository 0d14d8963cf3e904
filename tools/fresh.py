"""What ``make dist`` made, as a stranger meets it: ``make fresh``.

Every wheel of ``dist/`` that suits this Python, and the source distribution, is installed into an empty environment,
with a compiler that always fails, and tried from a folder that has nothing to do with this one. The wheel with the C
extension shows versions, the demo, files and answers that are known. The others have to do without: they are imported,
interpret a quantity with a warning, and say what cannot run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

DIST = Path(__file__).parents[1] / "dist"
CALLS = """
import numpy as np, recursa as rc
arm = rc.robots.puma560()
q, v = arm.random_state(1)
tau = arm.inverse_dynamics(q, v, np.ones(arm.nv))
assert np.allclose(arm.forward_dynamics(q, v, tau), 1.0)
assert np.allclose(arm.inverse_dynamics(np.tile(q, (70, 1)), np.tile(v, (70, 1)), np.ones((70, arm.nv))), tau)
assert np.isclose(rc.robots.planar(2).mass_matrix([0.0, 0.0])[1, 0], rc.robots.planar(2).mass_matrix([0.3, 0.0])[0, 1])
assert rc.robots.by_name("desk_arm").nv > 0
run = arm.simulate(q, duration=0.05)
assert np.isfinite(run.q).all()
assert len(rc.robots.planar(3).save("arm.robot.json").read_bytes()) > 100
assert rc.load("arm.robot.json").nv == 3
rc.robots.by_name("desk_arm").to_html("arm.html")
import recursa._entry
print("extension")
"""
INTERPRETED = """
import warnings, numpy as np, recursa as rc
from recursa.errors import NativeCodeError
from recursa.kernels.switch import NoCompilerWarning
arm = rc.robots.puma560()
q, v = arm.random_state(1)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert np.allclose(arm.forward_dynamics(q, v, arm.inverse_dynamics(q, v, np.ones(arm.nv))), 1.0)
assert [one.category for one in said] == [NoCompilerWarning]
try:
    rc.inverse_kinematics(arm, "link6", arm.pose(q, "link6"))
except NativeCodeError:
    print("no extension")
"""


def main() -> int:
    """1 if one of them does not work."""
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}-"
    found = sorted(one for one in DIST.glob("recursa-*") if one.suffix in (".whl", ".gz"))
    suited = [one for one in found if one.suffix == ".gz" or "-py3-none-any" in one.name or here in one.name]
    if not suited:
        sys.exit("there is nothing in dist/: make dist")
    told = {one.name: _tried(one, with_extensions=here in one.name) for one in suited}
    for name, trouble in told.items():
        print(f"{name}: {trouble or 'works'}")
    return int(any(told.values()))


def _tried(file: Path, *, with_extensions: bool) -> str:
    """What does not work; empty if all does."""
    with tempfile.TemporaryDirectory() as folder:
        place, elsewhere = Path(folder, "environment"), Path(folder, "elsewhere")
        elsewhere.mkdir()
        venv.create(place, with_pip=True)
        scripts = place / ("Scripts" if os.name == "nt" else "bin")
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RECURSA_EXTENSIONS")}
        environment = kept | {"CC": "/bin/false", "RECURSA_CACHE": str(Path(folder, "cache")), "MPLBACKEND": "agg"}
        python, program = str(scripts / "python"), str(scripts / "recursa")
        demo = [[program, "demo", "--out", "shown"]] if with_extensions else []
        for command in (
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(file)],
            [program, "--version"],
            [program, "info", "desk_arm"],
            *demo,
            [python, "-c", CALLS if with_extensions else INTERPRETED],
        ):
            done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"FAILED: {' '.join(command)[:200]}\n{done.stdout}{done.stderr}"
        wanted = "extension" if with_extensions else "no extension"
        return "" if done.stdout.strip() == wanted else f"FAILED: has {done.stdout.strip()}, expected {wanted}"


if __name__ == "__main__":
    sys.exit(main())
