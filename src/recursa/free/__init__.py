"""Free flyers and space robots: momentum, the generalised Jacobian, reactionless motion, links by themselves.

The robot hangs on one free joint and nothing holds it: ``robot.is_floating``, by ``rc.load(..., floating=True)`` or one
joint of kind "free" at the world. Its speeds are ``v = (base, joints)``: six of the base link, in link axes at its
origin, then those of the joints, here called ``rates``. Momentum is (angular about the centre of mass, linear) in world
axes, as :meth:`Robot.momentum` gives it. See ``docs/free-flyers.md``.
"""

from recursa.free.dual import DualQuantities as DualQuantities
from recursa.free.dual import dual_quantities as dual_quantities
from recursa.free.floating_base import FreeInverseDynamics as FreeInverseDynamics
from recursa.free.floating_base import generalized_inertia as generalized_inertia
from recursa.free.floating_base import inverse_dynamics as inverse_dynamics
from recursa.free.momentum import FreeMotion as FreeMotion
from recursa.free.momentum import MomentumMaps as MomentumMaps
from recursa.free.momentum import base_response as base_response
from recursa.free.momentum import base_velocity as base_velocity
from recursa.free.momentum import generalized_jacobian as generalized_jacobian
from recursa.free.momentum import link_velocity as link_velocity
from recursa.free.momentum import locked_inertia as locked_inertia
from recursa.free.momentum import momentum_maps as momentum_maps
from recursa.free.momentum import move_joints as move_joints
from recursa.free.momentum import reaction_null_projector as reaction_null_projector
from recursa.free.momentum import reaction_null_rates as reaction_null_rates
from recursa.free.reorientation import Reorientation as Reorientation
from recursa.free.reorientation import reorient as reorient
from recursa.free.simulated_links import LinkRun as LinkRun
from recursa.free.simulated_links import simulate_links as simulate_links
