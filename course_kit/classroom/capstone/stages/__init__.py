"""The cases of the five stages, a file for each; what they share is in `drawing.py`.

`SCENARIOS` maps the name of a case to its stage, its kind, and the function that draws it.
"""

from . import bad_day, look, many, pay, strangers  # noqa: F401
from .drawing import ENTERED, STAGES

__all__ = ["SCENARIOS", "STAGES"]

SCENARIOS = {name: entry for stage in STAGES for name, entry in ENTERED.items() if entry[0] == stage}
