"""What a learner waits for: `import course_kit` and the first cell of lesson 01, beside a bare interpreter.

    python tests/benchmarks/start_up.py

Aims: the import under 100 ms, the first cell under 2 s. Each line is the best of several fresh processes.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def best_of(code: str, folder: str, times: int = 5) -> float:
    """Seconds of the fastest of several fresh processes that run `code`."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code], check=True, cwd=folder, env={**os.environ, "COURSE_WORKSPACE": folder}
        )
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def first_cell() -> str:
    from course_kit.authoring import read_cells

    [path] = (ROOT / "notebooks" / "src").glob("01_*.py")
    return next(cell.source for cell in read_cells(path) if cell.type == "code")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare = best_of("pass", folder)
        print(f"bare interpreter               {bare * 1000:6.0f} ms")
        for label, code in (("import course_kit", "import course_kit"), ("first cell of lesson 01", first_cell())):
            seconds = best_of(code, folder) - bare
            print(f"{label:30} {seconds * 1000:6.0f} ms   {seconds / bare:5.1f} times a bare interpreter's start")


if __name__ == "__main__":
    main()
