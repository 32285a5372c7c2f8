"""`course …`: the command line. Each command says what it does in one sentence and leaves the work to its module.

An error of the kit's own is one sentence on stderr and exit code 1; a wrong option is exit code 2.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from course_kit.cli_teaching import COMMANDS
from course_kit.errors import CourseKitError

__all__ = ["main"]


class Commands(click.Group):
    """A group whose commands show the kit's own errors as a sentence, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CourseKitError as error:
            click.echo(str(error), err=True)
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="course-kit", prog_name="course")
def main() -> None:
    """A hands-on course on LLM tool calling. Begin with `course lab`."""
    for stream in (sys.stdout, sys.stderr):  # a console without some letter shows a `?` instead of failing
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@main.command()
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Your folder for lessons and work.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port for JupyterLab; by default the first free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def lab(workspace: Path | None, port: int | None, no_browser: bool) -> None:
    """Open JupyterLab on the lessons, in your own workspace."""
    from course_kit import lab as jupyterlab
    from course_kit.classroom.workspace import course_files
    from course_kit.classroom.workspace import workspace as find_workspace

    _use(workspace)
    jupyterlab.start(find_workspace(), course_files(), port=port, browser=not no_browser, say=click.echo)


@main.command()
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="The folder to look at.")
@click.option("--api", is_flag=True, help="Show instead where the installed SDKs and the rules differ.")
@click.option("--json", "as_json", is_flag=True, help="Also write it to doctor-NICKNAME.json, for your instructor.")
@click.option("--nickname", help="The nickname in that file; by default a random one.")
@click.option(
    "--room",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="For instructors: read a folder of such files, and say who needs what.",
)
def doctor(workspace: Path | None, api: bool, as_json: bool, nickname: str | None, room: Path | None) -> None:
    """Find what is wrong with this machine and how to fix it."""
    from course_kit.doctor import CHECKS, NOTES, diagnose

    if room is not None:
        from course_kit.doctor_room import read_room

        report = read_room(room)
        click.echo(report.table())
        sys.exit(0 if report.ok else 1)

    if api:
        from course_kit.api_drift import look

        drift = look()
        click.echo(drift.table())
        sys.exit(0 if drift.ok else 1)
    _use(workspace)
    width = max(map(len, (*CHECKS, *NOTES)))
    found = diagnose(on_check=lambda check: click.echo(check.line(width)))
    click.echo(f"\n{found.sentence()}")
    if as_json:
        from course_kit.doctor_room import write_diagnosis

        file = write_diagnosis(found, nickname, Path())
        click.echo(f"Send {file} to your instructor: it holds a nickname and this machine's system, not your name.")
    sys.exit(0 if found.ok else 1)


@main.group(invoke_without_command=True)
@click.pass_context
def progress(ctx: click.Context) -> None:
    """Show what is done, what comes next and what is due again."""
    if ctx.invoked_subcommand is None:
        from course_kit.classroom.lessons import lesson_map

        click.echo(lesson_map(terminal=True).as_text())


@progress.command()
def reset() -> None:
    """Erase all answers and attempts; a backup is kept."""
    from course_kit.classroom import progress as kept

    backup = kept.reset()
    if backup == kept.progress_file():
        click.echo("There was nothing to erase.")
    else:
        click.echo(
            f"Progress starts over. The old progress is kept in {backup}; `course progress restore` brings it back."
        )


@progress.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
def restore(file: Path | None) -> None:
    """Restore the newest backup, or FILE. A second restore undoes the first."""
    from course_kit.classroom import progress as kept

    taken, before = kept.restore(file)
    click.echo(f"Progress is restored from {taken.name}.")
    if before:
        click.echo(f"The progress before that is kept in {before}.")


@progress.command()
@click.argument("lesson", required=False)
def page(lesson: str | None) -> None:
    """Write a page to keep about what you have done, in all lessons or in one LESSON."""
    from course_kit.classroom.completion import completion_page

    made = completion_page(lesson)
    click.echo(made.as_text())
    click.echo(f"\nThe same as a page: {made.write()}")


@main.command()
@click.option("--most", type=click.IntRange(1), default=5, show_default=True, help="How many questions to ask at most.")
def recall(most: int) -> None:
    """Answer the questions from earlier lessons that are due again."""
    from course_kit.classroom.recall import ask_one_by_one

    def ask(text: str) -> str:
        try:
            return click.prompt(
                f"{text} (one or more letters, Enter to skip, q to stop)", default="", show_default=False
            )
        except click.Abort:  # the input has ended, or Ctrl-C
            click.echo()
            return "q"

    ask_one_by_one(ask, click.echo, most)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the simulated model.")
@click.option("--strictness", default="default", show_default=True, help="Which rules apply: default, schema or all.")
def mock(port: int, host: str, seed: int, strictness: str) -> None:
    """Serve the mock provider over HTTP, for programs of any language."""
    from course_kit.mock.provider import MockProvider
    from course_kit.mock.server import serve
    from course_kit.mock.simulated import Simulated

    try:
        provider = MockProvider(model=Simulated(seed=seed), strictness=strictness)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    serve(provider.handle, host, port)
    if provider.requests:
        click.echo(provider.report())


_PROVIDER = click.option(
    "--provider",
    type=click.Choice(["anthropic", "openai"]),
    default="anthropic",
    show_default=True,
    help="Whose rules apply.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
_FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@main.command()
@_PROVIDER
@_JSON
@click.option("--hints", is_flag=True, help="Show the hints in full, too.")
@_FILE
def lint(file: Path, provider: str, as_json: bool, hints: bool) -> None:
    """Find what would lead a model astray in your own tool definitions.

    FILE is JSON (a list of definitions, one definition, an object with "tools") or a Python module with tools at its
    top level. Exit code 0: nothing but hints; 1: errors or warnings; 2: the file cannot be read.
    """
    from course_kit import tool_files
    from course_kit.contract.definitions import lint_tools

    tools = _own_tools(file)
    findings = lint_tools(tools, provider)
    if as_json:
        listed = [vars(finding) for finding in findings]
        click.echo(json.dumps({"provider": provider, "tools": len(tools), "findings": listed}, indent=2))
    else:
        click.echo(tool_files.lint_text(findings, len(tools), hints))
    sys.exit(1 if any(finding.severity != "hint" for finding in findings) else 0)


@main.command()
@_PROVIDER
@_JSON
@_FILE
def strict(file: Path, provider: str, as_json: bool) -> None:
    """Say what strict mode refuses in your own tool definitions, and what `to_strict` would do about it.

    FILE is what `course lint` takes. Exit code 0: all accepted as they are; 1: not all; 2: the file cannot be read.
    """
    from course_kit import tool_files

    check = tool_files.strict_check(_own_tools(file), provider)
    click.echo(json.dumps(check, indent=2) if as_json else tool_files.strict_text(check))
    sys.exit(1 if check["together"]["over"] or any(tool["refused"] for tool in check["tools"]) else 0)


def _own_tools(file: Path) -> list[Any]:
    """The definitions in a file; one that cannot be read is a wrong use of the command."""
    from course_kit import tool_files

    try:
        return tool_files.read_tools(file)
    except tool_files.ToolFileError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


@main.group(invoke_without_command=True)
@click.pass_context
def model(ctx: click.Context) -> None:
    """Show whether the optional real model is installed; `course model add` installs it."""
    if ctx.invoked_subcommand is None:
        from course_kit import local_setup

        click.echo(local_setup.status())


@model.command()
def add() -> None:
    """Install the real 135M model: 127 MB to download, 205 MB on disk."""
    from course_kit import local_setup

    local_setup.add(click.echo)


@model.command()
def remove() -> None:
    """Remove the real model."""
    from course_kit import local_setup

    local_setup.remove(click.echo)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Write nothing; list what differs from its text.")
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True)
@click.argument("names", nargs=-1)
def build(only_check: bool, root: Path | None, names: tuple[str, ...]) -> None:
    """For maintainers: build the notebooks NAMES (a number, a stem or a file), or all of them."""
    from course_kit import building
    from course_kit.classroom.workspace import clone

    root = (root or clone() or Path()).resolve()
    if not only_check:
        written = [file.relative_to(root).as_posix() for file in building.build(root, names, say=click.echo)]
        click.echo(f"Changed: {', '.join(sorted(written))}." if written else "Nothing changed.")
        return
    stale = building.check(root, names, say=click.echo)
    for sentence in stale:
        click.echo(sentence, err=True)
    if stale:
        click.echo("Run `course build` and commit what it writes.", err=True)
        sys.exit(1)
    click.echo("Every notebook matches its text.")


@main.command()
@click.argument("url")
@click.argument("code")
@click.option("--nickname", help="Your name on the board; by default a random nickname.")
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Your folder for lessons and work.")
def join(url: str, code: str, nickname: str | None, workspace: Path | None) -> None:
    """Show your progress on your instructor's board: a nickname and counts, nothing else."""
    from course_kit.classroom.board import joining

    _use(workspace)
    click.echo(joining.join(url, code, nickname))


@main.command()
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Your folder for lessons and work.")
def leave(workspace: Path | None) -> None:
    """Leave the board: nothing more is sent."""
    from course_kit.classroom.board import joining

    _use(workspace)
    click.echo(joining.leave())


@main.command()
@click.argument("which", type=click.Choice(["before", "after"]))
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Your folder for lessons and work.")
def test(which: str, workspace: Path | None) -> None:
    """Take the test before or after the course; once both are done, they are compared."""
    from course_kit.classroom.before_after import ask_one_by_one

    def ask(text: str) -> str:
        try:
            return click.prompt(f"{text} (a letter; q to stop)")
        except click.Abort:  # the input has ended, or Ctrl-C
            click.echo()
            return "q"

    _use(workspace)
    ask_one_by_one(which, ask, click.echo)


def _use(workspace: Path | None) -> None:
    """A workspace given as an option holds for everything this command starts."""
    if workspace is not None:
        os.environ["COURSE_WORKSPACE"] = str(workspace.absolute())


for command in COMMANDS:
    main.add_command(command)
