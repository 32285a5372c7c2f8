"""How much room an input leaves: each rule at its edges, where it speaks and where it is silent."""

import pytest
from tool_lists import FINDS, ID, WHO, closed, number, one, rules, said, text, tool, with_schema

FILTER = {"type": "object", "description": "What to look for."}
NO_TYPE = 'has no type: anything passes. Give it one, such as "type": "string".'
ANY_FIELDS = (
    'is an object of any fields: the model makes up their names. Name its fields under "properties", or make them '
    "inputs of their own."
)


def at(place):
    return f"at tools[0].input_schema.properties.{place}:"


SILENT = {
    "an enum is there": text("state", "One of: open, closed.", enum=["a"]),
    "a constant is there": text("state", "One of: open, closed.", const="a"),
    "a pattern is there": text("state", "One of: open, closed.", pattern="^a"),
    "a format is there": text("state", "One of: open, closed.", format="date"),
    "a search for anything": text("query", "One of: open, closed."),
    "its own name": text("open", "One of: open, closed."),
    "a number": number("step", "One of: 1, 2."),
    "two words that are no choice": text("title", "email or sms"),
    "two words and what they mean": text("channel", "sms or email: as the customer wrote to us"),
    "a choice with an enum": text("priority", "How urgent it is.", enum=["a"]),
    "a choice with a constant": text("priority", "How urgent it is.", const="a"),
    "a choice with a pattern": text("priority", "How urgent it is.", pattern="^a"),
    "a choice with a format": text("priority", "How urgent it is.", format="date"),
    "a choice with examples": text("priority", "How urgent it is.", examples=["a"]),
    "a choice with a default": text("priority", "How urgent it is.", default="a"),
    "a choice with an example": text("priority", "Such as calm."),
    "a choice that says or": text("priority", "Urgent or not at all so."),
    "a choice that says 或": text("priority", "急或缓"),
    "a choice that says 、": text("priority", "急、缓"),
    "a choice with a comma": text("priority", "How urgent it is, in one word."),
    "a choice before the last word": text("priority_name", "How urgent it is."),
    "a choice among numbers": number("priority", "How urgent it is."),
    "numbers have no capitals": one("size", description="The size of the shirt.", enum=["s", 1, None]),
    "one shape and null": one("who", description=ID, anyOf=[{"type": ["null"]}, {"type": "string"}]),
    "what may never be sent": [tool(description=f"{FINDS} Name who.", inputs={"who": False})],
    "an array of places": one("who", type="array", prefixItems=[{"type": "string"}], description=ID),
    "two parts of an object": one("filter", allOf=[{"required": ["a"]}, {"required": ["b"]}], **FILTER),
    "an object that is closed": one("filter", additionalProperties=False, **FILTER),
    "an object by patterns": one("filter", patternProperties={"^a": WHO}, **FILTER),
    "not required, it says": text("who", "Required. Not required for a guest, such as Lindgren."),
    "a default of no type": one("who", description=ID, enum=["a"], default="a"),
    "a default of one of two types": one("who", description=ID, type=["string", "null"], default="a"),
    "a default of null": text("who", ID, default=None),
    "a first page": number("page", "Which page to read.", exclusiveMinimum=0),
    "a page by default": number("page", "Which page to read.", default=1),
    "an offset from 0": number("offset", "From where to read; the first is 0."),
    "a page that is no number": text("page", "Which page to read, such as 5x."),
    "an object of texts": [with_schema(properties={"who": WHO}, additionalProperties={"type": "string"})],
    "no properties, nothing open": [{**tool(), "input_schema": {"type": "object", "properties": {}}}],
    "a text requires nothing": [tool(inputs={"who": {**WHO, "required": ["zzz"]}})],
    "required in a reference": [
        with_schema(
            **{"$defs": {"A": closed(zzz=WHO)}},
            properties={"a": {"$ref": "#/$defs/A", "type": "object", "required": ["zzz"], "description": ID}},
        )
    ],
} | {
    f"required in {union}": [tool(inputs={"a": {**closed(b=WHO), "required": ["zzz"], union: [{"type": "object"}]}})]
    for union in ("allOf", "anyOf", "oneOf")
}  # fmt: skip
SPEAKS = {
    "a choice described by its values": (
        text("channel", "email or sms"),
        f'should-be-enum {at("channel")} Its description lists all the values ("email", "sms"), and any text passes. '
        'Add "enum": ["email", "sms"].',
    ),
    "a list of shirts": (
        one("size", type="array", items={"type": "string", "enum": ["s", "S"]}, description="The shirts."),
        f'enum-by-case {at("size.enum")} "S" and "s" differ only in capitals. Strict mode may change those. Give them '
        "different words.",
    ),
    "oneOf": (
        one("who", description=ID, oneOf=[{"type": "string"}, {"type": "integer"}]),
        f"union {at('who.oneOf')} `oneOf` of 2 shapes: the model must choose before it knows what to write. Keep one "
        "shape, or make two inputs, or two tools.",
    ),
    "a union of values": (
        one("who", description=ID, anyOf=[{"const": "a"}, {"enum": ["b"]}]),
        f"union {at('who.anyOf')} `anyOf` of 2 shapes: the model must choose before it knows what to write. Write one "
        '"enum" of all the values.',
    ),
    "a union without types": (
        one("who", description=ID, anyOf=[{"minLength": 1}, {"const": "a"}]),
        f"union {at('who.anyOf')} `anyOf` of 2 shapes: the model must choose before it knows what to write. Keep one "
        "shape, or make two inputs, or two tools.",
    ),
    "a list of types": (
        one("who", description=ID, type=["string", "integer", "null"]),
        f"union {at('who.type')} It may be string or integer: the same thing will come in different forms. Choose one, "
        'such as "type": "string".',
    ),
    "no type": (one("who", description=ID), f"free-form {at('who')} `who` {NO_TYPE}"),
    "true": (
        [tool(description=f"{FINDS} Name who.", inputs={"who": True})],
        f"free-form {at('who')} `who` {NO_TYPE}",
    ),
    "an array of anything": (
        one("who", type="array", description=ID),
        f'free-form {at("who")} `who` is an array of anything. Say what it holds: "items": {{"type": "string"}}.',
    ),
    "a list of objects": (
        one("who", type="array", items={"type": "object"}, description=ID),
        f"free-form {at('who')} `who` {ANY_FIELDS}",
    ),
    "fields of any kind": (
        one("filter", additionalProperties={}, **FILTER), f"free-form {at('filter')} `filter` {ANY_FIELDS}",
    ),
    "fields that may be more": (
        one("filter", additionalProperties=True, **FILTER), f"free-form {at('filter')} `filter` {ANY_FIELDS}",
    ),
    "required with a default of 0": (
        one("count", True, type="integer", description="How many.", default=0),
        f"required-with-default {at('count')} `count` is required, but there is a default, 0: the model must fill in "
        'what nobody said. Take it out of "required", and say what holds when it is left out.',
    ),
    "a default outside the enum": (
        text("who", ID, enum=["a", "b"], default="c"),
        f'default-misfit {at("who.default")} The default "c" would be refused by the schema it stands in. Write a '
        'value that fits, as JSON does: 10, not "10".',
    ),
    "a default of neither type": (
        one("who", description=ID, type=["string", "null"], default=3),
        f"default-misfit {at('who.default')} The default 3 would be refused by the schema it stands in. Write a value "
        'that fits, as JSON does: 10, not "10".',
    ),
    "three open objects": (
        [
            with_schema(
                properties={key: closed(who=WHO) | {"additionalProperties": True} for key in "ab"},
                additionalProperties=True,
            )
        ],
        "open-object at tools[0].input_schema: Fields that are not in the schema pass in 3 objects: a lenient reader "
        'drops them, and nobody sees the error. Add "additionalProperties": false to each.',
    ),
    "two open objects": (
        [with_schema(properties={"a": closed(who=WHO) | {"additionalProperties": True}}, additionalProperties=True)],
        "open-object at tools[0].input_schema: Fields that are not in the schema pass in 2 objects: a lenient reader "
        'drops them, and nobody sees the error. Add "additionalProperties": false to each.',
    ),
    "five levels": (
        [tool(inputs={"a": closed(b=closed(c=closed(d=closed(e=WHO))))})],
        f"too-deep {at('a.properties.b.properties.c.properties.d.properties.e')} Inputs lie more than 4 levels deep: "
        "brackets and names get lost. Lift the inner fields up: two ids side by side, and not a `filter` object that "
        "holds an object.",
    ),
    "four levels": (
        [tool(inputs={"a": closed(b=closed(c=closed(d=WHO)))})],
        f"too-deep {at('a.properties.b.properties.c.properties.d')} Inputs lie 4 levels deep: brackets and names get "
        "lost. Lift the inner fields up: two ids side by side, and not a `filter` object that holds an object.",
    ),
    "nothing like it is there": (
        [tool(inputs={"a": closed(whom=WHO) | {"required": ["zzzzz"]}})],
        f'required-unknown {at("a.required")} "zzzzz" is required, and nowhere is said what it is. Describe it under '
        '"properties", or take it out.',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    assert said(SILENT[name]) == []


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name):
    tools, line = SPEAKS[name]
    assert said(tools) == [line]


def test_two_pairs_that_differ_only_in_capitals():
    assert rules(text("size", "The size of the shirt.", enum=["s", "S", "m", "M"])) == ["enum-by-case"] * 2


def test_a_choice_without_description_is_told_once():
    assert rules(one("priority", type="string")) == ["input-undescribed"]


@pytest.mark.parametrize(
    "shape",
    [
        {"enum": ["a"]},
        {"const": "a"},
        {"anyOf": [{"type": "string"}]},
        {"oneOf": [{"type": "string"}]},
        {"allOf": [{"type": "string"}]},
        {"$ref": "#/$defs/A"},
        {"allOf": [{"type": "string"}, {"minLength": 1}]},
        {"items": {"type": "string"}},
        {"items": True},
        {"not": {"type": "null"}},
    ],
    ids=str,
)
def test_a_shape_without_a_type(shape):
    who = {"description": ID, **shape}
    assert said([with_schema(**{"$defs": {"A": {"type": "string"}}}, properties={"who": who})]) == []


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_the_fields_of_an_object_may_stand_in_a_union(union):
    assert rules(one("filter", **FILTER, **{union: [{"required": ["a"]}, {"required": ["b"]}]})) == ["union"]


def test_a_type_that_is_no_word_is_left_to_the_schema():
    assert rules(one("who", description=ID, type=[["string"]], default="a")) == ["schema-valid", "default-misfit"]


def test_a_required_name_that_is_none_is_left_to_the_schema():
    assert rules([tool(required=[5])]) == ["schema-valid"]


def test_a_reference_to_nothing_is_told_once():
    for there in ("#/$defs/A", "b.json", "#A"):
        assert rules([with_schema(properties={"who": {"$ref": there, "description": ID}})]) == ["schema-valid"]


def test_properties_without_a_type_are_a_shape_too():
    assert rules(one("who", description=ID, properties={"a": WHO}, additionalProperties=False)) == []


@pytest.mark.parametrize(
    ("words", "stated", "missing"),
    [
        ("Orders to return.", {"maximum": 5}, "default"),
        ("Orders to return.", {"exclusiveMaximum": 5}, "default"),
        ("Orders to return, at most 50.", {}, "default"),
        ("Orders to return.", {"default": 5}, "maximum"),
        ("Orders to return; by DEFAULT all.", {}, "maximum"),
        ("Orders to return; leave it out for all.", {}, "maximum"),
        ("Orders to return; omit it for all.", {}, "maximum"),
        ("返回几条，默认全部。", {}, "maximum"),
        ("返回几条，缺省全部。", {}, "maximum"),
    ],
)
def test_half_of_what_a_limit_states(words, stated, missing):
    value = {"maximum": '"maximum": 50', "default": '"default": 10'}[missing]
    assert said(number("limit", words, **stated)) == [
        f"limit-unbounded {at('limit')} `limit` states no {missing}: one call may fill the context. Add {value}, and "
        "say it in words, too."
    ]


def test_a_required_limit_needs_no_default():
    assert said(one("limit", True, type="integer", description="Orders to return.", maximum=9)) == []


def test_a_limit_in_camel_case_and_one_that_is_text():
    assert rules(number("maxResults", "Orders to return.")) == ["limit-unbounded"]
    assert rules(number("limit", "Orders to return.", "number")) == ["limit-unbounded"]
    assert rules(text("limit", "Orders to return.")) == ["number-as-text"]


@pytest.mark.parametrize("name", ["offset", "skip", "page", "page_number", "start_index"])
def test_pages_and_offsets(name):
    assert rules(number(name, "Which to read.")) == ["page-start"]
    assert rules(number(name, "Which to read.", "number")) == ["page-start"]


def test_a_root_that_contains_itself():
    found = said([with_schema(properties={"child": {"$ref": "#", "description": ID}})])
    assert [line.partition(" ")[0] for line in found] == ["too-deep", "recursive-schema"]
    assert found[1] == (
        "recursive-schema at tools[0].input_schema: The root contains itself: nothing says how deep an input goes, and "
        "strict mode refuses it. Write out the levels you need, or a flat list with parent ids."
    )


def test_strict_mode_says_recursion_and_open_objects_itself():
    looped = {
        **with_schema(properties={"a": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": closed(b={"$ref": "#/$defs/A"})}})
    }
    assert {"recursive-schema", "strict-recursion"} & {*rules([looped])} == {"recursive-schema"}
    assert {"recursive-schema", "strict-recursion"} & {*rules([looped | {"strict": True}])} == {"strict-recursion"}


def test_two_circles_are_one_finding():
    two = {key: closed(inner={"$ref": f"#/$defs/{key}"}) for key in "AB"}
    schema = with_schema(properties={key: {"$ref": f"#/$defs/{key}"} for key in "AB"}, **{"$defs": two})
    assert rules([schema]).count("recursive-schema") == 1


def test_all_that_is_required_and_missing():
    inner = closed(whom=WHO) | {"required": ["whim", "zzzzz", "whom"]}
    assert rules([tool(inputs={"a": inner})]) == ["required-unknown"] * 2
