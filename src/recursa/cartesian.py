"""Dynamics in the coordinates of a link, ``rc.cartesian``; the code is in ``operational/cartesian.py``."""

from recursa.operational.cartesian import MAX_CONDITION as MAX_CONDITION
from recursa.operational.cartesian import CartesianLinearization as CartesianLinearization
from recursa.operational.cartesian import CartesianModel as CartesianModel
from recursa.operational.cartesian import CartesianRates as CartesianRates
from recursa.operational.cartesian import coordinates as coordinates
from recursa.operational.cartesian import linearize as linearize
from recursa.operational.cartesian import model as model
from recursa.operational.cartesian import rates as rates
