"""Saha's decoupled natural orthogonal complement (DeNOC): its matrices, for those who want to see them.

The twists of all links, taken at mass centres, are ``t = N qd`` with ``N = N_l N_d``; N^T removes the constraint
wrenches from the stacked Newton-Euler equations and leaves ``I qdd + C qd = tau`` (20). Inverse dynamics, forward
dynamics and the mass matrix along these lines are ``method="denoc"`` of :meth:`Robot.inverse_dynamics`,
:meth:`Robot.forward_dynamics` and :meth:`Robot.mass_matrix`; here are the pieces. The paper is about serial chains of
joints that turn or slide; everything here also does trees and joints with several freedoms.

Twists and wrenches are angular part first, at the link's mass centre, in world axes. Links are the moving bodies, base
first; where no link is outward of the other, blocks are zero. Equation numbers are Saha's. See ``docs/denoc.md``.
"""

from recursa.denoc.complement import Complement as Complement
from recursa.denoc.complement import Expressions as Expressions
from recursa.denoc.complement import expressions as expressions
from recursa.denoc.complement import extended_mass as extended_mass
from recursa.denoc.complement import extended_mass_rate as extended_mass_rate
from recursa.denoc.complement import joint_wrenches as joint_wrenches
from recursa.denoc.complement import natural_orthogonal_complement as natural_orthogonal_complement
from recursa.denoc.complement import natural_orthogonal_complement_rates as natural_orthogonal_complement_rates
from recursa.denoc.complement import to_mass_centers as to_mass_centers
from recursa.denoc.complement import twist_rates as twist_rates
from recursa.denoc.complement import twists as twists
from recursa.denoc.decoupled_equations import Articulated as Articulated
from recursa.denoc.decoupled_equations import Factors as Factors
from recursa.denoc.decoupled_equations import articulated as articulated
from recursa.denoc.decoupled_equations import convective_matrix as convective_matrix
from recursa.denoc.decoupled_equations import generalized_forces as generalized_forces
from recursa.denoc.decoupled_equations import generalized_inertia as generalized_inertia
from recursa.denoc.decoupled_equations import udu as udu
from recursa.denoc.inertia_and_convection import EliminationStep as EliminationStep
from recursa.denoc.inertia_and_convection import ReverseElimination as ReverseElimination
from recursa.denoc.inertia_and_convection import reverse_gaussian_elimination as reverse_gaussian_elimination
