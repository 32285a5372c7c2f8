"""The instructor's half of the command line: what a room needs, before, during and after it.

Thin, like `cli.py`, which adds these commands to `course`: each says what it does and leaves the doing to its module.
"""

import click

__all__ = ["COMMANDS"]

COMMANDS: list[click.Command] = []
