"""Pictures: what is drawn, that it can be told apart without colour, and that it comes with words."""

import base64
import json

import matplotlib

matplotlib.use("agg")
import IPython
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from course_kit.classroom import plots
from course_kit.classroom.plots import plot_cumulative_tokens, plot_messages, png, show
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user

FIRST = [user("hello")]
SECOND = [*FIRST, assistant([text("let me see"), tool_use("toolu_01", "t")]), user([tool_result("toolu_01", "x")])]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook would receive: `(data, metadata)` for each output."""
    outputs = []
    monkeypatch.setattr(plots, "_in_ipython", lambda: True)
    monkeypatch.setattr(
        "IPython.display.display", lambda data, metadata=None, raw=False: outputs.append((data, metadata or {}))
    )
    return outputs


def bars(ax):
    """Each piece as (request, where it begins, kind by hatch)."""
    kinds = {hatch: kind for kind, (_, hatch) in plots.KINDS.items()}
    return [(round(p.get_x() + p.get_width() / 2), p.get_y(), kinds[p.get_hatch() or ""]) for p in ax.patches]


def test_messages_grow_request_by_request():
    ax = plot_messages({"request 1": FIRST, "request 2": SECOND})
    assert bars(ax) == [
        (1, 0, "user text"),
        (2, 0, "user text"),
        (2, 1, "assistant text"),
        (2, 2, "tool_use"),
        (2, 3, "tool_result"),
    ]
    assert {to_hex(p.get_facecolor()).upper() for p in ax.patches} == {plots.KINDS[k][0] for k in list(plots.KINDS)[:4]}
    assert [label.get_text() for label in ax.get_legend().get_texts()] == list(plots.KINDS)[:4]
    assert (ax.get_title(), ax.get_ylabel()) == ("The messages list as it grows", "content blocks")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["request 1", "request 2"]
    assert ax.description == (
        "A bar for each state of the messages list, block by block. request 1: 1 (user text). "
        "request 2: 4 (user text, assistant text, tool_use, tool_result)."
    )
    ends = sorted({segment[0][1] for lines in ax.collections for segment in lines.get_segments()})
    assert ends == [1, 3, 4]  # a line where each message ends


def test_other_blocks_have_a_kind_too():
    ax = plot_messages(
        {"one": [assistant([{"type": "thinking", "thinking": ""}, {"type": "server_tool_use", "id": "s"}])]}
    )
    assert bars(ax) == [(1, 0, "other"), (1, 1, "tool_use")]


def test_hatches_and_markers_differ_not_only_colours():
    assert len({hatch for _, hatch in plots.KINDS.values()}) == len(plots.KINDS)
    assert len({marker for _, marker in plots.LINES}) == len(plots.LINES)
    ax = plot_cumulative_tokens({str(n): [1, 2] for n in range(7)})
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 7


def test_tokens_are_added_up():
    ax = plot_cumulative_tokens({"20 tools": [4100, 4200, 4300], "3 tools": [700, 800]})
    assert [(line.get_label(), list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines] == [
        ("20 tools", [1, 2, 3], [4100, 8300, 12600]),
        ("3 tools", [1, 2], [700, 1500]),
    ]
    assert [label.get_text() for label in ax.get_legend().get_texts()] == ["20 tools", "3 tools"]
    assert ax.get_ylim()[0] == 0
    assert ax.yaxis.get_major_formatter()(12600) == "12,600"


def test_given_axes_are_drawn_on_and_returned():
    _, (left, right) = pyplot.subplots(1, 2)
    assert (
        plot_messages({"request 1": FIRST}, ax=left) is left and plot_cumulative_tokens({"a": [1]}, ax=right) is right
    )
    assert len(pyplot.get_fignums()) == 1


def test_nothing_to_draw_is_no_error():
    assert plot_messages({}).get_legend() is None
    assert plot_cumulative_tokens({}).get_legend() is None


def test_the_same_drawing_is_the_same_bytes_without_date_or_program():
    one, two = (png(plot_messages({"request 1": FIRST, "request 2": SECOND}).figure) for _ in range(2))
    assert one == two and one.startswith(b"\x89PNG")
    assert b"Software" not in one and b"tIME" not in one and b"atplotlib" not in one


def test_show_puts_the_words_into_the_output(displayed):
    ax = plot_messages({"request 1": FIRST, "request 2": SECOND})
    expected = png(ax.figure)
    show(ax, alt="The list grows from 1 block to 4 <blocks>.")
    (picture, metadata), (words, _) = displayed
    assert base64.b64decode(picture["image/png"]) == expected
    assert picture["text/plain"] == metadata["image/png"]["alt"] == "The list grows from 1 block to 4 <blocks>."
    escaped = "The list grows from 1 block to 4 &lt;blocks&gt;."
    assert words["text/html"] == f"<details><summary>This picture in words</summary><p>{escaped}</p></details>"
    assert pyplot.get_fignums() == []  # drawn once, not again at the end of the cell


def test_show_takes_a_figure_too(displayed):
    show(plot_cumulative_tokens({"a": [1]}).figure, alt="One.")
    assert len(displayed) == 2


def test_show_without_words_is_refused(displayed):
    with pytest.raises(ValueError, match="a figure needs a description"):
        show(plot_messages({"request 1": FIRST}).figure, alt=" ")
    assert displayed == []


def test_a_plot_of_ours_describes_itself(displayed):
    show(plot_cumulative_tokens({"2 tools": [700, 800]}))
    [picture, _] = displayed
    words = "Lines of input tokens, added up over the turns. 2 tools ends at 1,500 after turn 2."
    assert words in str(picture)


def test_outside_a_notebook_the_words_are_printed(capsys, monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    show(plot_messages({"request 1": FIRST}), alt="One block.")
    assert capsys.readouterr().out == "One block.\n"
    assert pyplot.get_fignums() == []


NOTEBOOK = [
    "from course_kit.classroom.plots import plot_messages, show\n"
    "from course_kit.classroom.checks import check, hint\n"
    "from course_kit.classroom.transcript import transcript\n"
    "messages = [{'role': 'user', 'content': 'hello'}]",
    "show(plot_messages({'request 1': messages}), alt='One block.')",
    "transcript(messages)",
    "import course_kit.classroom.quiz as module, pathlib, json\n"
    "module.QUIZ_FOLDER = pathlib.Path('.')\n"
    "module.quiz('01.2')",
    "module.quiz('01.2').answer('b')",
    "from course_kit.classroom.checks import exercise\n"
    "@exercise('900.1', title='One', hints=['Add.'])\n"
    "class One:\n"
    "    def cases(seed): return [seed]\n"
    "    def observe(one, case): return one(case)\n"
    "    def judge(case, seen): pass",
    "def one(n):\n    raise NotImplementedError('900.1: your code here')",
    "check('900.1', one)",
    "def one(n):\n    return {}[n]",
    "check('900.1', one)",
    "hint('900.1', 1)",
]


def test_fr29_fr30_a_real_notebook_gives_the_same_outputs_twice(tmp_path, monkeypatch):
    pytest.importorskip("nbclient", reason="needs nbclient, part of course-kit[lab]")
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    monkeypatch.delenv("MPLBACKEND", raising=False)
    question = {
        "id": "01.2",
        "kind": "single",
        "question": "Who?",
        "options": [
            {"id": "a", "text": "model", "right": False, "why": "no"},
            {"id": "b", "text": "you", "right": True, "why": "yes"},
        ],
    }
    (tmp_path / "01.json").write_text(json.dumps([question]), encoding="utf-8")

    def outputs():
        notebook = new_notebook(cells=[new_code_cell(source) for source in NOTEBOOK])
        NotebookClient(
            notebook,
            timeout=60,
            record_timing=False,
            shutdown_kernel="immediate",
            resources={"metadata": {"path": str(tmp_path)}},
        ).execute()
        for output in (output for cell in notebook.cells for output in cell.outputs):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        return [cell.outputs for cell in notebook.cells]

    first = outputs()
    assert first == outputs()  # the second time there is an earlier answer, an earlier attempt and an opened hint
    plain = ["".join(o.get("data", {}).get("text/plain", "") or o.get("text", "") for o in cell) for cell in first]
    assert plain[1:5] == [
        "One block.This picture in words.",
        "[1] user\n  text\n    hello",
        "Question 01.2 (choose one)\nWho?\n  a) model\n  b) you\n"
        'Run this cell to answer, or write: quiz("01.2").answer("a")',
        "Right.\n  b) you\n     yes",
    ]
    assert plain[7].startswith("Exercise 900.1: not attempted.")
    assert plain[9] == "Exercise 900.1: not yet. `one` raised KeyError: 0 (line 2: `return {}[n]`)"
    assert plain[10].startswith("Hint 1 of 1 for exercise 900.1: Add.")
    assert not any(output.output_type in ("error", "stream") for cell in first for output in cell)


# The picture of lesson 04.


class Found:
    """As `recover` gives it."""

    def __init__(self, share, calls):
        self.share, self.calls, self.interval = share, calls, (share / 2, (1 + share) / 2)


def test_recovery_has_a_point_for_each_text_in_both_panels():
    figure = plots.plot_recovery(
        {
            "ours": {"failed": Found(0.0, 3.0), "hint": Found(0.75, 1.8)},
            "theirs": {"failed": Found(0.0, 3.0), "hint": Found(0.5, 2.0)},
        }
    )
    left, right = figure.axes
    assert [list(line.get_xdata()) for line in left.lines] == [[0.0, 0.75], [0.0, 0.5]]
    assert [list(line.get_xdata()) for line in right.lines] == [[3.0, 1.8], [3.0, 2.0]]
    assert len({line.get_marker() for line in left.lines}) == 2
    assert [line.get_markerfacecolor() for line in left.lines] == [plots.LINES[0][0], "white"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["failed", "hint"]
    [interval] = left.collections  # of the first voice alone
    assert [path.vertices[:, 0].tolist() for path in interval.get_paths()] == [[0.0, 0.5], [0.375, 0.875]]
    assert figure.description == (
        "Calls put right and calls made, simulated, by error text. "
        "ours: failed 0% with 3.0 calls, hint 75% with 1.8 calls. "
        "theirs: failed 0% with 3.0 calls, hint 50% with 2.0 calls."
    )


def test_recovery_of_one_voice_needs_no_legend():
    figure = plots.plot_recovery({"ours": {"failed": Found(0.0, 3.0)}})
    assert figure.legends == []
