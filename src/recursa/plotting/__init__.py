"""Pictures: robots, motions, animations. Needs matplotlib, imported when something is drawn, and no display."""

from recursa.plotting.animation import animate as animate
from recursa.plotting.arm import Skeleton as Skeleton
from recursa.plotting.arm import draw as draw
from recursa.plotting.arm import skeleton as skeleton
from recursa.plotting.motion_plots import plot_motion as plot_motion
from recursa.plotting.panels import Panel as Panel
from recursa.plotting.panels import draw_panels as draw_panels
from recursa.plotting.panels import plot_diagonal as plot_diagonal
