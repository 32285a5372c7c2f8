"""What JupyterHub is told for a workshop. `course hub` starts it, and writes the rest into `room/hub/settings.json`.

    room/
        hub/          the hub's database, secrets, settings and log     (readable by the instructor's account only)
        learners/     one folder a learner: the workspace, with notebooks, exercises and progress

To run it by itself: `COURSE_HUB=room/hub jupyterhub -f jupyterhub_config.py`. Every value below can be changed in a
copy; JupyterHub's reference explains each.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["configure", "prepare"]


def configure(c: Any, hub: Path) -> None:
    """Fill in JupyterHub's configuration from `settings.json` in the folder `hub`."""
    settings = json.loads((hub / "settings.json").read_text(encoding="utf-8"))
    learners = hub.parent / "learners"

    # Where: loopback unless the instructor said otherwise. The hub's own port and the proxy's stay on loopback.
    c.JupyterHub.bind_url = f"http://{settings['host']}:{settings['port']}"
    c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{settings['hub_port']}"
    c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{settings['proxy_port']}"
    c.ConfigurableHTTPProxy.command = settings["proxy_command"]  # the full path: services look in few places
    c.ConfigurableHTTPProxy.pid_file = str(hub / "proxy.pid")
    c.JupyterHub.db_url = f"sqlite:///{(hub / 'jupyterhub.sqlite').as_posix()}"
    c.JupyterHub.cookie_secret_file = str(hub / "cookie_secret")
    c.JupyterHub.log_level = "WARN"

    # Who: any nickname with the room's password. Anyone with the password can sign in as anybody.
    c.JupyterHub.authenticator_class = "shared-password"
    c.SharedPasswordAuthenticator.user_password = settings["password"]
    c.Authenticator.allow_all = True  # without this nobody may sign in
    c.Authenticator.username_pattern = r"[a-z0-9][a-z0-9._-]{0,23}\Z"  # to its end: a folder is named by it
    c.JupyterHub.active_server_limit = settings["most_learners"]
    c.JupyterHub.concurrent_spawn_limit = 0  # a class signs in at once; a limit here turns learners away

    # What each gets: a server in their own folder. This separates folders, not users (see the package's note).
    c.JupyterHub.spawner_class = "simple"
    c.SimpleLocalProcessSpawner.home_dir_template = str(learners / "{username}")
    c.Spawner.cmd = [settings["single_user_command"]]
    c.Spawner.notebook_dir = str(learners / "{username}")
    c.Spawner.default_url = "/lab/tree/notebooks/00_start_here.ipynb"
    c.Spawner.environment = {"COURSE_WORKSPACE": lambda spawner: spawner.home_dir, "PYTHONUTF8": "1"}
    c.Spawner.pre_spawn_hook = prepare
    c.Spawner.http_timeout = c.Spawner.start_timeout = 300  # and then starts slowly
    c.Spawner.args = [
        "--LabApp.extension_manager=readonly",
        "--ServerApp.terminals_enabled=False",  # a terminal is more than a lesson needs
        "--MappingKernelManager.kernel_info_timeout=300",  # twenty kernels that start at once are slow to answer
        # a kernel that did nothing for this long, and then the server, end; the files stay
        f"--MappingKernelManager.cull_idle_timeout={settings['idle_seconds']}",
        "--MappingKernelManager.cull_interval=60",
        f"--ServerApp.shutdown_no_activity_timeout={settings['idle_seconds'] * 2}",
        *(["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []),
    ]

    # How much: `simple` cannot limit a learner as a whole; each of their processes has its own limit. The two
    # settings of the spawner are for those that can (containers, systemd).
    c.Spawner.mem_limit = f"{settings['megabytes']}M"
    c.Spawner.cpu_limit = 2
    c.LocalProcessSpawner.popen_kwargs = {"preexec_fn": _limit_memory(settings["megabytes"]), "cwd": str(learners)}


def prepare(spawner: Any) -> None:
    """Before a learner's server starts: make their folder, with the lessons in it; what they changed stays."""
    from course_kit.classroom.workspace import MARKER, course_files
    from course_kit.lab import sync

    folder = Path(spawner.home_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    sync(folder, course_files())


def _limit_memory(megabytes: int) -> Callable[[], None]:
    """To be called in a new process: it, and each that it starts, gets no more memory than this."""
    import resource  # not on Windows, where JupyterHub does not run either

    kind, limit = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS, megabytes * 2**20

    def set_limit() -> None:
        try:
            resource.setrlimit(kind, (limit, limit))
        except (OSError, ValueError):
            pass  # macOS takes no such limit: there only the learners' good sense is a limit

    return set_limit


if "get_config" in globals():  # JupyterHub is reading this file
    configure(globals()["get_config"](), Path(os.environ["COURSE_HUB"]).absolute())
