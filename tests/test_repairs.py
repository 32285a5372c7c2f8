"""Repairs that are on a list and written down."""

import pytest

from course_kit.harness.repairs import repair_input

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
        "amount_cents": {"type": "integer"},
        "share": {"type": "number"},
        "day": {"type": "string", "format": "date"},
        "note": {"type": "string"},
    },
}


def test_digits_and_dates_with_a_line_for_each():
    given = {"amount_cents": "1999", "day": "2026/9/3"}
    repaired = repair_input(SCHEMA, given)
    assert repaired.value == {"amount_cents": 1999, "day": "2026-09-03"}
    assert repaired.log == ('amount_cents: digits, "1999" → 1999', "day: dates, \"2026/9/3\" → '2026-09-03'")
    assert given == {"amount_cents": "1999", "day": "2026/9/3"}


@pytest.mark.parametrize(
    "given",
    [
        {"amount_cents": "19.99"}, {"amount_cents": "1,999"}, {"amount_cents": "0019"}, {"amount_cents": "١٩"},
        {"share": "5"}, {"day": "03/09/2026"}, {"day": "2026-13-01"}, {"day": "next Wednesday"},
        {"order_id": "20260917"}, {"order_id": "ORD-2026091"}, {"amount_cents": None}, {"unknown": "5"}, "5", None,
    ],
)  # fmt: skip
def test_what_has_two_readings_or_is_an_id_stays(given):
    repaired = repair_input(SCHEMA, given)
    assert (repaired.value, repaired.log) == (given, ())


def test_an_input_that_fits_is_not_touched():
    given = {"note": "1999", "day": "2026-09-03"}
    assert repair_input(SCHEMA, given).value is given


def test_only_what_is_allowed():
    given = {"amount_cents": "1999", "day": "2026/9/3"}
    assert repair_input(SCHEMA, given, allow=["dates"]).value == {"amount_cents": "1999", "day": "2026-09-03"}
    assert repair_input(SCHEMA, given, allow=[]).log == ()
    with pytest.raises(ValueError, match="no repair 'ids': the list is digits, dates"):
        repair_input(SCHEMA, given, allow=["ids"])


def test_only_a_date_is_put_as_a_date():
    given = {"note": "2026/9/3", "order_id": "2026-9-3", "amount_cents": "x"}
    assert repair_input(SCHEMA, given).value == given
