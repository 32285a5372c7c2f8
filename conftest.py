"""What holds for the whole test run, the notebooks included: offline, no keys, throw-away workspaces, cells in order.

It stands here, above `tests/`, because `pytest notebooks/01_round_trip.ipynb` must be as safe as the whole suite:
kernels inherit this process's environment, and a key or a switched-on live mode in it would be used.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from course_kit.building import clean_environment

SCRATCH = Path(tempfile.mkdtemp(prefix="course-tests-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
CLEAN = clean_environment(SCRATCH)
os.environ.clear()
os.environ.update(CLEAN)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared-data",
        metavar="DIR",
        help="Folder with the public data sets that some tests read in place; also the variable COURSE_SHARED_DATA.",
    )


def is_cell(item: pytest.Item) -> bool:
    return item.path.suffix == ".ipynb"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]):
    """Tests may be shuffled, cells may not: they come last, each notebook's in its own order."""
    cells = [item for item in items if is_cell(item)]
    result = yield
    items[:] = [item for item in items if not is_cell(item)] + cells
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item):
    """Each notebook has a workspace of its own, as it had when it was built: no progress from another lesson."""
    if is_cell(item):
        os.environ["COURSE_WORKSPACE"] = str(SCRATCH / f"{item.path.parent.name}-{item.path.stem}")
    return (yield)
