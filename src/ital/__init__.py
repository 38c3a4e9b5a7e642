"""Find all the images that you mean, from one example and a few answers."""

from ital import strategies
from ital.search import Results, Search
from ital.user import USERS, SimulatedUser, UserModel

__all__ = ["USERS", "Results", "Search", "SimulatedUser", "UserModel", "strategies"]
__version__ = "0.1.0"
