"""Dynamics in the coordinates of a link, ``rc.cartesian``; the code is in ``operational/cartesian_model.py``."""

from recursa.operational.cartesian_model import MAX_CONDITION as MAX_CONDITION
from recursa.operational.cartesian_model import CartesianLinearization as CartesianLinearization
from recursa.operational.cartesian_model import CartesianModel as CartesianModel
from recursa.operational.cartesian_model import CartesianRates as CartesianRates
from recursa.operational.cartesian_model import coordinates as coordinates
from recursa.operational.cartesian_model import linearize as linearize
from recursa.operational.cartesian_model import model as model
from recursa.operational.cartesian_model import rates as rates
