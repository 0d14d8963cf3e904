# %% [markdown]
# # A formula of the papers becomes code
# The inverse of the mass matrix, times torques without bias forces: forward dynamics, in the notation of spatial
# operators.

# %%
import numpy as np

import recursa as rc

robot = rc.robots.puma560()
formula = rc.parse("inv(H phi M phi* H* + A) (T - C)", robot)  # A: the inertia of the rotors
f = rc.compile(formula)
q, v = robot.random_state(seed=1)
tau = np.ones(robot.nv)
assert np.allclose(f(q, v, tau), robot.forward_dynamics(q, v, tau))

# %% [markdown]
# Which identities made it cheap, and the sweeps that are left:

# %%
print(str(rc.explain(formula, robot)).split("5 link step")[0])
