"""Isolation of a submission's process, as far as this system allows, and one sentence on how far that is.

On Linux with `unshare` and its companions (util-linux): its own namespaces for processes, network, mounts and messages,
and a file system made for it in memory. It holds the system's programs, this Python and the course's package without
its checks, read-only, and an empty folder to work in: no solutions, no home folder, no other submission. The code in it
has no privileges; started by root, it runs as a user that nobody else has, since the limit on processes does not apply
to root. When its first process ends, all others end with it.

Elsewhere, and where the system forbids this, limits on time, memory, files and processes remain, and an environment
without keys. The sentence says so. Neither is a sandbox for code that attacks the kernel.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from course_kit.classroom.workspace import PACKAGE

__all__ = ["Isolation", "command", "environment", "isolation", "limits_alone"]

PROGRAMS = ("unshare", "setpriv", "mount", "chroot", "sh")
INSIDE = "/notebook"  # the folder of the notebook, inside
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt/python", "/nix/store", "/etc/ld.so.cache",
          "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/fonts", "/etc/localtime")  # fmt: skip
DEVICES = ("null", "zero", "full", "random", "urandom")
FIRST_USER = 1_500_000_000  # above every user that systems hand out; one for each process that is started
_users = count()


@dataclass(frozen=True)
class Isolation:
    """How processes are kept apart here: `kind` is `"namespaces"` or `"limits"`, `sentence` is for the reader."""

    kind: str
    sentence: str


@cache
def isolation() -> Isolation:
    """What this machine allows, found out by starting an isolated Python once."""
    if not sys.platform.startswith("linux"):
        return limits_alone("namespaces exist on Linux only")
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=_path())]:
        return limits_alone(f"{' and '.join(missing)} (util-linux) cannot be found")
    walls = Isolation(
        "namespaces",
        "Each notebook runs in its own namespaces: no network but loopback, its own processes, a file system "
        "without solutions, checks or other submissions, no privileges, and limits on time, memory, files, output "
        "and processes. This is not a sandbox for code that attacks the kernel: for strangers' work use a machine "
        "that holds nothing else.",
    )
    look = "import IPython, os, course_kit.classroom.checks as checks\nplace = os.path.dirname(checks.__file__)\n"
    look += "print(os.listdir(os.path.join(place, 'exercises')))"
    with tempfile.TemporaryDirectory(prefix="course-marking-") as folder:
        argv = command(walls, [sys.executable, "-s", "-P", "-c", look], Path(folder))
        tried = subprocess.run(
            argv, env=environment(INSIDE), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    if tried.returncode or tried.stdout.strip() != "[]":
        said = (tried.stderr.strip().splitlines() or ["it did not start"])[-1]
        return limits_alone(f"this system does not allow them ({said[:120]})")
    return walls


def limits_alone(because: str) -> Isolation:
    """Limits alone, and why there are no namespaces."""
    return Isolation(
        "limits",
        f"Namespaces are not used: {because}. Each notebook runs in its own process with limits on time, memory, "
        "files, output and processes and without keys in its environment, but it can read this user's files, the "
        "solutions among them, and reach the network: mark only people whom you trust, or mark on Linux.",
    )


def environment(folder: str) -> dict[str, str]:
    """The whole environment of such a process: nothing of ours but where programs lie."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "WINDIR") if name in os.environ}
    return kept | {
        "PATH": _path(),
        "PYTHONPATH": str(PACKAGE.parent),
        "HOME": folder,
        "TMPDIR": "/tmp" if folder == INSIDE else folder,
        "USER": "learner",
        "LANG": "C.UTF-8",
        "COURSE_WORKSPACE": os.path.join(folder, "workspace"),
        "IPYTHONDIR": os.path.join(folder, ".ipython"),
        "JUPYTER_CONFIG_DIR": os.path.join(folder, ".jupyter"),
        "MPLCONFIGDIR": os.path.join(folder, ".matplotlib"),
        "MPLBACKEND": "agg",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
    }


def command(walls: Isolation, argv: list[str], mount_point: Path, memory_files_mb: int = 64) -> list[str]:
    """`argv` in namespaces; `mount_point` is an empty folder, used only in the new mount namespace."""
    if walls.kind != "namespaces":
        return argv
    root = os.geteuid() == 0
    user = FIRST_USER + (os.getpid() % 2**20) * 64 + next(_users) % 64
    become = ["--reuid", str(user), "--regid", str(user), "--clear-groups"] if root else []
    dropped = ["setpriv", *become, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    script = "\n".join([
        "set -e",
        *_file_system(mount_point, user if root else 0, memory_files_mb),
        "ip link set lo up 2>/dev/null || :",
        # not `exec`: the first process of the namespace stays ours, and all others end with it
        shlex.join(["chroot", str(mount_point), *dropped, *argv]),
        "exit $?",
    ])  # fmt: skip
    apart = ["--mount", "--net", "--pid", "--ipc", "--uts", *([] if root else ["--user", "--map-root-user"])]
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *apart, "--fork", "--kill-child", "sh", "-c", script]


def _file_system(root: Path, owner: int, size_mb: int) -> list[str]:
    """Shell lines that build what the process will see."""
    place = shlex.quote(str(root))
    lines = [f"mount -t tmpfs -o size=1m,mode=755,nosuid tmpfs {place}", f"cd {place}"]
    for writable in (INSIDE, "/tmp", "/dev/shm"):
        options = f"size={size_mb}m,mode=1777,nosuid,nodev"
        lines.append(f"mkdir -p .{writable}; mount -t tmpfs -o {options} tmpfs .{writable}")
    for path in _readable():
        outside, inside, above = (shlex.quote(one) for one in (path, f".{path}", f".{os.path.dirname(path)}"))
        if os.path.islink(path):
            lines.append(f"mkdir -p {above}; ln -sfn {shlex.quote(os.readlink(path))} {inside}")
            continue
        lines.append(f"mkdir -p {inside}" if os.path.isdir(path) else f"mkdir -p {above}; : > {inside}")
        lines += [f"mount --rbind {outside} {inside}", f"mount -o remount,bind,ro,nosuid,nodev {inside}"]
    for hidden in _hidden():
        lines.append(f"mount -t tmpfs -o ro,size=4k,mode=755 tmpfs {shlex.quote(f'.{hidden}')}")
    lines += ["mkdir -p ./proc ./etc", "mount -t proc proc ./proc"]
    for device in DEVICES:
        lines.append(f": > ./dev/{device}; mount --bind /dev/{device} ./dev/{device}")
    return [
        *lines,
        "ln -s /proc/self/fd ./dev/fd",
        f"echo 'learner:x:{owner}:{owner}::{INSIDE}:/bin/sh' > ./etc/passwd",
        "echo '127.0.0.1 localhost' > ./etc/hosts",
        f"mount -o remount,bind,ro,nosuid {place}",
    ]


def _readable() -> list[str]:
    """Files and folders that the process may read, none inside another."""
    python = [sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    python.append(os.path.dirname(os.path.realpath(sys.executable)))
    named = [path for path in [*SYSTEM, *python, str(PACKAGE)] if os.path.exists(path)]
    paths = {path for one in named for path in ([one] if os.path.islink(one) else [os.path.realpath(one), one])}
    return _outermost(paths)


def _hidden() -> list[str]:
    """Folders inside those that hold answers."""
    folders = ("classroom/exercises", "classroom/quizzes", "_course/solutions")
    return [str(PACKAGE / folder) for folder in folders if (PACKAGE / folder).is_dir()]


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        if not any(path == one or path.startswith(one.rstrip("/") + "/") for one in kept if not os.path.islink(one)):
            kept.append(path)
    return kept


def _path() -> str:
    own = os.path.dirname(sys.executable)
    if os.name != "posix":
        return os.pathsep.join([own, os.environ.get("PATH", "")])
    return os.pathsep.join([own, *(f"{up}{name}" for up in ("/usr/local/", "/usr/", "/") for name in ("sbin", "bin"))])
