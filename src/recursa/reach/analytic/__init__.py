"""Inverse kinematics in closed form: all branches of arms whose axes meet or are parallel."""
