"""What an input means: each rule at its edges, where it speaks and where it is silent."""

import pytest
from tool_lists import CANCELS, FINDS, ID, WHO, number, one, rules, said, text, tool

AMOUNT = {"type": "integer", "description": "How much to pay."}
HAS_NO_UNIT = "has no unit: 20 may come where 2000 is meant, and both look right. Call it"


def amount(**more):
    return [tool(inputs={"amount": AMOUNT}, **more)]


SILENT = {
    "a constant needs no description": one("who", const="Lindgren"),
    "the tool describes its input": [
        tool(description=f"{FINDS} Give who as written.", inputs={"who": {"type": "string"}})
    ],
    "a list of values says more than the name": text("city", "The city", enum=["Oslo", "Bergen"]),
    "so does a number": number("age", "The age"),
    "so does an example": text("city", "The city 2"),
    "a list of sizes needs no unit": number("size", "How large it is.", enum=[1, 2, 3]),
    "a share up to 2": number("temperature", "How warm it is.", maximum=2),
    "a unit in front": number("cents_amount", "How much."),
    "a quantity comes last": number("temperature_room", "Where it is warm."),
    "minutes in a duration": number("timeout_min", "When to stop waiting."),
    "the tool says the unit": amount(description=f"{FINDS} The amount is in cents."),
    "one word is no flag turned round": one("no", type="boolean", description="Whether it is so."),
    "the last word negates nothing": one("cache_no", type="boolean", description="Whether it is so."),
    "a text is no flag": text("no_cache", "Whether it is so."),
    "a number is no date": number("start_date", "First day of the stay."),
    "a number is no id": number("order_id", "Which purchase it is about."),
    "an id that only the tool speaks of": one("order_id", type="string"),
    "an id comes last": text("id_order", "Which purchase it is about."),
    "an id from a neighbour": [
        tool(inputs={"order_id": {"type": "string", "description": "What cancel_order tells."}}),
        tool("cancel_order", CANCELS),
    ],
    "an id explained elsewhere": text("order_id", "Which purchase, by the uuid of it."),
    "an address with its beginning": text("url", "Begins with https://"),
    "an address with its sign": text("email", "Somebody@shop"),
    "an address in the middle of a name": text("url_text", "The words to show."),
    "a format of a number": number("phone", "Where to call.", format="phone"),
    "the date far from the end": text("date_of_house", "How it is called there."),
    "a date whose form is told": text("start_date", "First day of the stay, as in ISO 8601."),
    "an `at` alone": text("at", "How it is called there."),
}  # fmt: skip
SPEAKS = {
    "HTTPServer": (text("HTTPServer", "The HTTP server."), ["input-says-nothing"]),
    "the name itself": (text("HTTPServer", "HTTPServer"), ["input-says-nothing"]),
    "a number that its name has": (text("address2", "The address 2"), ["input-says-nothing"]),
    "the quantity of something": (number("room_temperature", "How warm it is."), ["unit-missing"]),
    "more than a share": (number("temperature", "How warm it is.", maximum=3), ["unit-missing"]),
    "a maximum that is a text": (
        number("temperature", "How warm.", maximum="9"), ["schema-valid", "unit-missing"],
    ),
    "a neighbour that is no unit": ([tool(inputs={"amount": AMOUNT, "currency": WHO})], ["unit-missing"]),
    "the tool speaks of another unit": (amount(description=f"{FINDS} Prices are in cents."), ["unit-missing"]),
    "the tool names it without a unit": (amount(description=f"{FINDS} The amount is what was paid."), ["unit-missing"]),
    "the text of an id is its name": (text("order_id", "The order id"), ["input-says-nothing"]),
    "ids in a list": (
        one("order_ids", type="array", items={"type": "string"}, description="Which purchases it is about."),
        ["id-unexplained"],
    ),
    "a date before the last word": (text("date_start", "The moment it is about."), ["date-without-format"]),
    "two words and an `at`": (text("start_at", "The moment it is about."), ["date-without-format"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    assert said(SILENT[name]) == []


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name):
    tools, expected = SPEAKS[name]
    assert rules(tools) == expected


@pytest.mark.parametrize("name", ["unit", "units", "amount_unit", "amount_units", "amountUnit"])
def test_a_unit_may_be_an_input_of_its_own(name):
    assert said([tool(inputs={"amount": AMOUNT, name: WHO})]) == []


@pytest.mark.parametrize("word", ["min", "max", "from", "to", "minimum", "maximum", "value"])
def test_the_end_of_a_range_is_the_same_quantity(word):
    assert rules(number(f"price_{word}", "What it costs.")) == ["unit-missing"]
    assert rules(number(f"{word}_price", "What it costs.")) == ["unit-missing"]


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("min_price", 'min_price_cents`, and give unit and example in its description: "In cents: 19.99 is 1999."'),
        ("duration", 'duration_seconds`, and give unit and example in its description: "In seconds."'),
        ("distance", 'distance_meters`, and give unit and example in its description: "In metres."'),
        ("temperature", 'temperature_celsius`, and give unit and example in its description: "In degrees Celsius."'),
        ("weight", 'weight_grams`, and give unit and example in its description: "In grams."'),
        ("height", 'height_px`, and give unit and example in its description: "In pixels."'),
        ("size", 'size_bytes`, and give unit and example in its description: "In bytes."'),
        ("speed", 'speed_kmh`, and give unit and example in its description: "In kilometres per hour."'),
        ("Max_speed", 'Max_speed_kmh`, and give unit and example in its description: "In kilometres per hour."'),
        ("maxSpeed", 'maxSpeedKmh`, and give unit and example in its description: "In kilometres per hour."'),
    ],
)
def test_each_quantity_has_a_unit_to_propose(name, renamed):
    place = f"unit-missing at tools[0].input_schema.properties.{name}"
    assert said(number(name, "As it was asked.")) == [f"{place}: `{name}` {HAS_NO_UNIT} `{renamed}"]


STATED = [{"pattern": "^2"}, {"enum": ["a", "b"]}, {"format": "date"}, {"const": "1"}]


@pytest.mark.parametrize("stated", STATED, ids=lambda stated: next(iter(stated)))
def test_digits_that_are_checked_may_be_text(stated):
    assert said(text("quantity", "How many to order.", **stated)) == []


@pytest.mark.parametrize(
    "words",
    ["Such as 5 m.", "Such as 5m.", "Where the cursor stands.", "The TOKEN of a page.", "In ISO form.", "A decimal."],
)
def test_what_only_sounds_like_a_number(words):
    assert said(text("offset", words)) == []


@pytest.mark.parametrize(
    "stated", [*STATED, {"examples": ["2"]}, {"default": "x"}], ids=lambda stated: next(iter(stated))
)
def test_a_form_that_is_stated(stated):
    assert said(text("start_date", "First day of the stay.", **stated)) == []
    assert said(text("start_date", "First day of the stay, such as x.")) == []


@pytest.mark.parametrize("name", ["date", "birthday", "birthdate", "dob", "deadline"])
def test_a_day_needs_no_time(name):
    [finding] = said(text(name, "The moment it is about."))
    assert finding.endswith('Add "format": "date", and to the description: such as 2026-11-30.')


@pytest.mark.parametrize("name", ["start_time", "created_at", "since", "until", "timestamp", "datetime"])
def test_a_moment_has_a_time(name):
    [finding] = said(text(name, "The moment it is about."))
    assert finding.endswith('Add "format": "date-time", and to the description: such as 2026-11-30T09:00:00Z.')


@pytest.mark.parametrize(
    ("names", "fix"),
    [
        ("url urls page_uri webhook", 'Add "format": "uri", and an example such as https://example.com/page.'),
        ("email emails", 'Add "format": "email", and an example such as ada@example.com.'),
    ],
)
def test_addresses(names, fix):
    for name in names.split():
        place = f"text-without-format at tools[0].input_schema.properties.{name}"
        assert said(text(name, "How to reach them.")) == [
            f"{place}: `{name}` is checked by nobody: any text passes. {fix}"
        ]


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("no_cache", "cache"),
        ("notCached", "cached"),
        ("dont_ask", "ask"),
        ("without_tax_of_land", "tax_of_land"),
        ("disableAutoSave", "autoSave"),
    ],
)
def test_flags_are_turned_round(name, renamed):
    [finding] = said(one(name, type="boolean", description="Whether it is so."))
    assert finding.endswith(f"Turn it round: `{renamed}`, and say its default.")


def test_a_format_that_was_nearly_written():
    assert said(text("mail", ID, format="e-mail")) == [
        'unknown-format at tools[0].input_schema.properties.mail.format: The format "e-mail" is not checked: every '
        'text passes. Write "format": "email", if that is meant.'
    ]
