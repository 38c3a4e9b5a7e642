"""Strategies by name. Each is a small class that picks the batch of images to ask about."""

from ital.strategies.base import Scored, Shortlisted, Stepwise, Strategy, Subsampled
from ital.strategies.baselines import Random, TopScoring
from ital.strategies.change import EMOC, GAL
from ital.strategies.clustering import TCAL
from ital.strategies.context import Context
from ital.strategies.coverage import UHerding
from ital.strategies.diversity import RBMAL, BorderDiversity, MaxDet, Variance
from ital.strategies.information import ITAL, Entropy
from ital.strategies.lookahead import MCMI, AdaptAL
from ital.strategies.nonmyopic import ENS
from ital.strategies.prediction import EPIG
from ital.strategies.quadratic import USDM
from ital.strategies.registry import create, describe, names, register
from ital.strategies.stochastic import PowerBALD
from ital.strategies.uncertainty import SUD, Border, Uncertainty

DEFAULT = Context.name
"""What a search asks with if nobody says otherwise."""

__all__ = [
    "DEFAULT",
    "EMOC",
    "ENS",
    "EPIG",
    "GAL",
    "ITAL",
    "MCMI",
    "RBMAL",
    "SUD",
    "TCAL",
    "USDM",
    "AdaptAL",
    "Border",
    "BorderDiversity",
    "Context",
    "Entropy",
    "MaxDet",
    "PowerBALD",
    "Random",
    "Scored",
    "Shortlisted",
    "Stepwise",
    "Strategy",
    "Subsampled",
    "TopScoring",
    "UHerding",
    "Uncertainty",
    "Variance",
    "create",
    "describe",
    "names",
    "register",
]
