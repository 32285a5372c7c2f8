"""Pictures: what is drawn, that it can be told apart without colour, and that it comes with words."""

import base64
import json

import matplotlib

matplotlib.use("agg")
import IPython
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.patches import ConnectionPatch, FancyBboxPatch

from course_kit.classroom import plots
from course_kit.classroom.plots import conversations, drawing, plot_cumulative_tokens, plot_messages, png, show
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user

FIRST = [user("hello")]
SECOND = [*FIRST, assistant([text("let me see"), tool_use("toolu_01", "t")]), user([tool_result("toolu_01", "x")])]


@pytest.fixture(autouse=True)
def closed():
    pyplot.close("all")  # what another test left open
    yield
    pyplot.close("all")


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook would receive: `(data, metadata)` for each output."""
    outputs = []
    monkeypatch.setattr(drawing, "_in_ipython", lambda: True)
    monkeypatch.setattr(
        "IPython.display.display", lambda data, metadata=None, raw=False: outputs.append((data, metadata or {}))
    )
    return outputs


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def blocks(ax):
    """Each block as (column, words in it, whether it is paler), from top to bottom."""
    words = [(round(t.get_position()[0]), t.get_position()[1], t.get_text()) for t in ax.texts]
    found = []
    for box in boxes(ax):
        x, y = box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2
        inside = [text for column, at, text in words if column == round(x) and abs(at - y) < 0.4]
        found.append((round(x), " / ".join(inside), box.get_linewidth() < 1))
    return found


def test_messages_grow_request_by_request():
    ax = plot_messages({"request 1": FIRST, "request 2": SECOND})
    assert blocks(ax) == [
        (0, "user · text / hello", False),
        (1, "user · text / hello", True),
        (1, "assistant · text / let me see", False),
        (1, "assistant · tool_use / t", False),
        (1, "user · tool_result / x", False),
    ]
    assert ax.get_title() == "Every request carries the whole list again (pale: sent before)"
    assert [t.get_text() for t in ax.texts if t.get_fontweight() == "bold" and t.get_position()[1] < 0] == [
        "request 1",
        "request 2",
    ]
    assert ax.description == (
        "The messages list in each request, block by block; what was sent before is paler, and a line with the id ties "
        "each call to its result. request 1: 1 (user text). "
        "request 2: 4 (user text, assistant text, tool_use, tool_result)."
    )


def test_a_line_with_the_id_ties_each_call_to_its_result_and_nothing_else():
    calls = assistant([tool_use("toolu_aaaa", "t"), tool_use("toolu_bbbb", "u")])
    results = user([tool_result("toolu_bbbb", "x"), tool_result("toolu_aaaa", "y"), tool_result("toolu_cccc", "z")])
    ax = plot_messages({"one": [calls, results]})
    assert [t.get_text() for t in ax.texts if t.get_rotation()] == ["id …bbbb", "id …aaaa"]
    centres = {words: box.get_y() + 0.44 for (_, words, _), box in zip(blocks(ax), boxes(ax), strict=True)}
    ends = [(line.xy1[1], line.xy2[1]) for line in ax.patches if isinstance(line, ConnectionPatch)]
    assert ends == [
        pytest.approx((centres["assistant · tool_use / u"], centres["user · tool_result / x"])),
        pytest.approx((centres["assistant · tool_use / t"], centres["user · tool_result / y"])),
    ]


def test_long_words_are_cut_and_other_blocks_have_a_kind_too():
    odd = assistant([{"type": "thinking", "thinking": ""}, {"type": "server_tool_use", "id": "s"}])
    ax = plot_messages({"one": [user([text("a line\nand another, too long to be shown")]), odd]})
    assert [words for _, words, _ in blocks(ax)] == [
        "user · text / a line and another, too…",
        "assistant · thinking / thinking",
        "assistant · server_tool_use / server_tool_use",
    ]
    assert to_hex(boxes(ax)[1].get_edgecolor()).upper() == conversations.KINDS["other"]


def test_markers_differ_not_only_colours():
    assert len({marker for _, marker in drawing.LINES}) == len(drawing.LINES)
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
    assert blocks(plot_messages({})) == []
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
    said = "`one` raised KeyError: 0 is not among the keys (line 2: `return {}[n]`)"
    assert plain[9] == f"Exercise 900.1: not yet. {said}"
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
    assert [line.get_markerfacecolor() for line in left.lines] == [drawing.LINES[0][0], "white"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["failed", "hint"]
    assert figure.get_suptitle() == "What is an error text worth? (simulated)"
    assert not left.collections  # no interval: the seeds agree, chance has no part
    assert figure.description == (
        "Requests put right and calls for one request, simulated, by error text. "
        "ours: failed 0% with 3.0 calls, hint 75% with 1.8 calls. "
        "theirs: failed 0% with 3.0 calls, hint 50% with 2.0 calls."
    )


def test_recovery_of_one_voice_needs_no_legend():
    figure = plots.plot_recovery({"ours": {"failed": Found(0.0, 3.0)}})
    assert figure.legends == []


# The picture of lesson 06.


def test_damage_has_a_square_with_its_sign_for_each_attack_and_guard():
    ax = plots.plot_damage(
        {
            "no guard": {"T1": "paid", "T2": "token lost", "O1": "nothing"},
            "gate": {"T1": "person asked", "T2": "token lost", "O1": "nothing"},
        }
    )
    assert [text.get_text() for text in ax.texts] == ["€", "!", "·", "?", "!", "·"]
    assert [text.get_position() for text in ax.texts] == [(x, y) for y in (0, 1) for x in (0, 1, 2)]
    assert len({patch.get_facecolor() for patch in ax.patches}) == 4
    assert [label.get_text() for label in ax.get_xticklabels()] == ["T1", "T2", "O1"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["no guard", "gate"]
    assert ax.get_xlabel().splitlines() == [
        "note (T: textbook, O: ordinary words)",
        "€ paid   ! token lost   ? person asked   · nothing",
    ]
    assert ax.description == (
        "A map of 3 attacks against 2 guards, simulated by a model that has no rule for marks. "
        "no guard: paid 1, token lost 1, nothing 1. gate: token lost 1, person asked 1, nothing 1."
    )
    assert ax.get_title() == "What each note led to (simulated: this model has no rule for marks)"


# Lesson 10: pass@k and pass^k, estimators, confusion, published curves, what a mean hides


def test_pass_k_shows_both_curves_with_bands_and_says_them():
    ax = plots.plot_pass_k([(4, 4), (4, 2), (4, 0)])
    at, hat = ax.lines
    assert list(at.get_ydata()) == pytest.approx([0.5, 0.611111, 0.666667, 0.666667], abs=1e-6)
    assert list(hat.get_ydata()) == pytest.approx([0.5, 0.388889, 0.333333, 0.333333], abs=1e-6)  # FR-28
    assert at.get_marker() != hat.get_marker()
    assert len(ax.collections) == 2 and {band.get_hatch() for band in ax.collections} == {"", "//"}
    assert ax.description.startswith("Two lines over k with 95% bands over 3 tasks. pass@k: k=1 0.50 (0.00 to 1.00)")
    assert "pass^k: k=1 0.50 (0.00 to 1.00), k=2 0.39" in ax.description


def test_the_unbiased_estimator_lies_on_the_truth_and_the_naive_one_above():
    ax = plots.plot_naive(4, 3)
    true, unbiased, naive = (list(line.get_ydata()) for line in ax.lines)
    assert unbiased == pytest.approx(true)
    assert all(above > below for above, below in zip(naive[1:-1], true[1:-1], strict=True))
    assert (
        "C(c,3)/C(4,3) is right everywhere. naive (c/4)^3 is too high, most at a rate of 0.65: by 0.107"
        in ax.description
    )


def test_a_confusion_matrix_frames_the_diagonal_and_hatches_the_rest():
    from course_kit.evaluation.confusion import Confusion

    matrix = Confusion(("refund", "no call"), {("refund", "refund"): 5, ("refund", "no call"): 2})
    ax = plots.plot_confusion(matrix)
    hatched = [(p.get_x() + 0.5, p.get_y() + 0.5) for p in ax.patches if p.get_hatch()]
    assert hatched == [(1, 0)]
    assert [text.get_text() for text in ax.texts] == ["5", "2"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["refund", "no call"]
    assert ax.description == (
        "A matrix of tools meant and called: 5 of 7 on the diagonal. Off it: refund meant and no call called 2 times."
    )


def test_pass_curves_differ_by_marker_style_and_filling():
    ax = plots.plot_pass_curves({"ours": [0.9, 0.8], "theirs": [0.42, 0.27]})
    ours, theirs = ax.lines
    assert (ours.get_marker(), ours.get_linestyle()) != (theirs.get_marker(), theirs.get_linestyle())
    assert (ours.get_markerfacecolor(), theirs.get_markerfacecolor()) == (ours.get_color(), "white")
    assert ax.description == "Lines of pass^k for k = 1, 2, and so on. ours: 0.90, 0.80. theirs: 0.42, 0.27."


def test_by_tool_shows_the_mean_that_hides_the_dangerous_tool():
    from course_kit.evaluation.intervals import wilson
    from course_kit.evaluation.metrics import ToolFigures

    safe = ToolFigures("search", 990, 0.99, 1, wilson(1, 1))
    risky = ToolFigures("refund", 10, 0.6, 10, wilson(1, 1))
    ax = plots.plot_by_tool([safe, risky])
    assert [round(line.get_xdata()[0], 4) for line in ax.lines] == [0.9861, 0.795, 0.6355]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["refund", "search"]
    assert [bar.get_hatch() for bar in ax.patches] == ["//", ""]
    assert ax.description == (
        "Bars of what passed by tool: refund 60% (risk 10), search 99% (risk 1). "
        "Every trial alike the mean is 99%, every tool alike 80%, by risk 64%."
    )


# The pictures of lesson 09.


def test_layers_have_a_bar_each_and_once_looks_different():
    ax = plots.plot_layers({"one attempt": 1, "a key of the task": 27}, "Refunds", "refunds")
    assert [bar.get_height() for bar in ax.patches] == [1, 27]
    assert [bar.get_hatch() or "" for bar in ax.patches] == ["", "//"]
    assert [text.get_text() for text in ax.texts] == ["1", "27"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one attempt", "a key\nof the task"]
    assert (ax.get_ylabel(), ax.get_title()) == ("refunds", "Refunds")
    assert ax.description == (
        "Bars, Refunds: one attempt: 1; a key of the task: 27. "
        "What was done once is plain, what was done more often is hatched."
    )


def test_the_ledger_has_a_field_for_each_program_and_line():
    ax = plots.plot_ledger({"note afterwards": {2: 1, 5: 2}, "note before": {2: 0, 5: 3}, "with a key": {2: 1}})
    assert [text.get_text() for text in ax.texts] == ["once", "twice", "never", "3 times", "once"]
    assert [square.get_hatch() or "" for square in ax.patches] == ["", "//", "xx", "//", ""]
    assert [square.get_xy() for square in ax.patches] == [
        (-0.5, -0.5),
        (0.5, -0.5),
        (-0.5, 0.5),
        (0.5, 0.5),
        (-0.5, 1.5),
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["line 2", "line 5"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["note afterwards", "note before", "with a key"]
    assert ax.description == (
        "How often the money left, by program and by the line it was killed before. "
        "note afterwards: before line 5 2 refunds; note before: before line 2 0 refunds, before line 5 3 refunds; "
        "with a key: once wherever it died."
    )


# The pictures of lesson 05.


class Recorded:
    """As `timeline.Recorder` gives it."""

    def __init__(self, bars, most, rounds):
        self.bars, self.most, self.rounds = bars, most, rounds


def test_a_timeline_has_a_panel_for_each_run_and_a_bar_for_each_call():
    from course_kit.classroom.timeline import Bar

    figure = plots.plot_timeline(
        {
            "limit 1": Recorded([Bar("read Oslo", 0.0, 1.0), Bar("save", 1.0, 1.5, "write")], 1, 2),
            "limit 5": Recorded([Bar("read Oslo", 0.25, 1.0, "failed")], 1, 1),
        }
    )
    first, second = figure.axes
    drawn = [[(p.get_x(), p.get_width(), p.get_hatch()) for p in ax.patches] for ax in (first, second)]
    assert drawn == [[(0.0, 1.0, ""), (1.0, 0.5, "//")], [(0.25, 0.75, "xx")]]
    assert [label.get_text() for label in first.get_yticklabels()] == ["read Oslo", "save"]
    assert figure.get_suptitle() == "Which call ran when?"
    assert [ax.get_title(loc="left") for ax in (first, second)] == ["limit 1", "limit 5"]
    assert first.get_xlim() == second.get_xlim() and first.get_xlim()[0] == 0
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["read", "write", "failed"]
    assert figure.description == (
        "A bar for each call, from its beginning to its end. limit 1: 2 calls, at most 1 at once, 2 rounds. "
        "limit 5: 1 call, at most 1 at once, 1 round."
    )


def test_a_timeline_of_reads_alone_needs_no_legend():
    from course_kit.classroom.timeline import Bar

    assert plots.plot_timeline({"run": Recorded([Bar("read", 0.0, 1.0)], 1, 1)}).legends == []


def test_the_ideal_speed_up_is_a_staircase():
    ax = plots.plot_speed_up(10, {2: 1.9, 5: 4.5})
    ideal, measured = ax.lines
    stairs = [1.0, 2.0, 2.5, 10 / 3, 5.0, 5.0, 5.0, 5.0, 5.0, 10.0]
    assert list(ideal.get_ydata()) == stairs and list(ideal.get_xdata()) == list(range(1, 11))
    assert (list(measured.get_xdata()), list(measured.get_ydata())) == ([2, 5], [1.9, 4.5])
    assert (ideal.get_marker(), measured.get_marker()) == ("None", "s")
    assert ax.description == (
        "Stairs of the ideal speed-up of 10 reads by limit: 1 times from 1, 2 times from 2, 2.5 times from 3, "
        "3.33 times from 4, 5 times from 5, 10 times from 10. Measured: 1.9 with limit 2, 4.5 with limit 5."
    )


class Played:
    def __init__(self, contexts, lost):
        self.contexts, self.lost = contexts, lost


def test_strategies_show_the_context_by_turn_and_the_answers_lost():
    figure = plots.plot_strategies({"whole": Played([900, 1_800], []), "head": Played([300, 500], [2])})
    left, right = figure.axes
    lines = {line.get_label(): line for line in left.lines if not line.get_label().startswith("_")}
    assert [list(line.get_ydata()) for line in lines.values()] == [[900, 1_800], [300, 500]]
    assert len({line.get_marker() for line in lines.values()}) == 2
    assert [bar.get_width() for bar in right.patches] == [0, 1]
    assert len({bar.get_hatch() for bar in right.patches}) == 2
    assert figure.description == (
        "Context over 2 turns and answers lost, simulated. "
        "whole: 1,800 tokens at the end, 0 lost. head: 500 tokens at the end, 1 lost."
    )


# The picture of lesson 11.


def test_golden_has_a_square_with_its_sign_for_each_run_and_step():
    from course_kit.evaluation.golden import Difference, GoldenDiff

    parted = GoldenDiff((Difference(2, "said", "a", "b"), Difference(4, "the whole step", "x", "y")), 3)
    ax = plots.plot_golden({"equal": GoldenDiff((), 3), "by hand": parted})
    assert [text.get_text() for text in ax.texts] == ["=", "=", "=", "=", "=", "≠", "=", "≈"]
    assert [text.get_position() for text in ax.texts] == [(x, y) for y in (0, 1) for x in (1, 2, 3, 4)]
    assert len({patch.get_facecolor() for patch in ax.patches}) == 3
    assert [label.get_text() for label in ax.get_yticklabels()] == ["equal", "by hand"]
    assert ax.description == (
        "Runs against a golden trace of 4 steps. equal: equal throughout. by hand: parts at step 2."
    )


# The pictures of lesson 07.


def test_growth_shows_right_picks_and_tokens_over_the_number_of_tools():
    figure = plots.plot_growth(
        {"all": {6: (0.96, 1275), 60: (0.85, 9189)}, "searched": {6: (0.9, 900), 60: (0.8, 1_600)}}
    )
    left, right = figure.axes
    assert [list(line.get_ydata()) for line in left.lines] == [[0.96, 0.85], [0.9, 0.8]]
    assert [list(line.get_ydata()) for line in right.lines] == [[1275, 9189], [900, 1_600]]
    assert [list(line.get_xdata()) for line in right.lines] == [[6, 60], [6, 60]]
    assert [line.get_markerfacecolor() for line in left.lines] == [left.lines[0].get_color(), "white"]
    assert len({(line.get_marker(), line.get_linestyle()) for line in left.lines}) == 2
    assert [label.get_text() for label in left.get_xticklabels()] == ["6", "60"]
    assert (left.get_ylim()[0], right.get_ylim()[0]) == (0, 0)
    assert figure.description == (
        "Lines of right picks, simulated, and of input tokens by number of tools. "
        "all: 6 tools 96% and 1,275, 60 tools 85% and 9,189. searched: 6 tools 90% and 900, 60 tools 80% and 1,600."
    )


def test_recall_has_a_bar_for_each_way_and_catalogue():
    ax = plots.plot_recall({"BM25": {"better": 0.78}, "fused": {"better": 0.79, "terse": 0.62}})
    found = [(round(bar.get_width(), 2), bar.get_hatch()) for bar in ax.patches]
    assert found == [(0.78, ""), (0.79, ""), (0.62, "..")]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["BM25", "fused"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["better", "terse"]
    assert ax.description == "Bars of recall@5 by way to search. BM25: better 78%. fused: better 79%, terse 62%."


def test_cache_hits_by_what_changed():
    ax = plots.plot_cache({"nothing": (900, 100), "the order": (0, 1_000)})
    found = [(bar.get_x(), bar.get_width(), bar.get_hatch() or "") for bar in ax.patches]
    assert found == [(0, 900, ""), (0, 0, ""), (900, 100, "//"), (0, 1000, "//")]
    assert [text.get_text() for text in ax.texts] == ["90% hit, costs as much as 215", "0% hit, costs as much as 1,250"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["nothing", "the order"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "read from the cache",
        "not cached before, now kept",
    ]
    assert ax.description == (
        "Bars of the input tokens of the next turn, split into those read from the cache and those read anew, by what "
        "changed; what it costs is counted in tokens of the ordinary price. nothing: 900 read and 100 anew (90% hit), "
        "which costs as much as 215. the order: 0 read and 1,000 anew (0% hit), which costs as much as 1,250."
    )


def test_releases_have_a_square_for_each_layer_and_a_fall_is_hatched():
    ax = plots.plot_releases({"Monday": {"selection": 1.0, "steps": 0.9}, "Tuesday": {"selection": 0.9, "steps": 0.85}})
    assert [text.get_text() for text in ax.texts] == ["100%", "90%", "90%", "85%"]
    assert [square.get_hatch() or "" for square in ax.patches] == ["", "", "//", ""]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["selection", "steps"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Monday", "Tuesday"]
    assert ax.description == (
        "What passed of each layer, by release. Monday: selection 100%, steps 90%; Tuesday: selection 90%, steps 85%. "
        "Hatched: 10 points or more below the first."
    )
