"""How fast a robot can go along a path: geometry, time-optimal timing, motions between poses."""
