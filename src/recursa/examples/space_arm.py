# %% [markdown]
# # An arm that moves without turning its spacecraft
# With zero momentum the base answers every motion of the joints. Speeds in the null space of that answer
# do not turn it.

# %%
import numpy as np

import recursa as rc

robot = rc.robots.space_robot()  # a bus with two arms; the first six freedoms are those of the bus
q = robot.neutral()
wanted = np.zeros(robot.nv - 6)
wanted[1] = 0.5  # rad/s of one joint
M = robot.mass_matrix(q)
answer = -np.linalg.solve(M[:6, :6], M[:6, 6:])  # the velocity of the bus for unit speeds of the joints
print("alone it turns the bus with", np.round(np.linalg.norm(answer[:3] @ wanted), 4), "rad/s")
quiet = rc.free.reaction_null_rates(robot, q, wanted)
assert np.abs(answer[:3] @ quiet).max() < 1e-12
print("the nearest speeds of both arms that do not turn it:", np.round(quiet, 3))

# %% [markdown]
# Two seconds of each: the bus turns, and does not turn.

# %%
times = np.linspace(0.0, 2.0, 41)


def one_joint(t, q):
    return wanted


def both_arms(t, q):
    return rc.free.reaction_null_rates(robot, q, wanted)


turned = {}
for rates in (one_joint, both_arms):
    motion = rc.free.move_joints(robot, q, rates, times)
    turned[rates.__name__] = np.degrees(np.linalg.norm(robot.difference(motion.q[0], motion.q[-1])[:3]))
    print(f"{rates.__name__}: the bus has turned by {turned[rates.__name__]:.2f} degrees")
assert turned["one_joint"] > 1 > 1e-4 > turned["both_arms"]
robot.to_html("space_arm.html", motion.q[-1])
