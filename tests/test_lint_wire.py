"""What the API refuses in a definition: each rule at its edges, in the words that are told."""

import pytest
from tool_lists import CANCELS, WHO, closed, many, rules, said, strict, tool, with_schema

LEGAL = "is refused: a name is 1 to {} of a-z, A-Z, 0-9, _ and -."
MEND = "Mend the example or the schema."
NEIGHBOUR = tool("cancel_order", CANCELS)
KNOWN = {
    "cache_control": {"type": "ephemeral"},
    "eager_input_streaming": True,
    "allowed_callers": ["direct"],
    "defer_loading": False,
    "type": "custom",
    "input_examples": [],
}
SPEAKS = {
    "no name": (
        [{key: value for key, value in tool().items() if key != "name"}],
        "tool-name at tools[0].name: There is no name. Name verb and object, such as `search_orders`.",
    ),
    "nothing legal in it": (
        [tool("天气")],
        f'tool-name at tools[0].name: "天气" {LEGAL.format(128)} Give it an English name, such as `search_orders`.',
    ),
    "one letter too many": (
        [tool("search_" + "o" * 122)],
        f'tool-name at tools[0].name: "search_{"o" * 52}…" {LEGAL.format(128)} Call it `search_{"o" * 57}`.',
    ),
    "signs in a row": (
        [tool("get..it ")], f'tool-name at tools[0].name: "get..it " {LEGAL.format(128)} Call it `get_it`.',
    ),
    "a key deep inside": (
        [tool(inputs={"a": closed(**{"天": WHO})})],
        "property-keys at tools[0].input_schema.properties.a.properties.天: \"天\" is no name for an input: the API "
        "refuses it at the root, and may here. Give it an English name.",
    ),
    "a field like no other": (
        [tool(zzzz={})],
        'tool-unknown-field at tools[0].zzzz: "zzzz" is no field of a definition: the API refuses the whole request. '
        "Take it out before sending.",
    ),
    "a root that refers": (
        [{**tool(), "input_schema": {"$ref": "#/$defs/T", "$defs": {"T": closed(who=WHO)}}}],
        'tool-schema-root at tools[0].input_schema: The root of a schema must say "type": "object". Put what '
        '"#/$defs/T" refers to inline, at the root.',
    ),
    "a schema that is a list": (
        [{**tool(), "input_schema": []}],
        'tool-input-schema at tools[0].input_schema: There is no schema here. Without inputs it is "input_schema": '
        '{"type": "object", "properties": {}}.',
    ),
    "examples that are no list": (
        [tool(input_examples={"who": "Lindgren"})],
        'input-examples-fit at tools[0].input_examples: This must be a list of inputs. Write [{"order_id": '
        '"ORD-20260917"}].',
    ),
    "an example that is no object": (
        [tool(input_examples=["Lindgren"])],
        "input-examples-fit at tools[0].input_examples[0]: This example does not fit: An example is one whole input, "
        f"an object. {MEND}",
    ),
    "an example with two faults": (
        [tool(inputs={"who": WHO, "when": WHO}, input_examples=[{"who": 5, "when": 6}])],
        "input-examples-fit at tools[0].input_examples[0]: This example does not fit: `who` must be a string, but the "
        f'integer 5 came; send it in quotes: "5". {MEND}',
    ),
    "examples of a schema that is not valid": (
        [tool(inputs={"who": {**WHO, "minLength": "1"}}, input_examples=[{"who": 1}])],
        "schema-valid at tools[0].input_schema: The schema is not valid: at `properties.who.minLength`: this must be "
        'an integer, not the string "1". Mend that place: until then no input can be checked.',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name):
    tools, line = SPEAKS[name]
    assert said(tools) == [line]


def test_64_letters_are_enough_for_openai_and_65_are_not():
    assert said([tool("search_" + "o" * 57)], "openai") == []
    assert said([tool("search_" + "o" * 58)], "openai")[0] == (
        f'tool-name at tools[0].name: "search_{"o" * 52}…" {LEGAL.format(64)} Call it `search_{"o" * 57}`.'
    )


@pytest.mark.parametrize("key", KNOWN)
def test_every_field_of_a_definition_is_known(key):
    assert said([tool(**{key: KNOWN[key]}), NEIGHBOUR]) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_union_at_the_root(keyword):
    assert said([with_schema(properties={"who": WHO}, **{keyword: [{"required": ["who"]}]})]) == [
        f"schema-top-level-union at tools[0].input_schema.{keyword}: `{keyword}` at the root of a schema is refused. "
        "Flatten it to one object with optional properties, and say which go together; or make two tools."
    ]


def test_the_fields_of_other_shapes_are_theirs():
    shaped = {key: value for key, value in tool().items() if key != "input_schema"}
    found = said([{**shaped, "inputSchema": None, "title": "Orders"}])
    assert [line.split(": ")[0] for line in found] == [
        "tool-input-schema at tools[0].inputSchema",
        "mcp-shape at tools[0]",
    ]
    assert found[0].endswith('Without inputs it is "inputSchema": {"type": "object", "properties": {}}.')
    assert (
        rules([{**shaped, "parameters": None, "type": "function"}], "openai") == []
    )  # OpenAI takes no parameters for none


def test_every_example_is_looked_at():
    assert rules([tool(input_examples=[{"who": 1}, {"who": "Lindgren"}, {"who": 2}])]) == ["input-examples-fit"] * 2


def test_budgets_count_strict_tools_of_one_provider():
    assert said(many(21, strict=True, required=["who"]), "openai") == []
    assert said([*many(20, strict=True, required=["who"]), tool()]) == []


def test_what_strict_mode_refuses_stands_where_it_is():
    inner = {"type": "array", "items": {"type": "object", "properties": {}}, "description": "A part, such as x."}
    lines = said([strict("who"), {**strict("all", **inner), "name": "cancel_order", "description": CANCELS}])
    assert lines[0] == (
        "strict-open-object at tools[1].input_schema.properties.all.items: Strict mode refuses this: For 'object' "
        "type, 'additionalProperties' must be explicitly set to false. Close the object."
    )
