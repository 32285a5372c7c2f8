"""The linter for definitions: for each rule a list that breaks it alone, and a twin that breaks none."""

import json
import sys
from collections import Counter
from math import log
from pathlib import Path

import pytest
from anthropic import beta_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx
from tool_lists import (
    AGAIN,
    CANCELS,
    FINDS,
    ID,
    READS,
    TELLS,
    WHO,
    closed,
    many,
    number,
    one,
    strict,
    text,
    tool,
    with_schema,
)

from course_kit.contract.definitions import LINT_RULES, Finding, definition_tokens, lint_tools
from course_kit.contract.lint_types import alternatives
from course_kit.contract.protocol import RULES
from course_kit.contract.reading import name_words, schemas_of
from course_kit.contract.schema import conforms
from course_kit.contract.similarity import Weighed, content_words, count_words, own_part, similarity_map
from course_kit.contract.strict import FORMATS
from course_kit.example_tools import definition, desk_tools, file_tools, get_weather
from course_kit.shop import open_shop

# rule → (a list that breaks it and nothing else, where, the twin that breaks nothing)
CASES = {
    # the wire
    "not-a-definition": ([tool(), 5], "tools[1]", [tool()]),
    "tool-name": ([tool("search.orders")], "tools[0].name", [tool("search_orders")]),
    "tool-name-long": ([tool("search_" + "o" * 58)], "tools[0].name", [tool("search_" + "o" * 57)]),
    "property-keys": (
        [tool(inputs={"wer é": WHO})],
        'tools[0].input_schema.properties["wer é"]',
        [tool(inputs={"a.b": WHO})],
    ),
    "tool-unknown-field": ([tool(descripton="x")], "tools[0].descripton", [tool(cache_control={"type": "ephemeral"})]),
    "tool-input-schema": ([{"name": "search_orders", "description": FINDS}], "tools[0].input_schema", [tool()]),
    "tool-schema-root": ([with_schema(type=["object"])], "tools[0].input_schema", [with_schema()]),
    "schema-top-level-union": (
        [with_schema(anyOf=[{"required": ["who"]}], properties={"who": WHO})],
        "tools[0].input_schema.anyOf",
        [with_schema(required=["who"], properties={"who": WHO})],
    ),
    "schema-valid": (text("who", ID, minLength="1"), "tools[0].input_schema", text("who", ID, minLength=1)),
    "input-examples-fit": (
        [tool(input_examples=[{"who": "Lindgren"}, {"who": 5}])],
        "tools[0].input_examples[1]",
        [tool(input_examples=[{"who": "Lindgren"}])],
    ),
    "tool-names-unique": (
        [tool("cancel_order", CANCELS), tool("cancel_order", AGAIN)],
        "tools[1].name",
        [tool(), tool("cancel_order", CANCELS)],
    ),
    # names and descriptions
    "name-generic": ([tool("search_data")], "tools[0].name", [tool("search_orders")]),
    "name-without-verb": ([tool("orders")], "tools[0].name", [tool("find_orders")]),
    "description-missing": ([tool(description=" ")], "tools[0].description", [tool()]),
    "description-short": ([tool(description="Search the orders of a shop.")], "tools[0].description", [tool()]),
    "says-when": (
        [tool("get_order", READS.format("an object"))],
        "tools[0].description",
        [tool("get_order", READS.format("an object. Use it when the number is known"))],
    ),
    "says-when-not": (
        [tool(), tool("query_order", READS.format("a list, empty when there is none"))],
        "tools[1].description",
        [tool(), tool("query_order", READS.format("a list, empty when there is none. Else use search_orders"))],
    ),
    "says-returns": (
        [tool("get_order", "Read one order of the shop when its number is known to the user.")],
        "tools[0].description",
        [tool("get_order", "Read one order of the shop when its number is known. Returns its items.")],
    ),
    "says-nothing-found": (
        [tool(description="Find orders of the shop when the user names a person. Returns a list.")],
        "tools[0].description",
        [tool(description="Find orders of the shop when the user names a person. Returns a list, which may be empty.")],
    ),
    "says-effects": (
        [tool("cancel_order", "Call off an order of the shop when the user asks for it. Returns the status.")],
        "tools[0].description",
        [
            tool(
                "cancel_order",
                "Call off an order of the shop when the user asks for it. Returns the status. It cannot be undone.",
            )
        ],
    ),
    "many-verbs": (
        [tool(description=f"Find or cancel orders. {FINDS}")],
        "tools[0].description",
        [tool(description=f"Find orders by name or status. {FINDS}")],
    ),
    "many-jobs": (
        one("action", type="string", description="What to do, such as get.", enum=["get_order", "cancel_order"]),
        "tools[0].input_schema.properties.action",
        one("action", type="string", description="What was done, such as paid.", enum=["paid", "packed"]),
    ),
    "boundary-unknown-tool": (
        [tool(description=f"{FINDS} For parcels use track_parcels."), tool("cancel_order", CANCELS)],
        "tools[0].description",
        [tool(description=f"{FINDS} To call it off use cancel_order."), tool("cancel_order", CANCELS)],
    ),
    # what an input means
    "input-undescribed": (one("who", type="string"), "tools[0].input_schema.properties.who", text("who", ID)),
    "input-says-nothing": (
        text("city", "The city"),
        "tools[0].input_schema.properties.city",
        text("city", "The city's English name."),
    ),
    "unit-missing": (
        number("amount", "How much to pay."),
        "tools[0].input_schema.properties.amount",
        number("amount", "How much to pay, in cents."),
    ),
    "number-as-text": (
        text("quantity", "How many to order."),
        "tools[0].input_schema.properties.quantity",
        number("quantity", "How many to order."),
    ),
    "date-without-format": (
        text("start_date", "First day of the stay."),
        "tools[0].input_schema.properties.start_date",
        text("start_date", "First day of the stay.", format="date"),
    ),
    "text-without-format": (
        text("url", "The page to read."),
        "tools[0].input_schema.properties.url",
        text("url", "The page to read.", format="uri"),
    ),
    "id-unexplained": (
        text("order_id", "Which purchase it is about."),
        "tools[0].input_schema.properties.order_id",
        text("order_id", ID),
    ),
    "unknown-format": (
        text("phone", "Where to call.", format="phone"),
        "tools[0].input_schema.properties.phone.format",
        text("mail", "Where to write.", format="email"),
    ),
    "negated-flag": (
        one("no_cache", type="boolean", description="Whether stored answers are left aside."),
        "tools[0].input_schema.properties.no_cache",
        one("cache", type="boolean", description="Whether stored answers are taken."),
    ),
    # types
    "should-be-enum": (
        text("status", "One of: open, closed, or all."),
        "tools[0].input_schema.properties.status",
        text("status", "One of: open, closed, or all.", enum=["open", "closed", "all"]),
    ),
    "choice-without-enum": (
        text("priority", "How urgent it is."),
        "tools[0].input_schema.properties.priority",
        text("priority", "How urgent it is.", enum=["low", "high"]),
    ),
    "enum-by-case": (
        text("size", "The size of the shirt.", enum=["s", "S", "m"]),
        "tools[0].input_schema.properties.size.enum",
        text("size", "The size of the shirt.", enum=["s", "m"]),
    ),
    "union": (
        one("who", description=ID, anyOf=[{"type": "string"}, {"type": "integer"}]),
        "tools[0].input_schema.properties.who.anyOf",
        one("who", description=ID, anyOf=[{"type": "string"}, {"type": "null"}]),
    ),
    "free-form": (
        one("filter", type="object", description="What to look for."),
        "tools[0].input_schema.properties.filter",
        one("filter", description="What to look for.", type="object", additionalProperties={"type": "string"}),
    ),
    "required-with-default": (
        one("who", True, type="string", description="The name, such as Lindgren; by default everybody."),
        "tools[0].input_schema.properties.who",
        one("who", type="string", description="The name, such as Lindgren; by default everybody."),
    ),
    "optional-reads-required": (
        text("who", "Required. The name, such as Lindgren."),
        "tools[0].input_schema.properties.who",
        one("who", True, type="string", description="Required. The name, such as Lindgren."),
    ),
    "default-misfit": (
        number("count", "How many; 10 by default.", default="10"),
        "tools[0].input_schema.properties.count.default",
        number("count", "How many; 10 by default.", default=10),
    ),
    "limit-unbounded": (
        number("limit", "Most orders to return."),
        "tools[0].input_schema.properties.limit",
        number("limit", "Most orders to return, 1 to 50; 10 by default."),
    ),
    "page-start": (
        number("page", "Which page to read."),
        "tools[0].input_schema.properties.page",
        number("page", "Which page to read.", minimum=1),
    ),
    # a schema as a whole
    "open-object": (
        [with_schema(properties={"who": WHO}, additionalProperties=True)],
        "tools[0].input_schema",
        [with_schema(properties={"who": WHO})],
    ),
    "too-deep": (
        [tool(inputs={"a": closed(b=closed(c=WHO))})],
        "tools[0].input_schema.properties.a.properties.b.properties.c",
        [tool(inputs={"a": closed(b=WHO)})],
    ),
    "recursive-schema": (
        [
            with_schema(
                **{"$defs": {"N": {"type": "array", "items": {"$ref": "#/$defs/N"}}}, "properties": {"who": WHO}}
            )
        ],
        "tools[0].input_schema.$defs.N",
        [
            with_schema(
                **{
                    "$defs": {"N": {"type": "array", "items": WHO}},
                    "properties": {"who": {"$ref": "#/$defs/N", "description": ID}},
                }
            )
        ],
    ),
    "ref-chain": (
        [
            with_schema(
                **{"$defs": {"A": {"$ref": "#/$defs/B"}, "B": WHO}, "properties": {"who": {"$ref": "#/$defs/A"}}}
            )
        ],
        "tools[0].input_schema.$defs.A",
        [with_schema(**{"$defs": {"B": WHO}, "properties": {"who": {"$ref": "#/$defs/B"}}})],
    ),
    "required-unknown": ([tool(required=["whom"])], "tools[0].input_schema.required", [tool(required=["who"])]),
    # the list
    "tools-list": ({"toolz": []}, "tools", {"tools": [tool()]}),
    "other-shape": (
        [
            {
                "type": "function",
                "function": {"name": "search_orders", "description": FINDS, "parameters": tool()["input_schema"]},
            }
        ],
        "tools[0]",
        [tool()],
    ),
    "mcp-shape": (
        [{"name": "search_orders", "description": FINDS, "inputSchema": tool()["input_schema"]}],
        "tools[0]",
        [tool()],
    ),
    "near-identical": (
        [tool(), tool("find_purchases", FINDS.replace("person", "customer"))],
        "tools[1].description",
        [tool(), tool("find_purchases", FINDS.replace("person", "customer") + " Else use search_orders.")],
    ),
    "some-tool-not-deferred": (
        [tool(defer_loading=True), tool("cancel_order", CANCELS, defer_loading=True)],
        "tools",
        [tool(defer_loading=True), tool("cancel_order", CANCELS)],
    ),
    "many-tools": (many(31), "tools", [*many(30), *many(40, defer_loading=True)[30:]]),
    "many-tokens": (
        [tool(description=FINDS + " It is so." * 5000)],
        "tools",
        [tool(description=FINDS + " It is so." * 500)],
    ),
    # strict
    "strict-open-object": (
        [{**with_schema(properties={"who": WHO}, required=["who"], additionalProperties=True), "strict": True}],
        "tools[0].input_schema",
        [{**with_schema(properties={"who": WHO}, required=["who"]), "strict": True}],
    ),
    "strict-unsupported-keyword": (
        [strict("who", type="integer", minimum=1)],
        "tools[0].input_schema.properties.who",
        [strict("who", type="integer")],
    ),
    "strict-too-many-optional": (
        [
            strict(*"abcdefghijklm", required=[]),
            {**strict(*"nopqrstuvwxyz", required=[]), "name": "cancel_order", "description": CANCELS},
        ],
        "tools",
        [
            strict(*"abcdefghijklm", required=[]),
            {**strict(*"nopqrstuvwx", required=[]), "name": "cancel_order", "description": CANCELS},
        ],
    ),
    "strict-too-many-unions": (
        [strict(*"abcdefghijklmnopq", type=["string", "null"])],
        "tools",
        [strict(*"abcdefghijklmnop", type=["string", "null"])],
    ),
    "strict-too-many-tools": (
        many(21, strict=True, required=["who"]),
        "tools",
        many(20, strict=True, required=["who"]),
    ),
}
SAYS = json.loads(Path(__file__).with_name("data").joinpath("lint_findings.json").read_text(encoding="utf-8"))
ELSEWHERE = {id for id in LINT_RULES if id.startswith("strict-")} - CASES.keys()  # the strict subset: test_strict.py


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_speaks_alone_and_is_silent_about_the_twin(rule):
    bad, path, good = CASES[rule]
    found = lint_tools(bad)
    assert [(finding.rule, finding.path) for finding in found] == [(rule, path)]
    assert found[0].severity == LINT_RULES[rule].severity
    assert [found[0].message, found[0].fix] == SAYS[rule]
    assert lint_tools(good) == []


def test_every_rule_has_a_case():
    assert LINT_RULES.keys() - CASES.keys() == ELSEWHERE
    assert CASES.keys() == SAYS.keys()


@pytest.mark.parametrize("id", LINT_RULES)
def test_rules_say_what_they_are(id):
    rule = LINT_RULES[id]
    assert rule.says and len(rule.says) < 130
    assert rule.severity in ("error", "warning", "hint") and rule.lesson in ("02", "03", "07")


WHOSE = {
    "not-a-definition": "tools[1]",
    "tool-names-unique": "cancel_order",
    "near-identical": "find_purchases",
    "says-when-not": "query_order",
    "mcp-shape": "search_orders",
    "other-shape": "search_orders",
    **dict.fromkeys(("some-tool-not-deferred", "many-tools", "tools-list", "strict-too-many-tools"), ""),
}


@pytest.mark.parametrize("rule", WHOSE)
def test_a_finding_names_its_tool_or_none(rule):
    assert [finding.tool for finding in lint_tools(CASES[rule][0])] == [WHOSE[rule]]


def shaped(name, description, kind):
    function = {"name": name, "description": description, "parameters": tool()["input_schema"]}
    return {"type": "function", "function": function} if kind == "chat" else {"type": "function", **function}


FINDS_TOO = FINDS.replace("person", "customer")
WHOLE_LISTS = {
    "three of one name": (
        [tool("cancel_order", CANCELS), tool("cancel_order", AGAIN), tool("cancel_order", FINDS)],
        ["tool-names-unique tools[1].name", "tool-names-unique tools[2].name"],
    ),
    "two without a name": (
        [{key: text for key, text in tool("", said).items() if key != "name"} for said in (FINDS, CANCELS)],
        ["tool-name tools[0].name", "tool-name tools[1].name"],
    ),
    "three of one description": (
        [tool(), tool("find_purchases"), tool("find_sales")],
        ["near-identical tools[1].description", "near-identical tools[2].description"],
    ),
    "two without a description": (
        [tool(description=""), tool("find_purchases", description="")],
        ["description-missing tools[0].description", "description-missing tools[1].description"],
    ),
    "the first names the second": (
        [tool(description=f"{FINDS_TOO} Else use find_purchases."), tool("find_purchases")], [],
    ),
    "two other shapes": (
        [shaped("search_orders", FINDS, "responses"), shaped("cancel_order", CANCELS, "chat")],
        ["other-shape tools[1]", "other-shape tools[0]"],
    ),
    "inputs of a provider's tool": (
        [{"type": "bash_20250124", "name": "bash", "input_schema": one("amount")[0]["input_schema"]}, tool()],
        [],
    ),
    "no tools at all": ([], []),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE_LISTS)
def test_whole_lists(name):
    tools, expected = WHOLE_LISTS[name]
    assert [f"{finding.rule} {finding.path}" for finding in lint_tools(tools)] == expected


def test_how_many_there_are_is_counted():
    shapes = [shaped("search_orders", FINDS, "chat"), shaped("cancel_order", CANCELS, "chat")]
    [finding] = lint_tools(shapes)
    assert finding.message == "2 tools are in the shape of OpenAI's Chat Completions, which the Messages API refuses."
    [finding] = lint_tools(many(33))
    assert finding.fix.startswith("Group them by task, or defer 3 or more (`defer_loading`)")


def test_the_three_largest_are_named_the_largest_first():
    sizes = {"search_orders": 2000, "cancel_orders": 3000, "pay_orders": 900, "read_orders": 1}
    tools = [tool(name, f"{TELLS.format(size, size)}{' It is so.' * size}") for name, size in sizes.items()]
    [finding] = lint_tools(tools)
    costs = {name: definition_tokens(one) for name, one in zip(sizes, tools, strict=True)}
    assert finding.message == (
        f"The definitions take about {sum(costs.values()):,} tokens in every turn, the largest of them: cancel_orders "
        f"{costs['cancel_orders']:,}, search_orders {costs['search_orders']:,}, pay_orders {costs['pay_orders']:,}."
    )


def test_rules_of_the_protocol_keep_their_names():
    same = {id for id in LINT_RULES if id in RULES and not id.startswith("strict-")}
    assert same == {
        *("tool-name", "property-keys", "tool-unknown-field", "tool-input-schema", "tool-schema-root", "schema-valid"),
        *("schema-top-level-union", "input-examples-fit", "tool-names-unique", "some-tool-not-deferred"),
    }


# --- sets that are well made ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_our_own_tools_are_clean(tmp_path, provider):
    desk = desk_tools(open_shop(tmp_path / "shop.db"))
    assert lint_tools(desk, provider) == []
    assert lint_tools([tool.definition() for tool in desk], provider) == []
    assert lint_tools(file_tools(tmp_path), provider) == []
    assert lint_tools([*desk, *file_tools(tmp_path), get_weather], provider) == []


@pytest.mark.parametrize("name", ["refund_order", "search_orders", "read_file", "get_weather"])
def test_one_of_our_own_by_itself_is_clean(name):
    assert lint_tools(definition(name)) == []


def test_one_sentence_less_is_one_finding_more():
    refund = definition("refund_order")
    refund["input_schema"]["properties"]["amount_cents"].pop("description")
    assert [finding.rule for finding in lint_tools([refund])] == ["input-undescribed"]


CHINESE = (
    "按客户或状态查找店里的订单。用户说出姓名、没有订单号时使用；查包裹请改用别的工具。"
    "返回订单列表，最新的在前；没有匹配时返回空列表。不改变任何数据。"
)


def test_a_good_chinese_description_is_clean():
    who = {"type": "string", "description": "客户姓名或邮箱，例如 Lindgren；不填则查所有客户。"}
    limit = {"type": "integer", "description": "最多返回几条，1 到 50，默认 10。"}
    assert lint_tools([tool(description=CHINESE, inputs={"customer": who, "limit": limit})]) == []


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        pytest.param([tool(description="查询订单")], "description-short", id="short"),
        pytest.param([tool(description="查找或取消订单。" + CHINESE)], "many-verbs", id="two_jobs"),
        pytest.param(number("amount", "要退的金额"), "unit-missing", id="unit"),
        pytest.param(text("start_date", "开始的日期"), "date-without-format", id="date"),
        pytest.param(text("status", "可选值：已付、已发货、已取消"), "should-be-enum", id="enum"),
        pytest.param(
            one("who", True, type="string", description="客户姓名，可选，如 Lindgren"),
            "required-with-default",
            id="required",
        ),
        pytest.param(text("who", "必填，客户姓名，如 Lindgren"), "optional-reads-required", id="optional"),
    ],
)
def test_chinese_texts_are_read(bad, rule):
    assert [finding.rule for finding in lint_tools(bad)] == [rule]


def test_another_language_is_not_judged():
    german = "Liefert das Wetter einer Stadt: Temperatur, Wind und Regen der kommenden Stunde, alles in Grad und km/h."
    assert lint_tools([tool("get_weather", german)]) == []


# --- what findings say ---------------------------------------------------------------------------------------------


def test_a_finding_in_full():
    assert lint_tools(number("amount", "How much to pay.")) == [
        Finding(
            "search_orders",
            "tools[0].input_schema.properties.amount",
            "unit-missing",
            "warning",
            "`amount` has no unit: 20 may come where 2000 is meant, and both look right.",
            'Call it `amount_cents`, and give unit and example in its description: "In cents: 19.99 is 1999."',
            "02",
        )
    ]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        pytest.param([tool("cal.create-event")], "Call it `cal_create-event`.", id="legal_name"),
        pytest.param([tool("météo")], "Call it `m_t_o`.", id="accents"),
        pytest.param([tool("天气")], "Give it an English name", id="nothing_legal"),
        pytest.param([tool("search_data")], "`search_orders`, `search_parcels`", id="verb_kept"),
        pytest.param([tool(inputschema={})], "Write `input_schema`.", id="near_field"),
        pytest.param([tool(required=["whoo"])], 'Write "who".', id="near_property"),
        pytest.param(text("mail", "Where to write.", format="e-mail"), 'Write "format": "email"', id="near_format"),
        pytest.param(number("maxDistance", "How far."), "Call it `maxDistanceMeters`", id="camel_case"),
        pytest.param(text("status", "One of: open, closed."), 'Add "enum": ["open", "closed"].', id="enum"),
        pytest.param(CASES["many-jobs"][0], "such as `get_order`", id="split"),
        pytest.param(CASES["other-shape"][0], "`parameters` is called `input_schema`", id="chat_shape"),
        pytest.param(CASES["near-identical"][0], "(use search_orders)", id="neighbour"),
    ],
)
def test_a_fix_is_a_concrete_proposal(bad, words):
    assert any(words in finding.fix for finding in lint_tools(bad))


def test_near_identical_names_the_pair_and_the_score():
    [finding] = lint_tools(CASES["near-identical"][0])
    assert "`search_orders` and `find_purchases`" in finding.message and "similarity 0." in finding.message


def alike(*pairs):
    found = lint_tools([tool(name, description) for name, description in pairs])
    return [finding.message.partition(" describe")[0] for finding in found if finding.rule == "near-identical"]


def test_each_tool_is_told_its_nearest_neighbour_alone():
    guest = FINDS.replace("person", "guest")
    three = [("search_orders", FINDS), ("find_purchases", FINDS_TOO), ("find_sales", guest)]
    assert alike(*three) == ["`search_orders` and `find_purchases`", "`search_orders` and `find_sales`"]


LABEL = "label in a shop: its colour, its name, its text and its place are written down there. Use it when asked."


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        pytest.param(("label_a", f"Create a {LABEL}"), ("label_b", f"Delete a {LABEL}"), False, id="by_description"),
        pytest.param(("label_a", f"Create a {LABEL}"), ("label_b", f"Add a {LABEL}"), True, id="one_kind"),
        pytest.param(("create_label", f"The {LABEL}"), ("delete_label", f"Some {LABEL} Now."), False, id="by_name"),
        pytest.param(("create_label", f"The {LABEL}"), ("add_label", f"Some {LABEL} Today."), True, id="names_alike"),
        pytest.param(("create_label", f"Add a {LABEL}"), ("delete_label", f"Create a {LABEL}"), True, id="text_first"),
    ],
)
def test_what_is_done_tells_tools_apart(one, other, found):
    assert alike(one, other) == ([f"`{one[0]}` and `{other[0]}`"] if found else [])


def test_opposite_verbs_are_told_apart():
    create = "Create a label in a repository of the shop. Use it when asked. Not twice. Returns its id."
    assert lint_tools([tool("create_label", create), tool("delete_label", create.replace("Create", "Delete"))]) == []


def test_the_whole_list_of_one_shape_is_one_finding():
    shaped = [{"name": t["name"], "description": t["description"], "inputSchema": t["input_schema"]} for t in many(5)]
    [finding] = lint_tools({"jsonrpc": "2.0", "id": 1, "result": {"tools": shaped}})
    assert (finding.rule, finding.severity) == ("mcp-shape", "hint") and "5 tools are" in finding.message


def test_a_tool_of_the_sdk_is_read_as_its_definition():
    @beta_tool
    def get_weather(city: str) -> str:
        """Look up the weather of a city at this hour."""
        return city

    assert lint_tools([get_weather]) == lint_tools(get_weather) == lint_tools([get_weather.to_dict()])
    assert schemas_of(get_weather) == [("get_weather", get_weather.input_schema)]


def test_schemas_of_whatever_holds_some():
    schema, other = {"type": "object", "properties": {"a": WHO}}, {"type": "string"}
    assert schemas_of([{"name": "add", "input_schema": schema}, other]) == [("add", schema), ("", other)]
    assert schemas_of({"result": {"tools": [{"name": "add", "inputSchema": schema}]}}) == [("add", schema)]
    assert schemas_of({"inputSchema": schema}) == [("", schema)]
    assert schemas_of([]) == []
    with pytest.raises(ValueError, match=r"^A schema is an object such as \{'type': 'object'\}, not int: give one\.$"):
        schemas_of([schema, 3])


def test_paths_lead_into_the_shape_that_was_given():
    chat = {"type": "function", "function": {"name": "pay_bill", "description": CANCELS, "parameters": None}}
    chat["function"]["parameters"] = tool(inputs={"amount": {"type": "number", "description": "How much."}})[
        "input_schema"
    ]
    assert [f.path for f in lint_tools([chat], "openai")] == ["tools[0].function.parameters.properties.amount"]
    assert [f.rule for f in lint_tools([chat], "anthropic")] == ["unit-missing", "other-shape"]


def test_providers_differ():
    assert lint_tools([tool("search_" + "o" * 60)], "openai")[0].rule == "tool-name"
    bounded = [{**with_schema(properties={"n": {"type": "integer", "minimum": 1, "description": ID}}), "strict": True}]
    assert [f.rule for f in lint_tools(bounded)] == ["strict-unsupported-keyword"]
    assert [f.rule for f in lint_tools(bounded, "openai")] == ["strict-all-required"]
    with pytest.raises(ValueError, match='"anthropic" or "openai"'):
        lint_tools([], "azure")


def test_tools_of_the_provider_are_left_alone():
    assert lint_tools([{"type": "bash_20250124", "name": "bash"}, tool()]) == []


def test_inputs_behind_references_are_read_where_they_stand():
    shared = {
        "$defs": {
            "Money": {"type": "object", "additionalProperties": False, "properties": {"amount": {"type": "number"}}}
        }
    }
    found = lint_tools([with_schema(**shared, properties={"paid": {"$ref": "#/$defs/Money", "description": ID}})])
    assert {f.path for f in found} == {"tools[0].input_schema.$defs.Money.properties.amount"}
    assert [f.rule for f in found] == ["input-undescribed", "unit-missing"]


# --- rules with many faces -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["do", "process", "manage", "search_data", "get_info", "update_record", "handleRequest", "query", "run"]
)
def test_generic_names(name):
    assert "name-generic" in {finding.rule for finding in lint_tools([tool(name)])}


@pytest.mark.parametrize(
    "name", ["grep", "search_orders", "ask_user", "listOrders", "track_parcel", "create_task", "echo"]
)
def test_telling_names(name):
    assert lint_tools([tool(name)]) == []


@pytest.mark.parametrize("name", ["weather", "order_info", "customer_orders", "shipments"])
def test_names_without_a_verb(name):
    assert [finding.rule for finding in lint_tools([tool(name)])] == ["name-without-verb"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("amount", "How much."),
        ("price", "What it costs."),
        ("max_price", "At most this much."),
        ("duration", "How long it takes."),
        ("timeout", "When to stop waiting."),
        ("distance", "How far away."),
        ("temperature", "How warm it is."),
        ("size", "How large it is."),
    ],
)
def test_units_that_are_missing(name, description):
    assert [finding.rule for finding in lint_tools(number(name, description))] == ["unit-missing"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("amount_cents", "How much."),
        ("price", "What it costs, in euros."),
        ("timeout_ms", "When to stop waiting."),
        ("temperature_c", "How warm it is."),
        ("page_size", "How many a page holds, 1 to 50; 10 by default."),
        ("font_size", "How large the letters are."),
        ("price_level", "How dear it is."),
        ("amount", "19.99 for a cup."),
        ("distance", "How far, in km."),
        ("height", "How tall, in centimeters."),
        ("velocity", "How fast, in m/s."),
        ("amount", "The number of mountains."),
    ],
)
def test_units_that_are_there(name, description):
    assert lint_tools(number(name, description)) == []


def test_a_temperature_that_is_a_share_needs_no_unit():
    assert lint_tools(number("temperature", "How much chance.", type="number", maximum=1)) == []


@pytest.mark.parametrize("name", ["date", "start_time", "deadline", "created_at", "since", "birthDate"])
def test_dates_without_a_form(name):
    assert [finding.rule for finding in lint_tools(text(name, "The moment it is about."))] == ["date-without-format"]
    assert lint_tools(text(name, "The moment it is about, such as 2026-11-30T09:00:00Z.")) == []


@pytest.mark.parametrize("name", ["time_zone", "date_format", "update", "candidate", "runtime_name"])
def test_what_only_sounds_like_a_date(name):
    assert lint_tools(text(name, "How it is called there.")) == []


@pytest.mark.parametrize(
    ("description", "options"),
    [
        ("One of: open, closed, or all.", ["open", "closed", "all"]),
        ("one of a, b, c", ["a", "b", "c"]),
        ("Must be one of the following: `asc`, `desc`", ["asc", "desc"]),
        ("Either asc or desc.", ["asc", "desc"]),
        ("Can be 'code' or 'issues'.", ["code", "issues"]),
        ("Sort order (asc|desc)", ["asc", "desc"]),
        ("Allowed values: low, medium, high.", ["low", "medium", "high"]),
        ("可选值：已付、已发货", ["已付", "已发货"]),
        ("One of red, green, blue, etc.", []),
        ("One of: a, a.", []),
        ("One of: ., x", []),
        ("One of the user's orders, or a draft of it.", []),
        ("Either the id of an order or its date.", []),
        ("A colour such as 'red' or 'blue'.", []),
        ("Whether it is `true` or `false`.", []),
        ("Saved as page.{png|jpeg}.", []),
        ("Repository owner (username or organization)", []),
    ],
)
def test_alternatives(description, options):
    assert alternatives(description) == options


def test_values_that_are_names_of_inputs_are_no_enum():
    inputs = {"by": {"type": "string", "description": "Either who or when."}, "who": WHO, "when": WHO}
    assert lint_tools([tool(inputs=inputs)]) == []


@pytest.mark.parametrize(
    "words", ["optional in some shops", "Optional-looking marks", "the default branch of the house"]
)
def test_words_that_only_sound_optional(words):
    assert lint_tools(one("who", True, type="string", description=f"What it is: {words}, such as x.")) == []


@pytest.mark.parametrize("words", ["Required if the file exists.", "Not required.", "Tickets required."])
def test_words_that_only_sound_required(words):
    assert lint_tools(text("who", f"{words} Such as Lindgren.")) == []


def test_the_methods_of_http_are_no_jobs():
    assert lint_tools(one("method", type="string", description="What is sent.", enum=["GET", "POST", "DELETE"])) == []


def test_an_action_with_a_payload_opens_every_combination():
    inputs = {"action": {"type": "string", "description": "Such as create."}, "entity": WHO, "payload": WHO}
    assert [finding.rule for finding in lint_tools([tool(inputs=inputs)])] == ["many-jobs"]


# --- field reports -------------------------------------------------------------------------------------------------


def test_fr05_all_names_and_keys_at_every_depth():
    names = ["cal.create-event", "todo/find", "get weather", "météo", "", "a" * 129]
    keys = ["$top", "filter[id]", "étage", "a b", "", "k" * 65]
    found = lint_tools([tool(name, inputs={"outer": closed(**dict.fromkeys(keys, WHO))}) for name in names])
    assert [f.path for f in found if f.rule == "tool-name"] == [f"tools[{i}].name" for i in range(6)]
    bad = [f for f in found if f.rule == "property-keys"]
    assert len(bad) == 36
    assert {f.path for f in bad if f.tool == "todo/find"} == {
        f"tools[1].input_schema.properties.outer.properties{where}"
        for where in (".$top", '["filter[id]"]', ".étage", '["a b"]', '[""]', f".{'k' * 65}")
    }


@pytest.mark.parametrize("name", ["get_weather\n", "wetter_é", "a.b"])
def test_fr05_a_full_match_of_ascii(name):
    assert "tool-name" in {finding.rule for finding in lint_tools([tool(name)])}
    assert lint_tools([tool(inputs={"filter.id-1": WHO})]) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_fr06_a_union_at_the_root(keyword):
    schema = with_schema(properties={"who": WHO}, **{keyword: [{"required": ["who"]}]})
    [finding] = [f for f in lint_tools([schema]) if f.rule == "schema-top-level-union"]
    assert finding.path == f"tools[0].input_schema.{keyword}"
    assert "Flatten" in finding.fix and "two tools" in finding.fix
    inside = one("who", description=ID, **{keyword: [{"type": "string"}]})
    assert lint_tools(inside) == []


def test_fr06_the_root_says_object():
    assert [f.rule for f in lint_tools([{**tool(), "input_schema": {}}])] == ["tool-schema-root"]


def test_fr07_a_nested_object_that_is_open():
    guest = {"type": "object", "properties": {"age": {"type": "integer", "description": ID}}, "required": ["age"]}
    book = [{**with_schema(properties={"guest": {**guest, "description": ID}}, required=["guest"]), "strict": True}]
    assert [(f.rule, f.path) for f in lint_tools(book)] == [
        ("strict-open-object", "tools[0].input_schema.properties.guest")
    ]
    assert [f.rule for f in lint_tools([{**book[0], "strict": False}])] == ["open-object"]


def test_fr07_the_budget_is_counted_over_the_list():
    over, _, within = CASES["strict-too-many-optional"]
    [finding] = lint_tools(over)
    assert "are 2 over" in finding.message and "(26)" in finding.message
    assert lint_tools([over[0], {**over[1], "strict": False}]) == []
    assert lint_tools(within) == []


def test_fr09_a_root_reference_is_put_inline():
    schema = {"$ref": "#/$defs/T", "$defs": {"T": closed(who=WHO)}}
    [finding] = lint_tools([{**tool(), "input_schema": schema}])
    assert finding.rule == "tool-schema-root" and "inline" in finding.fix


def test_fr09_recursion_and_missing_references():
    child = {"type": "object", "description": "The next one, such as {}.", "$ref": "#"}
    looped = {**with_schema(properties={"child": child}), "strict": True}
    assert "strict-recursion" in {f.rule for f in lint_tools([looped])}
    assert "schema-valid" in {f.rule for f in lint_tools([with_schema(properties={"a": {"$ref": "#/$defs/X"}})])}


@pytest.mark.parametrize("form", sorted(FORMATS["anthropic"]))
def test_fr15_the_ten_formats_are_checked(form):
    assert not conforms({"format": form}, ":::: ((")
    assert "unknown-format" not in {f.rule for f in lint_tools(text("who", ID, format=form))}


def test_fr15_an_unknown_format_is_not_checked():
    assert conforms({"format": "phone"}, ":::: ((")
    [finding] = lint_tools(text("who", ID, format="phone"))
    assert "not checked" in finding.message


# --- similarity ----------------------------------------------------------------------------------------------------


def test_boundaries_make_nobody_alike():
    assert (
        own_part("Find orders. Not for parcels (use track_parcel). Returns a list.") == "Find orders.  Returns a list."
    )
    texts = ["Find orders. Not for parcels (use track_parcel).", "Track a parcel. Not for orders (use search_orders)."]
    assert list(Weighed(texts).pairs(0.1)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Finds orders of a customer", {"find", "order", "customer"}),
        ("class, bus, cups and glasses", {"class", "bus", "cup", "glasse"}),
        ("searchOrders2026", {"search", "order", "2026"}),
        ("查询订单", {"查询", "询订", "订单"}),
        ("单 一订单 鿿订单", {"单", "一订", "鿿订", "订单"}),
    ],
    ids=["stop_words", "plurals", "camel_case", "pairs_of_characters", "single_characters"],
)
def test_what_a_text_is_about(text, words):
    assert content_words(text) == words


def test_pairs_of_similar_texts():
    texts = ["Find orders by customer.", "Find the orders of a customer.", "Find orders by date.", "Track a parcel."]
    pairs = list(Weighed(texts).pairs(0.3))
    assert sorted((pair.first, pair.second) for pair in pairs) == [(0, 1), (0, 2), (1, 2)]
    assert max(pairs, key=lambda pair: pair.score) == (0, 1, 1.0)
    assert list(Weighed(texts).pairs(1.0)) == [(0, 1, 1.0)]


def test_the_short_way_to_pairs_loses_none():
    texts = [" ".join(f"w{(i * j) % 17}" for j in range(2, 9)) for i in range(60)]
    near = list(Weighed(texts).pairs(0.5))
    names, table = similarity_map([{"name": f"t{i}", "description": text} for i, text in enumerate(texts)])
    assert {(p.first, p.second) for p in near} == {(i, j) for j in range(60) for i in range(j) if table[i][j] >= 0.5}
    assert names[:2] == ["t0", "t1"] and table[3][3] == 1.0 and table[2][5] == table[5][2]


def test_words_are_counted_also_in_chinese():
    assert (count_words("Find orders of the shop"), count_words("查询订单状态"), count_words("")) == (5, 3, 0)
    assert count_words("一 鿿 or é2") == 4


def test_the_map_of_texts_that_share_all_half_or_nothing():
    tools = [{"name": "find", "description": "Find orders."}, {"name": "seek", "description": "Find parcels."}]
    tools += [{"name": "again", "description": "Finds the order."}, {"name": "silent"}, {"name": "mute"}]
    names, table = similarity_map(tools)
    near = 1 / (1 + log(3))  # what three of the texts share counts less
    half = near / (near + 1 + 1 / (1 + log(2)))
    assert names == ["find", "seek", "again", "silent", "mute"]
    assert table == [
        [1, approx(half), 1, 0, 0],
        [approx(half), 1, approx(half), 0, 0],
        [1, approx(half), 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert name_words("maxAmountCents") == name_words("max_amount-cents") == ["max", "amount", "cents"]


def test_tokens_of_a_definition():
    assert definition_tokens({"name": "add"}) == 3
    assert definition_tokens({"name": "天气"}) == 4  # as UTF-8, not escaped
    circle: dict = {}
    circle["in"] = circle
    deep: dict = {}
    for _ in range(100_000):
        deep = {"in": deep}
    assert [definition_tokens(one) for one in (circle, deep, {(1, 2): 3})] == [0, 0, 0]
    assert 200 < definition_tokens(definition("refund_order")) < 450


# --- anything at all -----------------------------------------------------------------------------------------------

KEYWORDS = st.sampled_from(
    """name description input_schema inputSchema parameters function type strict defer_loading input_examples tools
    result properties required items anyOf oneOf allOf enum const default $ref $defs format pattern maximum minimum not
    additionalProperties prefixItems action payload amount limit page start_at""".split()
)
WORDS = st.text(max_size=10) | st.sampled_from(
    [
        "object",
        "string",
        "array",
        "phone",
        "#",
        "#/$defs/a",
        "one of a, b or c",
        "optional",
        "use find_it",
        "查找或取消订单",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYWORDS | WORDS, inner, max_size=6),
    max_leaves=25,
)
TOOL = st.fixed_dictionaries(
    {"name": WORDS | JSON, "input_schema": st.fixed_dictionaries({"type": st.just("object"), "properties": JSON})},
    optional={"description": WORDS | JSON, "strict": st.booleans(), "type": JSON, "input_examples": JSON},
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON | st.lists(TOOL, max_size=3), st.sampled_from(["anthropic", "openai"]))
def test_lint_never_raises_and_always_says_what_to_do(given, provider):
    before = json.dumps(given)
    for finding in lint_tools(given, provider):
        assert finding.message and finding.fix and finding.path.startswith("tools") and finding.rule in LINT_RULES
        assert "\n" not in finding.message + finding.fix + finding.path
    assert json.dumps(given) == before


def test_deep_and_wide_definitions_end():
    deep = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    wide = {
        "type": "object",
        "properties": {f"a{i}": {"$ref": "#/$defs/T"} for i in range(500)},
        "$defs": {"T": closed(a=WHO)},
    }
    assert "too-deep" in {finding.rule for finding in lint_tools([{**tool(), "input_schema": deep}])}
    assert lint_tools([{**tool(), "input_schema": wide}])
    assert lint_tools([tool(description="“" * 100_000 + "1" * 100_000)])


def test_a_thousand_tools_take_no_more_than_their_number():
    """Counted in calls of functions: a clock would count the machine's other work, too."""
    calls = []
    for tools in (many(100), many(400)):
        counted: Counter[str] = Counter()
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, argument, counted=counted: counted.update([event]))
        try:
            lint_tools(tools)
        finally:
            sys.setprofile(before)
        calls.append(counted["call"] + counted["c_call"])
    assert 1000 < calls[1] < 6 * calls[0]


# --- real definitions ----------------------------------------------------------------------------------------------


def test_real_definitions_lint(shared_data):
    path = shared_data / "schemas" / "schemas.jsonl"
    tools = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    by_source: dict[str, list] = {}
    for entry in tools:
        by_source.setdefault(entry.pop("source"), []).append(entry)
    found = [finding for entries in by_source.values() for finding in lint_tools(entries)]
    # All of them pass the API today, so none may be called refused.
    assert [finding for finding in found if finding.severity == "error"] == []
    loud = {finding.tool for finding in found if finding.severity == "warning"}
    assert 100 < len(loud) < 200
