# %% [markdown]
# # Mechanisms in motion, whose loops stay closed
# From rest, or with a push where gravity does not move it. `recursa demo --loops` runs this.

# %%
import json
from pathlib import Path

import numpy as np

import recursa as rc
from recursa.bundled import MECHANISMS
from recursa.plotting import draw

SECONDS = 0.3


def work_through(name, folder):
    """One mechanism, its picture and the page of its motion."""
    robot = rc.robots.by_name(name)
    q = robot.neutral()
    v = robot.project_velocity(q, np.linspace(-0.2, 0.3, robot.nv))
    run = robot.simulate(q, v, duration=SECONDS, rtol=1e-8, atol=1e-10, progress=False)
    draw(robot, q, f"{folder}/{name}.png")
    run.to_html(f"{folder}/{name}.html")  # where it can be stopped, posed, pulled and let go
    return {
        "joint speeds": robot.nv,
        "equations": robot.ncon,
        "freedoms": robot.mobility(q).freedoms,
        "steps": run.statistics["steps"],
        "open by, m or rad": np.abs(robot.constraint_error(run.q)).max(),
        "energy drift": run.energy_drift,
    }


def run(folder):
    """All of them."""
    return {name: work_through(name, folder) for name in MECHANISMS}


# %%
if __name__ == "__main__":
    Path("mechanisms").mkdir(exist_ok=True)
    print(json.dumps(run("mechanisms"), indent=2))
