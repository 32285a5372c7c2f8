"""An offline bundle: a folder, on a stick or in a share, from which the course installs with no network.

making.py     `course bundle DIR`, on a machine with a network
install.py    is in the bundle; runs on a learner's machine with nothing but Python
"""

__all__: list[str] = []
