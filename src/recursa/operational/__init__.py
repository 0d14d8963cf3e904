"""Dynamics in operational space, ``rc.operational``: compliances and inertias of links, equations of motion of tasks.

What :class:`Robot` answers by itself (compliances, inertias, the Delassus matrix) is in ``robot_methods.py``; here are
equations of motion at links, for tasks of any number of coordinates. With as many coordinates as the robot has speeds
they are those of :mod:`recursa.cartesian`.
"""

from recursa.operational.task_model import TaskModel as TaskModel
from recursa.operational.task_model import consistent_inverse as consistent_inverse
from recursa.operational.task_model import model as model
