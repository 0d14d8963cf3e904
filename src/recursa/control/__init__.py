"""Controllers: objects with ``torque(t, q, v)``, for :meth:`Robot.simulate` and for loops of one's own, ``rc.control``.

- :class:`RateDamping`: stops a robot; Jain & Rodriguez, control 8.1.
- :class:`PoseRegulator`: pulls a link towards a pose; control 8.2, corrected.
- :class:`ComputedTorque`: follows a motion of the joints.
- :class:`OperationalSpace`: follows a pose, or a motion of a link.
- :class:`LinearQuadratic`: follows a motion of the joints with gains from linear models along it.
"""

from recursa.control.computed_torque import ComputedTorque as ComputedTorque
from recursa.control.law import Law as Law
from recursa.control.law import Saturation as Saturation
from recursa.control.linear_quadratic import LinearQuadratic as LinearQuadratic
from recursa.control.operational_space import OperationalSpace as OperationalSpace
from recursa.control.pose_line import PoseLine as PoseLine
from recursa.control.pose_regulator import PoseRegulator as PoseRegulator
from recursa.control.pose_regulator import PoseReport as PoseReport
from recursa.control.rate_damping import RateDamping as RateDamping
