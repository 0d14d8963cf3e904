"""Controllers: objects with ``torque(t, q, v)``, for :meth:`Robot.simulate`, :func:`recursa.rollout` and own loops.

- :class:`GravityPD`: springs and dampers at the joints, gravity compensated.
- :class:`ComputedTorque`: follows a motion of the joints, with all inertias.
- :class:`Adaptive`: follows a motion of the joints, and learns the inertias.
- :class:`LinearQuadratic`: follows a motion of the joints with gains from linear models along it.
- :class:`Impedance`: a link on a spring.
- :class:`Admittance`: a link that moves as a mass on a spring would under a measured force.
- :class:`OperationalSpace`: follows a pose, or a motion of a link.
- :class:`RateDamping`: stops a robot; Jain & Rodriguez, control 8.1.
- :class:`PoseRegulator`: pulls a link towards a pose; control 8.2, corrected.
- :class:`Law`: what all of them are, and what a law of one's own is derived from.
"""

from recursa.control.adaptive import Adaptive as Adaptive
from recursa.control.at_link import PoseLine as PoseLine
from recursa.control.impedance import Admittance as Admittance
from recursa.control.impedance import Impedance as Impedance
from recursa.control.law import Law as Law
from recursa.control.law import Saturation as Saturation
from recursa.control.linear_quadratic import LinearQuadratic as LinearQuadratic
from recursa.control.operational_space import OperationalSpace as OperationalSpace
from recursa.control.pose_regulator import PoseRegulator as PoseRegulator
from recursa.control.pose_regulator import PoseReport as PoseReport
from recursa.control.tracking import ComputedTorque as ComputedTorque
from recursa.control.tracking import GravityPD as GravityPD
from recursa.control.tracking import RateDamping as RateDamping
