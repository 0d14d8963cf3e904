# %% [markdown]
# # From a pose of the tool to a motion and its torques
# Inverse kinematics finds where the joints have to be, a cycloid takes them there, inverse dynamics has the torques.

# %%
import numpy as np

import recursa as rc

robot = rc.robots.panda_like()
start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.0])
down = np.array([[1, 0, 0, 0.45], [0, -1, 0, 0.20], [0, 0, -1, 0.30], [0, 0, 0, 1.0]])
found = rc.inverse_kinematics(robot, "flange", down, start)
assert found.solved
print("joints:", np.round(found.q, 3))

# %% [markdown]
# The motion takes 1.2 seconds. All instants go through inverse dynamics in one call.

# %%
motion = rc.Trajectory.cycloid(start, found.q, 1.2, robot=robot)
q, v, a = motion.sample(motion.times(121))
tau = robot.inverse_dynamics(q, v, a)
print("largest torques:", np.round(np.abs(tau).max(axis=0), 1), "N m")
motion.to_html("reach.html")
