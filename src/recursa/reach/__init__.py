"""Reaching: joint positions that put links where they are wanted."""

from recursa.reach.goals import Along as Along
from recursa.reach.goals import CenterOfMass as CenterOfMass
from recursa.reach.goals import Goal as Goal
from recursa.reach.goals import Line as Line
from recursa.reach.goals import LookAt as LookAt
from recursa.reach.goals import Orientation as Orientation
from recursa.reach.goals import Plane as Plane
from recursa.reach.goals import Pose as Pose
from recursa.reach.goals import Position as Position
from recursa.reach.goals import Relative as Relative
