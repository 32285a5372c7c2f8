"""A workshop server on JupyterHub: each learner signs in with a nickname and gets a workspace and JupyterLab there.

    starting.py             `course hub`: what must be installed, the folder of the room, the hub's process
    jupyterhub_config.py    what the hub is told, readable by itself

JupyterHub does the work. The way it starts servers here (its `simple` spawner) separates folders, not users: all of
them run under one account of this machine, so one learner's code can read another's files. For a room where people
trust each other that will do; for others, use a spawner with containers or accounts.
"""

__all__: list[str] = []
