"""For maintainers: run the notebooks, write them, and find the ones that have drifted from their text.

    notebooks/src/NN_name.py  → notebooks/NN_name.ipynb      a lesson, with outputs
    solutions/src/NN_name.py  → solutions/NN_name.ipynb      with outputs
                              → exercises/NN_name.ipynb      stubs, with outputs: "not attempted"

Outputs are the same on every run: each notebook runs in a kernel of this very Python, in a workspace of its own that is
thrown away, with no keys in its environment; widget views are dropped (their text stays), and a traceback is cut to
its last line, so no path of this machine is stored. What a cell's text becomes is decided in `authoring.py`.
"""

import contextlib
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_kit.authoring import AuthoringError, Kind, WrittenCell, assemble, read_cells, show

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbformat import NotebookNode

__all__ = ["Target", "build", "check", "clean_environment", "differences", "make", "targets", "text_of_notebook"]

CELL_SECONDS = 120
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# Keys, other people's endpoints and the learner's own switches; where tests find their data is none of these.
SECRETS = re.compile(
    r"^(ANTHROPIC|OPENAI|GOOGLE|GEMINI)_|_(API_KEY|AUTH_TOKEN)$"
    r"|^COURSE_(?!RUNS|SHARED_DATA|SCREENSHOTS|STRANGERS|HUB_|BUNDLE)"
)
_running: list["AsyncKernelManager"] = []
UNSTABLE = {"MPLBACKEND", "PYTHONSTARTUP", "PYTHONWARNINGS"}


@dataclass(frozen=True)
class Target:
    """One notebook to build: from `source`, as `kind`, to `product`."""

    kind: Kind
    source: Path
    product: Path


def targets(root: Path, names: Iterable[str] = ()) -> list[Target]:
    """Everything that can be built below `root`, or what `names` choose: a number, a stem or a file."""
    found = [
        Target("lesson", source, root / "notebooks" / f"{source.stem}.ipynb") for source in _sources(root / "notebooks")
    ]
    for source in _sources(root / "solutions"):
        found.append(Target("solution", source, root / "solutions" / f"{source.stem}.ipynb"))
        found.append(Target("exercise", source, root / "exercises" / f"{source.stem}.ipynb"))
    if not found:
        raise AuthoringError(f"There is nothing to build in {root}; run this in a clone of the course.")
    wanted = {Path(name).stem for name in names}
    for name in sorted(wanted):
        if not any(_is_meant(name, target) for target in found):
            stems = ", ".join(sorted({target.source.stem for target in found}))
            raise AuthoringError(f"Nothing is called {name!r} here; choose from {stems}.")
    return [target for target in found if not wanted or any(_is_meant(name, target) for name in wanted)]


def build(root: Path, names: Iterable[str] = (), *, say: Callable[[str], None] = print) -> list[Path]:
    """Build and write the notebooks that differ from what is there; return their paths."""
    written = []
    for target, text in _make_all(targets(root, names), say):
        target.product.parent.mkdir(parents=True, exist_ok=True)
        if not target.product.exists() or target.product.read_bytes() != text.encode():
            partial = target.product.with_suffix(".part")
            partial.write_bytes(text.encode())
            partial.replace(target.product)
            written.append(target.product)
    readme = root / "README.md"
    if readme.exists() and (text := _with_lessons(root)) != readme.read_text(encoding="utf-8"):
        readme.write_text(text, encoding="utf-8", newline="\n")
        written.append(readme)
    return written


def check(root: Path, names: Iterable[str] = (), *, run: bool = True, say: Callable[[str], None] = print) -> list[str]:
    """What has drifted, one sentence for each notebook; with `run=False` only the cells' text is compared."""
    import nbformat

    chosen, stale = targets(root, names), []
    fresh = _make_all(chosen, say) if run else ((target, make(target, run=False)) for target in chosen)
    for target, text in fresh:
        label = f"{target.product.parent.name}/{target.product.name}"
        if not target.product.exists():
            stale.append(f"{label} is missing")
            continue
        committed = nbformat.reads(target.product.read_text(encoding="utf-8"), as_version=4)
        if found := differences(nbformat.reads(text, as_version=4), committed, outputs=run):
            stale.append(
                f"{label} is stale: {'; '.join(found[:3])}" + (f"; {len(found) - 3} more" if found[3:] else "")
            )
    if not names:
        products = {target.product for target in chosen}
        for product in sorted(
            path for folder in ("notebooks", "solutions", "exercises") for path in (root / folder).glob("*.ipynb")
        ):
            if product not in products:
                stale.append(f"{product.parent.name}/{product.name} has no text it is built from; delete it")
    readme = root / "README.md"
    if readme.exists() and _with_lessons(root) != readme.read_text(encoding="utf-8"):
        stale.append("README.md is stale: its table of lessons differs from the lessons")
    return sorted(stale)


def _with_lessons(root: Path) -> str:
    """The README with its table of lessons, made from the lessons' own titles."""
    from course_kit.classroom.lessons import lessons

    rows = [
        f"| [{one.number} · {one.title}](notebooks/{one.file}) | {one.minutes} | {one.promise} |"
        for one in lessons(root / "notebooks")
    ]
    table = "\n".join(["| lesson | minutes | what you will do |", "|---|---|---|", *rows])
    text = (root / "README.md").read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- lessons -->\n")
    _, end, after = rest.partition("<!-- /lessons -->")
    return f"{before}{begin}{table}\n{end}{after}" if end else text


def make(target: Target, *, run: bool = True) -> str:
    """The text of one notebook file, built from its source and run."""
    cells = read_cells(target.source)
    notebook = assemble(cells, target.kind, target.source)
    if run:
        with tempfile.TemporaryDirectory(prefix="course-build-", ignore_cleanup_errors=True) as scratch:
            _execute(notebook, target, _lines(cells, target.kind), Path(scratch))
        if target.kind == "solution" and (refused := _refused(notebook)):
            raise AuthoringError(f"{target.source}: the solution does not pass its own check. {refused[0]}")
    return text_of_notebook(notebook)


def _refused(notebook: "NotebookNode") -> list[str]:
    """What checks said of answers that they did not take."""
    said = ["".join(output.get("data", {}).get("text/plain", "")) for cell in notebook.cells
            for output in cell.get("outputs", ())]  # fmt: skip
    return [text for text in said if re.match(r"Exercise [\d.]+: not ", text)]


def text_of_notebook(notebook: "NotebookNode") -> str:
    """A notebook as the text of its file, the same for the same content."""
    import nbformat

    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def differences(built: "NotebookNode", committed: "NotebookNode", *, outputs: bool = True) -> list[str]:
    """How two notebooks differ in what a reader sees: `["cell 3: source has 'x = 1', should have 'x = 2'"]`.

    Pictures count by their presence and description, ids and versions not at all.
    """
    found = []
    if len(built.cells) != len(committed.cells):
        found.append(f"it has {len(committed.cells)} cells, should have {len(built.cells)}")
    for number, (new, old) in enumerate(zip(built.cells, committed.cells, strict=False), 1):
        views = [("source", [new.cell_type, *new.source.splitlines()], [old.cell_type, *old.source.splitlines()])]
        views.append(("tags", new.metadata.get("tags", []), old.metadata.get("tags", [])))
        if outputs:
            views.append(("output", list(_seen(new)), list(_seen(old))))
        for what, ours, theirs in views:
            if ours != theirs:
                at = next(
                    (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
                    min(len(ours), len(theirs)),
                )
                found.append(f"cell {number}: {what} has {_line(theirs, at)}, should have {_line(ours, at)}")
    return found


def clean_environment(scratch: Path, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment for runs that must be offline and alike: no keys, no live switch, no user's settings.

    The workspace, still to be made, and the folders of Jupyter lie in `scratch`.
    """
    kept = os.environ if environment is None else environment
    clean = {name: value for name, value in kept.items() if not SECRETS.search(name) and name not in UNSTABLE}
    jupyter = scratch / "jupyter"
    jupyter.mkdir(parents=True, exist_ok=True)
    for name, folder in {"IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data"}.items():
        clean[name] = str(jupyter / folder)
    return clean | {"COURSE_WORKSPACE": str(scratch / "workspace"), "OPENBLAS_NUM_THREADS": "1"}


def _sources(folder: Path) -> list[Path]:
    return sorted((folder / "src").glob("[0-9][0-9]_*.py"))


def _is_meant(name: str, target: Target) -> bool:
    return name == target.source.stem or (name.isdigit() and target.source.stem.startswith(f"{int(name):02d}_"))


def _lines(cells: list[WrittenCell], kind: Kind) -> list[int]:
    return [cell.line for cell in cells if not (kind == "exercise" and "solution" in cell.tags)]


def _make_all(chosen: list[Target], say: Callable[[str], None]) -> Iterator[tuple[Target, str]]:
    """Each target with its text, two kernels at a time; failures are gathered and raised together at the end."""
    failures, clock = [], time.monotonic()
    pool = ThreadPoolExecutor(max_workers=2)
    futures: dict[Future[str], Target] = {pool.submit(make, target): target for target in chosen}
    try:
        for count, future in enumerate(as_completed(futures), 1):
            target = futures[future]
            failed = isinstance(future.exception(), AuthoringError)
            label = f"{target.product.parent.name}/{target.product.name}"
            say(f"[{count}/{len(chosen)}] {label}{' failed' if failed else ''} ({time.monotonic() - clock:.0f} s)")
            if failed:
                failures.append(str(future.exception()))
            else:
                yield target, future.result()
    except BaseException:  # Ctrl-C: what is written stays, what is running need not end first
        pool.shutdown(wait=False, cancel_futures=True)
        for manager in list(_running):
            with contextlib.suppress(OSError):
                os.kill(manager.provisioner.pid, signal.SIGTERM)  # type: ignore[union-attr]
        raise
    finally:
        pool.shutdown(wait=True)
    if failures:
        raise AuthoringError("\n".join(sorted(failures)))


def _execute(notebook: "NotebookNode", target: Target, lines: list[int], scratch: Path) -> None:
    """Run all cells in place and strip what differs from run to run."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    folder = scratch / target.product.parent.name
    folder.mkdir()
    at = 0

    def started(cell: Any, cell_index: int) -> None:
        nonlocal at
        at = cell_index

    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # the Python that builds is the one that runs
        transport="ipc" if os.name == "posix" else "tcp",
        connection_file=str(scratch / "kernel.json"),
    )
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_SECONDS,
        record_timing=False,
        coalesce_streams=True,
        shutdown_kernel="immediate",
        extra_arguments=["--log-level=40"],
        on_cell_start=started,
        resources={"metadata": {"path": str(folder)}},
    )
    environment = clean_environment(scratch) | {"PYTHONHASHSEED": "0"}
    _running.append(manager)
    try:
        client.execute(env=environment, cleanup_kc=True)
    except CellExecutionError as error:
        problem = f"{error.ename}: {error.evalue}"
        cure = "tag it raises-exception if that is meant"
    except CellTimeoutError:
        problem, cure = f"the cell ran longer than {CELL_SECONDS} s", "make it shorter"
    except DeadKernelError:
        problem, cure = "the kernel died", "run the cell by itself to see why"
    else:
        _strip(notebook)
        return
    raise AuthoringError(
        f"{show(target.source)}, line {lines[at]} (cell {at + 1} of the {target.kind}): {problem}. "
        f"Mend the cell, or {cure}."
    )


def _strip(notebook: "NotebookNode") -> None:
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                output["traceback"] = [f"{output.ename}: {output.evalue}"]
            for mime in output.get("data", {}):
                if mime.startswith("image/") and cell.metadata.get("alt"):
                    output.metadata[mime] = {**output.metadata.get(mime, {}), "alt": cell.metadata["alt"]}
            output.get("data", {}).pop(WIDGET_VIEW, None)


def _seen(cell: "NotebookNode") -> Iterator[str]:
    """What a reader sees of a cell's outputs, line by line."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield from (f"{output.name}: {line}" for line in output.text.splitlines())
        elif output.output_type == "error":
            yield f"{output.ename}: {output.evalue}"
        else:
            for mime, value in sorted(output.data.items()):
                if mime.startswith("image/"):
                    yield f"{mime}: {output.metadata.get(mime, {}).get('alt', '')}"
                else:
                    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
                    text = re.sub(r"data:image/[^\"')\s]+", "data:image", text)
                    yield from (f"{mime}: {line}" for line in text.splitlines())


def _line(lines: list[str], at: int) -> str:
    if at >= len(lines):
        return "nothing"
    return repr(lines[at] if len(lines[at]) <= 60 else lines[at][:57] + "...")
