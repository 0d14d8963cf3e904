"""How a robot moves: equations of motion, integrators on the configuration manifold, events, runs.

Imported when ``robot.simulate`` is first called: SciPy takes longer to import than the rest of the package.
"""
