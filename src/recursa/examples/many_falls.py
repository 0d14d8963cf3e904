# %% [markdown]
# # A thousand falls at once
# `rc.rollout` moves a whole batch in compiled code. Here every arm starts elsewhere, and we ask how fast the flange
# gets.

# %%
import numpy as np

import recursa as rc

robot = rc.robots.panda_like()
q0 = np.stack([robot.random_state(seed)[0] for seed in range(1000)])
v0 = np.zeros((1000, robot.nv))
fall = rc.rollout(robot, q0, v0, None, step=1e-3, steps=300, save_every=10)
print("saved states:", fall.q.shape)

# %% [markdown]
# Speeds of the flange: a Jacobian for each of the 30,000 states, times the speeds of the joints.

# %%
J = robot.jacobian(fall.q, "flange", frame="mixed")
speed = np.linalg.norm(np.einsum("...ij,...j->...i", J, fall.v)[..., 3:], axis=-1)
assert speed.shape == fall.q.shape[:2]
print(f"half of the arms are faster than {np.median(speed[:, -1]):.2f} m/s at the end")
