"""Marks for a folder of submissions: in parallel, with what is done kept at once, the same marks for the same seed.

A notebook is marked once for each content, seed, version of the course and limits; `results.jsonl` keeps the verdicts,
so a run that was stopped goes on where it was, and the files can be written again without running anything. joblib
carries the tasks, each of which holds all it needs: inside `joblib.parallel_config(backend=…)` they run elsewhere.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from course_kit.classroom.checks import EXERCISES, UNTOUCHED, Verdict, exercise_ids
from course_kit.classroom.marking.isolation import Isolation, isolation
from course_kit.classroom.marking.judge_process import BY_HAND
from course_kit.classroom.marking.keys import FoundKey, find_keys, without_keys
from course_kit.classroom.marking.observers import observers_of, shown_part
from course_kit.classroom.marking.running import Limits, Ran, begin, end_all, observe_notebook, verdicts
from course_kit.classroom.marking.statistics import Item, Question, items, questions
from course_kit.classroom.marking.submissions import (
    answers_as_data,
    course_cells,
    expressions,
    one_line,
    read_submissions,
)
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.workspace import course_files
from course_kit.errors import CourseKitError, SetupError

__all__ = ["Grades", "Marked", "Row", "Task", "grade", "mark"]

LIMITS = Limits()
AS_GIVEN = Verdict(UNTOUCHED.status, "It is unchanged: nothing was answered.", UNTOUCHED.key)
NO_NOTEBOOK = Verdict("no notebook", "No notebook of this lesson was handed in.", "no notebook")


@dataclass(frozen=True)
class Task:
    """One notebook to mark."""

    key: str
    lesson: str
    cells: tuple[str, ...]
    seed: int
    limits: Limits
    walls: Isolation | None = None  # None: what the machine allows that it runs on


@dataclass(frozen=True)
class Marked:
    """The verdicts on one notebook, and how long they took."""

    key: str
    verdicts: dict[str, Verdict]
    seconds: float


@dataclass
class Row:
    """One learner."""

    learner: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> int:
        return sum(one.status == "passed" for one in self.verdicts.values())


@dataclass
class Grades:
    """All that is known of a folder of submissions."""

    seed: int
    walls: Isolation
    exercises: list[str]
    rows: list[Row]
    items: list[Item]
    questions: list[Question]
    keys: list[FoundKey]
    marked_now: int
    seconds: float


def grade(
    folder: Path,
    out: Path,
    *,
    seed: int | None = None,
    lessons: tuple[str, ...] = (),
    jobs: int | None = None,
    limits: Limits = LIMITS,
    walls: Isolation | None = None,
    say: Callable[[str], None] = print,
) -> Grades:
    """Mark all submissions in `folder`; verdicts are kept in `out/results.jsonl` as they come."""
    began = time.monotonic()
    known_lessons = sorted({lesson_of(id) for id in exercise_ids()})
    for lesson in lessons:
        if lesson not in known_lessons:
            raise CourseKitError(
                f"There are no exercises of a lesson {lesson}: choose from {', '.join(known_lessons)}."
            )
    submissions = read_submissions(folder)
    if out.resolve().is_relative_to(folder.resolve()):
        raise CourseKitError("The marks would be written among the submissions: name another folder with --out.")
    kept = out / "results.jsonl"
    try:
        out.mkdir(parents=True, exist_ok=True)
        kept.open("ab").close()  # before an hour of marking
    except OSError as problem:
        raise SetupError(
            f"The marks cannot be written to {out} ({problem.strerror or problem}): name another folder with --out."
        ) from None
    seed = _seed(kept) if seed is None else seed
    used = walls or isolation()
    say(f"Seed {seed}: `--seed {seed}` gives the same marks again.")
    say(used.sentence)
    known = {marked.key: marked for marked in _read(kept)}
    tasks: dict[str, Task] = {}
    chosen: dict[tuple[str, str], str] = {}  # (learner, lesson) → key
    for submission in submissions:
        for lesson, notebook in submission.notebooks.items():
            if not lessons or lesson in lessons:
                key = _key(notebook.digest, lesson, seed, limits)
                chosen[submission.learner, lesson] = key
                if key not in known:
                    tasks[key] = Task(key, lesson, notebook.cells, seed, limits, walls)
    for marked in _mark_all(list(tasks.values()), jobs, len(set(chosen.values()))):
        known[marked.key] = marked
        if BY_HAND not in marked.verdicts.values():  # the judge may have been short of something: ask it again
            _append(kept, marked, seed)
    ids = [id for id in exercise_ids() if lesson_of(id) in (lessons or {lesson for _, lesson in chosen})]
    rows = []
    for submission in submissions:
        row = Row(submission.learner, problems=list(submission.problems))
        for id in ids:
            used_key = chosen.get((submission.learner, lesson_of(id)))
            row.verdicts[id] = known[used_key].verdicts.get(id, BY_HAND) if used_key else NO_NOTEBOOK
        row.seconds = sum(known[key].seconds for (who, _), key in chosen.items() if who == submission.learner)
        rows.append(row)
    shipped = _course_text()
    return Grades(
        seed=seed,
        walls=used,
        exercises=ids,
        rows=rows,
        items=items(ids, [row.verdicts for row in rows]),
        questions=questions(file for one in submissions for file in one.files if file.name == "progress.sqlite3"),
        keys=[found for one in submissions for found in find_keys(one, shipped)],
        marked_now=len(tasks),
        seconds=time.monotonic() - began,
    )


def mark(task: Task) -> Marked:
    """Mark one notebook; the learner's code runs isolated, the verdicts come from elsewhere."""
    began = time.monotonic()
    walls = task.walls or isolation()
    observers = {one.exercise_id: one for one in observers_of(task.lesson, task.seed)}
    data = answers_as_data(task.lesson)
    exercises = {
        id: (expression, None if id in data else observers[id]) for id, expression in expressions(task.lesson).items()
    }
    shown = shown_part(task.lesson, [cell["source"] for cell in course_cells(task.lesson)])
    module = f"{EXERCISES}.lesson_{task.lesson}"
    ran = observe_notebook(list(task.cells), exercises, walls, task.limits, (module, shown))
    to_judge = {
        id: report
        for id, report in ran.reports.items()
        if id not in ran.ended and ("plain" in report or "seen" in report)
    }
    judged = verdicts(to_judge, observers, task.limits)
    found = {}
    for id in exercises:
        verdict = judged.get(id, BY_HAND) if id in to_judge else _without_judge(id, ran)
        verdict = AS_GIVEN if verdict == UNTOUCHED else verdict  # the other sentence speaks to the learner
        message = without_keys(one_line(verdict.message, 700))
        found[id] = Verdict(verdict.status, message, without_keys(one_line(verdict.key)))
    return Marked(task.key, found, round(time.monotonic() - began, 2))


def _without_judge(id: str, ran: Ran) -> Verdict:
    """The verdict on an exercise for which there is nothing to judge."""
    if id in ran.ended:
        sentence, key = ran.ended[id]
        return Verdict("not yet", f"Your answer {sentence}.", key)
    report = ran.reports.get(id)
    if report is None:
        if ran.late:
            return Verdict("not yet", f"It was not reached: something before it {ran.late}.", "not reached")
        return Verdict("not yet", "There is no result: the notebook's process said that it had ended.", "no report")
    if report.get("untouched") is True:
        return UNTOUCHED
    if "strange" in report:
        kind = str(report["strange"])[:60]
        return Verdict("not yet", f"Your answer is a {kind}; plain data is asked for.", "no data")
    missing, last = str(report.get("missing", "")), report.get("cell")
    if missing.startswith("NameError"):
        failed = [n for n, told in ran.cells.items() if isinstance(last, int) and n <= last and missing not in told]
        if not failed:
            return Verdict("not attempted", f"The notebook has no answer to check ({missing[:200]}).", "no answer")
        told = f"cell {max(failed)} {ran.cells[max(failed)]}"
        return Verdict("not yet", f"There was nothing to check ({missing[:200]}): {told}.", "cell failed")
    return Verdict("not yet", f"There was nothing to check: {missing[:300] or 'no answer came'}.", "nothing to check")


def _mark_all(tasks: list[Task], jobs: int | None, total: int) -> Iterator[Marked]:
    """Each task's marks as they are done, with a progress bar on a terminal."""
    try:
        from joblib import Parallel, delayed
        from tqdm import tqdm
    except ImportError:
        raise SetupError('Marking needs joblib and psutil: run `pip install "course-kit[teach]"`.') from None
    begin()
    # The work is done in separate processes, so threads suffice here; a configured backend takes their place.
    parallel = Parallel(n_jobs=jobs or os.cpu_count() or 1, prefer="threads", return_as="generator_unordered")
    bar = tqdm(total=total, initial=total - len(tasks), unit="notebook", disable=None)
    try:
        for marked in parallel(delayed(mark)(task) for task in tasks):
            bar.update()
            yield marked
    except BaseException:
        end_all()
        raise
    finally:
        bar.close()


def _key(digest: str, lesson: str, seed: int, limits: Limits) -> str:
    """What a result is known by: the cells' text, the checks, the seed and the limits."""
    checks = b"".join(file.read_bytes() for file in _sources(lesson))
    parts = [digest, str(seed), version("course-kit"), hashlib.sha256(checks).hexdigest(), json.dumps(asdict(limits))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _sources(lesson: str) -> list[Path]:
    here = Path(__file__).resolve().parents[1]
    return [here / "exercises" / f"lesson_{lesson}.py", here / "checks.py"]


def _seed(kept: Path) -> int:
    """The seed of the results that are there, or a new one that nobody has seen."""
    try:
        return int(json.loads(kept.read_text(encoding="utf-8").rstrip("\n").split("\n")[-1])["seed"])
    except (OSError, ValueError, IndexError, KeyError, TypeError):
        return secrets.randbelow(10**6)


def _read(kept: Path) -> Iterator[Marked]:
    """What is kept; a last line that was cut is left out."""
    if not kept.exists():
        return
    for line in kept.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            row = json.loads(line)
            yield Marked(row["key"], {id: Verdict(*parts) for id, parts in row["verdicts"].items()}, row["seconds"])
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


def _append(kept: Path, marked: Marked, seed: int) -> None:
    verdicts = {id: [one.status, one.message, one.key] for id, one in marked.verdicts.items()}
    row = {"key": marked.key, "seed": seed, "seconds": marked.seconds, "verdicts": verdicts}
    with kept.open("ab+") as file:
        if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            file.write(b"\n")  # the last line was cut when a run was killed
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _course_text() -> str:
    folders = (course_files() / name for name in ("exercises", "notebooks"))
    return "\n".join(file.read_text(encoding="utf-8") for folder in folders for file in sorted(folder.glob("*.ipynb")))
