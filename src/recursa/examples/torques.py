# %% [markdown]
# # Torques and gravity compensation of an arm
# Put the path of your own URDF in the place of the first argument of `rc.load`.

# %%
import numpy as np

import recursa as rc

robot = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
print(robot.doctor())
print(*robot.v_names)

# %% [markdown]
# The torques that hold a posture are the gravity forces. Beside them stand the limits that the file gives.

# %%
q = {"shoulder": 0.6, "elbow": 1.0}
hold = robot.gravity_forces(q)
for name, needed, limit in zip(robot.v_names, hold, robot.effort_limits, strict=True):
    print(f"{name:18} {needed:8.3f} of {limit:6.2f}")

# %% [markdown]
# A controller that carries the weight and pulls the joints to a posture. It is a function of time and state.

# %%
goal = robot.neutral()
goal[1], goal[2] = 0.6, 1.0


def controller(t, q, v):
    return robot.gravity_forces(q) + 8.0 * (goal - q) - 1.0 * v


run = robot.simulate(robot.neutral(), duration=2.0, torque=controller, progress=False)
assert np.abs(run.q[-1] - goal).max() < 0.05
print("arrived; the largest torque was", round(float(np.abs(run.tau).max()), 2), "N m")
run.plot("torques.png")
run.to_html("torques.html")
