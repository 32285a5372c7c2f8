"""The processes behind the crash button: each lives a program once, and is killed in the middle of it.

Run as `python -m course_kit.classroom.crash_process FOLDER` with jobs on its input; one such process serves them all
and forks for each life, where the system can. What is asked and shown is next door, in `crash.py`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["CENTS", "ORDER", "Notes", "live", "main", "process"]

ORDER, CENTS = "ORD-20260914", 350
SECONDS = 10  # for one life
FILE = "<program>"  # how the program's own lines are told from ours


class Notes:
    """A dict on the disk: `notes["refund"] = "paid"`, `"refund" in notes`. What was noted outlives the process."""

    def __init__(self, path: Path):
        self.path = path

    def _all(self) -> dict[str, Any]:
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        return dict(json.loads(line) for line in lines)

    def __contains__(self, name: str) -> bool:
        return name in self._all()

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The last value noted under a name."""
        return self._all().get(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        line = json.dumps([name, value])
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())


def live(text: str, folder: Path, dies_at: int) -> None:
    """One life of a program, in this process; it ends before the line `dies_at`, or leaves what it said in a file."""
    from course_kit.errors import ToolError
    from course_kit.harness.retries import idempotency_key
    from course_kit.shop import Shop

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != FILE:
            return None
        if event == "line" and frame.f_lineno == dies_at:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows: TerminateProcess
        return trace

    world: dict[str, Any] = {"ORDER": ORDER, "CENTS": CENTS, "idempotency_key": idempotency_key, "ToolError": ToolError}
    try:
        exec(compile(text, FILE, "exec"), world)
        sys.settrace(trace)
        try:
            said = repr(world["program"](Shop(folder / "shop.sqlite3"), Notes(folder / "notes")))
        finally:
            sys.settrace(None)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    (folder / "said").write_text(said[:300], encoding="utf-8")


def process(text: str, folder: Path, dies_at: int) -> bool:
    """Run this life in its own process; returns whether it was killed at its line."""
    (folder / "said").write_text(f"nothing: it did not end within {SECONDS} seconds", encoding="utf-8")
    if not hasattr(os, "fork"):
        order = [sys.executable, "-m", "course_kit.classroom.crash_process", str(folder), str(dies_at)]
        try:
            ran = subprocess.run(order, input=text, encoding="utf-8", stdout=subprocess.DEVNULL, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return ran.returncode == signal.SIGTERM
    child = os.fork()  # here nothing but us runs, so a fork is safe, and far quicker than a new Python
    if not child:
        signal.alarm(SECONDS)
        os.dup2(2, 1)  # what the program prints is not ours to read
        live(text, folder, dies_at)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def main(folder: Path) -> None:
    """Read the jobs, let every program live twice, and write down what was found."""
    from course_kit.shop import Shop, open_shop

    morning, found = open_shop(folder / "morning.sqlite3").path, []
    for number, job in enumerate(json.load(sys.stdin)):
        here = folder / str(number)
        here.mkdir()
        shop = Shop(Path(shutil.copy(morning, here / "shop.sqlite3")))
        text, line = job["program"], job["line"]
        killed, at_death = process(text, here, line), len(shop.ledger(ORDER))
        if killed:
            process(text, here, 0)
        said = (here / "said").read_text(encoding="utf-8")
        code, refunds = "".join(text.splitlines()[line - 1 : line]).strip(), len(shop.ledger(ORDER))
        told = {"at_death": at_death, "refunds": refunds, "said": said}
        found.append({"line": line, "code": code, "killed": killed, **told})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) == 3:  # one life, where there is no fork
        live(sys.stdin.read(), Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
