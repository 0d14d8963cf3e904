"""All questions that a robot answers about its states, side by side: no group stands on another."""

from __future__ import annotations

from recursa.diagonal.robot_methods import DiagonalMethods
from recursa.facade.book import BookMethods
from recursa.facade.configurations import ConfigurationMethods
from recursa.facade.constraints import ConstraintMethods
from recursa.facade.derivatives import DerivativeMethods
from recursa.facade.dynamics import DynamicsMethods
from recursa.facade.factorization import FactorizationMethods
from recursa.facade.filtering import FilteringMethods
from recursa.facade.kinematics import KinematicsMethods
from recursa.facade.manipulability import ManipulabilityMethods
from recursa.facade.mass_properties import MassPropertyMethods
from recursa.facade.matrices import MatrixMethods
from recursa.facade.parameters import ParameterMethods
from recursa.facade.regressors import RegressorMethods
from recursa.facade.second_derivatives import SecondDerivativeMethods
from recursa.free.robot_methods import ChangeOfBaseMethods
from recursa.operational.robot_methods import OperationalMethods


class Answers(
    ConfigurationMethods,
    KinematicsMethods,
    ManipulabilityMethods,
    MassPropertyMethods,
    DynamicsMethods,
    BookMethods,
    MatrixMethods,
    RegressorMethods,
    FactorizationMethods,
    FilteringMethods,
    DerivativeMethods,
    SecondDerivativeMethods,
    OperationalMethods,
    ConstraintMethods,
    DiagonalMethods,
    ChangeOfBaseMethods,
    ParameterMethods,
):
    """A model and everything one can ask of its states, for one or many."""

    __slots__ = ()
