"""Names and descriptions: each rule at its edges, where it speaks and where it is silent."""

import pytest
from tool_lists import CANCELS, FINDS, ID, READS, WHO, closed, one, rules, said, tool

from course_kit.contract.lint_texts import kind_of_verb

NAME, DESCRIPTION = "tools[0].name:", "tools[0].description:"
ACTION = {"type": "string", "description": "Such as get."}
NEIGHBOUR = tool("cancel_order", CANCELS)
FINDS_NOTHING = "Work on orders of the shop when the user names a person. Returns a list."
EFFECTLESS = "Work on an invoice of the shop when the user asks for it. Returns the status of it."


def sends(words, **inputs):
    return [tool(description=f"{FINDS} For parcels {words}.", inputs={"who_else": WHO, **inputs}), NEIGHBOUR]


SILENT = {
    "no word in a name": [tool("_")],
    "a verb that ends in s": [tool("access_files")],
    "a verb of the description behind a sign": [
        tool("blur_picture", "*Blurs* a picture. Use it when asked. Returns no name.")
    ],
    "64 characters": [tool("search_" + "o" * 57)],
    "a verb and its object in one word": [tool("searchorders")],
    "a noun that is a verb in front": [tool("order_pizza")],
    "a verb in the plural": [tool("books_orders_finds")],
    "the verb of the description": [tool("blur_picture", "Blurs a picture. Use it when asked. Returns no name.")],
    "a name that is not English": [tool("search_orders"), NEIGHBOUR],
    "eight words": [tool("call_taxi", "When it is so return it never max.")],
    "not for what else": [tool("get_order", READS.format("an object. Not for goods"))],
    "a search without inputs": [tool(inputs={}, description=FINDS_NOTHING)],
    "no search": [tool("get_orders", FINDS_NOTHING)],
    "a reader has no effects": [tool("get_invoice", EFFECTLESS)],
    "two ways to read": [tool("call_taxi", f"Find or read orders. {FINDS}")],
    "move and rename": [tool("call_taxi", f"Move and rename files. {FINDS}")],
    "search and replace": [tool("call_taxi", f"Search and replace words. {FINDS}")],
    "find and replace": [tool("call_taxi", f"Find and replace words. {FINDS}")],
    "the same verb twice": [tool("call_taxi", f"Cancel or cancels orders. {FINDS}")],
    "an action deep inside": [tool(inputs={"a": closed(action={**ACTION, "enum": ["get", "pay"]})})],
    "one verb among values": one("action", type="string", description="Such as get.", enum=["get", "blue"]),
    "numbers are no verbs": one("action", type="integer", description="Such as 1.", enum=[1, 2]),
    "an action without a payload": [tool(inputs={"action": ACTION, "other": WHO})],
    "sent to a parameter": sends("use track_parcels parameter"),
    "sent to an input": sends("use who_else"),
    "sent to a value": sends("use by_name", how={"type": "string", "description": ID, "enum": ["by_name"]}),
    "sent to itself": sends("use search_orders"),
    "a tool alone": [tool(description=f"{FINDS} For parcels use track_parcels.")],
}  # fmt: skip
SPEAKS = {
    "the longest name": (
        [tool("search_" + "o" * 121)],
        f"tool-name-long at {NAME} The name has 128 characters: other providers refuse more than 64, and each is paid "
        "for. Keep the verb and its object, such as `search_orders`.",
    ),
    "an empty name keeps its verb": (
        [tool("update_record", CANCELS)],
        f"name-generic at {NAME} `update_record` could stand for anything, so it is picked for anything. Name what it "
        "acts on, too: `update_orders`, `update_parcels`.",
    ),
    "a noun and nothing more": (
        [tool("order_info")],
        f"name-without-verb at {NAME} `order_info` names a thing, and not what is done with it: is it read, changed, "
        "sent? Put the verb first: `get_info`, if it reads.",
    ),
    "a noun alone": (
        [tool("email")],
        f"name-without-verb at {NAME} `email` names a thing, and not what is done with it: is it read, changed, sent? "
        "Put the verb first: `get_email`, if it reads.",
    ),
    "seven words": (
        [tool("call_taxi", "When it is so return it never.")],
        f'description-short at {DESCRIPTION} "When it is so return it never." hardly says more than the name. Write '
        "three to six sentences: when to use it; when not, and which tool instead; what comes back, also when nothing "
        "is found; limits and side effects.",
    ),
    "three verbs": (
        [tool("call_taxi", f"Create, update and cancel things. {FINDS}")],
        f"many-verbs at {DESCRIPTION} It is there to create and to cancel: whoever wants one of the two can get the "
        "other. Make two tools, one to create and one to cancel.",
    ),
    "then": (
        [tool("call_taxi", f"Find orders, then cancel it. {FINDS}")],
        f"many-verbs at {DESCRIPTION} It is there to find and to cancel: whoever wants one of the two can get the "
        "other. Make two tools, one to find and one to cancel.",
    ),
    "also, in a later sentence": (
        [tool("call_taxi", f"Creates orders. It can also delete orders. {FINDS}")],
        f"many-verbs at {DESCRIPTION} It is there to create and to delete: whoever wants one of the two can get the "
        "other. Make two tools, one to create and one to delete.",
    ),
    "other forms of the verbs": (
        [tool("call_taxi", f"Creating or removing an order. {FINDS}")],
        f"many-verbs at {DESCRIPTION} It is there to create and to remove: whoever wants one of the two can get the "
        "other. Make two tools, one to create and one to remove.",
    ),
    "two verbs in Chinese": (
        [tool("call_taxi", f"新建订单，也可以删除。 {FINDS}")],
        f'many-verbs at {DESCRIPTION} "也可以" joins two jobs: whoever wants one of the two can get the other. Make '
        "two tools, each with one verb.",
    ),
    "verbs alone": (
        one("action", type="string", description="Such as get.", enum=["get", "cancel", "blue"]),
        "many-jobs at tools[0].input_schema.properties.action: One tool with 2 jobs (get, cancel): which inputs go "
        "with which is left to be guessed. Make a tool of each, such as `get_orders`, with only the inputs it needs.",
    ),
    "a tool nearly named": (
        sends("use cancel_orders"),
        f"boundary-unknown-tool at {DESCRIPTION} It sends to `cancel_orders`, and there is no such tool in the list. "
        "Write `cancel_order`, if that is the one.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    assert said(SILENT[name]) == []


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name):
    tools, line = SPEAKS[name]
    assert said(tools) == [line]


def test_a_word_that_is_no_verb_is_put_behind_one():
    assert said([tool("do_thing")]) == [
        f"name-generic at {NAME} `do_thing` could stand for anything, so it is picked for anything. Name what it acts "
        "on, too: `search_orders`, `search_parcels`.",
        f"name-without-verb at {NAME} `do_thing` names a thing, and not what is done with it: is it read, changed, "
        "sent? Put the verb first: `get_thing`, if it reads.",
    ]


@pytest.mark.parametrize("verb", ["search", "find", "query", "lookup", "grep", "list"])
def test_whoever_searches_may_find_nothing(verb):
    assert rules([tool(f"{verb}_orders", FINDS_NOTHING)]) == ["says-nothing-found"]


@pytest.mark.parametrize("verb", ["create", "update", "delete", "send", "move", "pay", "execute"])
def test_whoever_changes_something_says_how_far(verb):
    assert said([tool(f"{verb}_invoice", EFFECTLESS)]) == [
        f"says-effects at {DESCRIPTION} It seems to {verb}, and nothing says how far that goes or whether it can be "
        "undone. Add what it never does, what becomes of what is there already, and whether a second call does it "
        "again."
    ]


def test_the_nearest_neighbour_is_named():
    near, far = READS.format("a list, empty when there is none"), "Look at an order. Never used when it is not there."
    tools = [tool("find_order", far), tool("query_order", near), tool("get_order", near.replace("paid", "due"))]
    lines = [line for line in said(tools) if line.startswith("says-when-not")]
    assert lines == [
        f"says-when-not at tools[{index}].description: `{other}` could be meant by the same request, and nothing says "
        f"which is for what. Add: Not for … (use {other})."
        for index, other in ((1, "get_order"), (2, "query_order"))
    ]


@pytest.mark.parametrize("name", ["action", "operation", "op", "method", "verb", "command", "mode", "Action"])
def test_an_input_that_chooses_between_jobs(name):
    assert said(
        one(name, type="string", description="What to do, such as get.", enum=["get_order", "cancel_order"])
    ) == [
        f"many-jobs at tools[0].input_schema.properties.{name}: One tool with 2 jobs (get_order, cancel_order): which "
        "inputs go with which is left to be guessed. Make a tool of each, such as `get_order`, with only the inputs it "
        "needs."
    ]


PAYLOADS = "entity entity_type payload params parameters data body resource fields"


@pytest.mark.parametrize("name", PAYLOADS.split())
def test_an_input_for_anything(name):
    inputs = {"action": {"type": "string", "description": "Such as create."}, name: WHO}
    assert said([tool(inputs=inputs)]) == [
        f"many-jobs at tools[0].input_schema.properties.action: `action` with `{name}` opens every combination, and "
        "most of them mean nothing. Make a tool of each action, with named inputs in place of the payload."
    ]


def test_two_inputs_that_choose_come_in_their_order():
    choice = {"type": "string", "description": "Such as get.", "enum": ["get_order", "cancel_order"]}
    for names in (["mode", "action"], ["action", "mode"]):
        lines = said([tool(inputs=dict.fromkeys(names, choice))])
        assert [line.split(":")[0].rpartition(".")[2] for line in lines] == names


def test_many_verbs_are_counted_and_the_first_six_named():
    verbs = "get find list pay send move cancel".split()
    [line] = said(one("action", type="string", description="Such as get.", enum=verbs))
    assert "One tool with 7 jobs (get, find, list, pay, send, move): which" in line


@pytest.mark.parametrize(
    "words", ["call the track_parcels", "prefer `track_parcels`", "see track_parcels", "try track_parcels"]
)
def test_ways_of_sending_to_another_tool(words):
    assert said(sends(words)) == [
        f"boundary-unknown-tool at {DESCRIPTION} It sends to `track_parcels`, and there is no such tool in the list. "
        "Name a tool that is there, or leave it out."
    ]


CHINESE = "查看店里的订单，用户说出订单号时使用，不含包裹的信息，也不含付款的信息。"
SHORT = "Query or cancel an order."
NO_RETURNS = "Read one order of the shop when its number is known to the user."
RULES = {
    "129 characters": ([tool("search_" + "o" * 122)], ["tool-name"]),
    "a name that is not English": ([tool("wetter_é")], ["tool-name"]),
    "a verb only inside a word": ([tool("listing_orders")], ["name-without-verb"]),
    "a description without a Latin letter": ([tool("weather_cn", CHINESE + "返回列表。")], ["name-without-verb"]),
    "Chinese is judged": ([tool("get_order", CHINESE)], ["says-returns"]),
    "a short one is judged no further": (
        [tool("search_orders", SHORT), tool("cancel_order", SHORT)],
        ["description-short", "many-verbs", "description-short", "many-verbs", "near-identical"],
    ),
    "short neighbours": (
        [tool("search_orders", "Find it."), tool("query_order", "Ask the shop.")], ["description-short"] * 2,
    ),
    "a search that returns nothing": ([tool("search_orders", NO_RETURNS)], ["says-returns"]),
    "a language that is not known": (
        [tool("search_orders", "Liefert Bestellungen, results sind Listen, alles nach Datum sortiert.")], [],
    ),
    "a change in a language that is not known": (
        [tool("cancel_order", "Storniert Bestellungen, results sind Listen, alles nach Datum sortiert.")], [],
    ),
    "24 words, two of them English": ([tool("get_order", "the of " + "wort " * 22)], ["says-when", "says-returns"]),
    "25 words, two of them English": ([tool("get_order", "the of " + "wort " * 23)], []),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_which_rules_speak(name):
    tools, expected = RULES[name]
    assert rules(tools) == expected


def chooses(*options, name="cancel_data_labels", **inputs):
    return [tool(name, CANCELS, inputs={"action": {**ACTION, "enum": [*options]}, **inputs})]


@pytest.mark.parametrize(
    ("words", "verbs"),
    [
        ("Cancel or find orders.", ["cancel", "find"]),
        ("Publishes and deletes pages.", ["publish", "delete"]),
        ("Copies and deletes files.", ["copy", "delete"]),
        ("Sending and deleting mails.", ["send", "delete"]),
        ("Things and cancel orders.", []),
        ("Cancel and things.", []),
        ("Creat and cancel orders.", []),
        ("Cop and cancel orders.", []),
    ],
)
def test_verbs_are_known_in_their_forms(words, verbs):
    lines = [line for line in said([tool("call_taxi", f"{words} {FINDS}")]) if line.startswith("many-verbs")]
    assert lines == [
        f"many-verbs at {DESCRIPTION} It is there to {one} and to {other}: whoever wants one of the two can get the "
        f"other. Make two tools, one to {one} and one to {other}."
        for one, other in zip(verbs[::2], verbs[1::2], strict=True)
    ]


@pytest.mark.parametrize(
    ("options", "alone"),
    [
        (["get", "cancel_order"], "get_labels"),
        (["get_order", "cancel"], "get_order"),
        (["x", "pay", "get"], "pay_labels"),
    ],
)
def test_a_tool_of_its_own_for_a_job(options, alone):
    (line,) = said(chooses(*options))
    assert line.endswith(f"Make a tool of each, such as `{alone}`, with only the inputs it needs.")


def test_a_choice_that_is_no_job_may_have_a_payload():
    assert said(chooses("get", "blue", payload=WHO)) == []


def test_the_first_payload_by_name_is_named():
    (line,) = said([tool(inputs={"action": ACTION, "payload": WHO, "body": WHO})])
    assert "`action` with `body` opens" in line


def test_values_that_are_lists_are_no_names():
    lists = {"type": "array", "items": {"type": "string"}, "description": ID, "enum": [["by_name"]]}
    assert rules(sends("use by_name", how=lists)) == ["boundary-unknown-tool"]


def neighbours(*names):
    """Which of some tools, each with a description of its own, are told to say when not to use them."""
    texts = [
        READS.format("an object with the status"),
        "Ask the warehouse by telephone about whatever is in stock. Returns what was said, which changes nothing.",
    ]
    lines = said([tool(name, text) for name, text in zip(names, texts, strict=True)])
    return [line for line in lines if line.startswith("says-when-not")]


@pytest.mark.parametrize(
    "names",
    [
        ("search_orders", "query_order"),
        ("cancel_order", "revoke_order"),
        ("search_order_details", "query_orders"),
    ],
)
def test_neighbours_do_the_same_to_the_same(names):
    assert len(neighbours(*names)) == 2


@pytest.mark.parametrize(
    "names",
    [
        ("search_orders", "cancel_orders"),
        ("search_orders", "search_parcels"),
        ("weather", "shipments"),
        ("grep", "browse"),
        ("get_data", "find_info"),
    ],
)
def test_no_neighbours(names):
    assert neighbours(*names) == []


def test_the_kind_of_a_verb():
    assert [kind_of_verb(words) for words in (["query", "order"], ["x", "cancel"], ["x"], [])] == [
        "read", "delete", None, None,
    ]  # fmt: skip
