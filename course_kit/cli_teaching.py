"""The instructor's half of the command line: what a room needs, before, during and after it.

Thin, like `cli.py`, which adds these commands to `course`: each says what it does and leaves the work to its module.
"""

import os
import sys
from pathlib import Path

import click

__all__ = ["COMMANDS"]

SYSTEMS = ("linux", "linux-arm", "macos", "macos-intel", "windows")  # those of `bundle/making.py`
PYTHONS = ("3.11", "3.12", "3.13")


@click.command()
@click.option("--workspaces", metavar="GLOB", help="Read learners' folders too, such as 'room/learners/*' (in quotes).")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 takes any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 opens the board to the whole network.")
@click.option("--code", help="The join code; by default a random one.")
@click.option("--max-learners", type=click.IntRange(1, 2000), default=200, show_default=True)
@click.option("--once", is_flag=True, help="Print the folders' board as text and exit.")
def board(workspaces: str | None, port: int, host: str, code: str | None, max_learners: int, once: bool) -> None:
    """Show who is where, live and by nickname."""
    from course_kit.classroom.board import page, room, serving

    here = room.Room(code or room.new_code(), workspaces, max_learners)
    if once:
        rows = here.rows()
        nobody = f"No folder is at {workspaces!r}" if workspaces else "--once shows only folders"
        click.echo(page.as_text(rows) if rows else f"{nobody}: say where with --workspaces, such as 'room/learners/*'.")
    else:
        serving.serve_board(here, host, port, click.echo)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--seed", type=int, help="Seed of the hidden inputs; by default a random one, which is printed.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Where marks go; by default FOLDER-marks."
)
@click.option("--lesson", "lessons", multiple=True, help="Mark this lesson only, such as 01; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), help="Notebooks at once; by default one per core.")
@click.option("--seconds", type=click.IntRange(5), default=120, show_default=True, help="Limit for one notebook.")
@click.option("--memory", type=click.IntRange(768), default=2048, show_default=True, help="Memory limit in MB.")
def grade(
    folder: Path,
    seed: int | None,
    out: Path | None,
    lessons: tuple[str, ...],
    jobs: int | None,
    seconds: int,
    memory: int,
) -> None:
    """Mark the submissions in FOLDER: a table, marks.csv and marks.html with the reason for each exercise.

    Each learner is a folder with notebooks in it, or one notebook. Marks are kept as they come: run the same command
    again to continue. It says at the start how it isolates the submissions; it is not a sandbox for malicious code.
    """
    from course_kit.classroom.marking import grading, pages, running

    folder = Path(os.path.abspath(folder))
    out = out or folder.with_name(f"{folder.name}-marks")
    limits = running.Limits(seconds=seconds, memory_mb=memory)
    chosen = tuple(lesson.zfill(2) for lesson in lessons)
    try:
        grades = grading.grade(folder, out, seed=seed, lessons=chosen, jobs=jobs, limits=limits, say=click.echo)
    except KeyboardInterrupt:
        click.echo("Stopped. The marks so far are kept: run the same command again to continue.", err=True)
        sys.exit(130)
    click.echo(pages.as_text(grades))
    written = " and ".join(str(path) for path in pages.write_files(grades, out))
    click.echo(f"\n{pages.time_told(grades)} Written: {written}.")


@click.command()
@click.argument("lessons", nargs=-1)
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), help="Where; by default teaching/.")
@click.option("--plan", "only_plan", is_flag=True, help="Print the plan here and write nothing.")
@click.option("--reveal", is_flag=True, help="Also make reveal.js slides, which load it from the network.")
def teach(lessons: tuple[str, ...], folder: Path | None, only_plan: bool, reveal: bool) -> None:
    """Make slides, plan and answer key of LESSONS (such as 05), or of all.

    They go into teaching/ in the workspace. The slides are a notebook for JupyterLab and a page that needs no network.
    """
    from course_kit.classroom.teaching import making, plans, sheets
    from course_kit.classroom.workspace import workspace

    if only_plan:
        click.echo("\n\n".join(sheets.plan_text(plans.plan(number)) for number in lessons or plans.planned()))
        return
    written = making.make(lessons, folder or workspace() / "teaching", reveal=reveal, say=click.echo)
    click.echo(f"Begin with {written[-1]}.")


@click.command()
@click.argument("name", required=False)
def tracks(name: str | None) -> None:
    """Print a timetable of 90 minutes, half a day or a day, and what it skips."""
    from course_kit.classroom.teaching import tracks as known

    if name:
        click.echo(known.timetable(known.track(name)))
        return
    for each in map(known.track, known.track_names()):
        click.echo(f"{each.name:11} {each.minutes:>4} minutes  {each.title}")
    click.echo("`course tracks NAME` prints the timetable.")


@click.command()
@click.option("--room", default="room", type=click.Path(file_okay=False, path_type=Path), show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 opens the server to the whole network.")
@click.option("--password", help="The room's password; by default a random one.")
@click.option("--max-learners", type=click.IntRange(1, 500), default=40, show_default=True, help="Servers at once.")
@click.option("--memory", type=click.IntRange(256), default=2048, show_default=True, help="MB, for each process.")
@click.option(
    "--idle", type=click.IntRange(1), default=60, show_default=True, help="Minutes until an idle kernel ends."
)
@click.option("--proxy", metavar="PATH", help="Where configurable-http-proxy is, if not on the path.")
def hub(
    room: Path,
    port: int,
    host: str,
    password: str | None,
    max_learners: int,
    memory: int,
    idle: int,
    proxy: str | None,
) -> None:
    """Run a workshop server: each learner signs in by nickname, to a workspace and JupyterLab."""
    from course_kit.hub.starting import start_hub

    running = start_hub(
        room,
        host=host,
        port=port,
        password=password,
        most_learners=max_learners,
        megabytes=memory,
        idle_minutes=idle,
        proxy=proxy,
        say=click.echo,
    )
    try:
        running.process.wait()
    except KeyboardInterrupt:
        click.echo("The hub is stopping.")
    finally:
        running.stop()


@click.command()
@click.option(
    "--for", "systems", multiple=True, type=click.Choice(SYSTEMS), help="For which machines; may be repeated."
)
@click.option(
    "--python", "pythons", multiple=True, type=click.Choice(PYTHONS), help="For which Python; may be repeated."
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def bundle(folder: Path, systems: tuple[str, ...], pythons: tuple[str, ...]) -> None:
    """Fill FOLDER with everything needed to install the course without a network."""
    from course_kit.bundle.making import make_bundle

    make_bundle(folder, systems, pythons, click.echo)


COMMANDS: list[click.Command] = [board, bundle, grade, hub, teach, tracks]
