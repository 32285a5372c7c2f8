"""Answers to the exercises of lesson 02."""

from typing import Any


def closed(name: str, description: str, required: list[str] | None = None, /, **inputs: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": inputs,
        "required": list(inputs) if required is None else required,
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "input_schema": schema}


def id_of(letters: str, digits: int) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{letters}-[0-9]{{{digits}}}$", "description": f"Begins with {letters}-."}


# 2.3

EMAIL = closed(
    "change_customer_email",
    "Change the e-mail address of a customer.",
    customer_id=id_of("CUS", 4),
    email={"type": "string", "format": "email", "description": "The new address."},
)
STATUS = closed(
    "set_order_status",
    "Mark an order as packed or shipped.",
    order_id=id_of("ORD", 8),
    status={"type": "string", "enum": ["packed", "shipped"], "description": "The new status."},
)
PRICE = closed(
    "set_product_price",
    "Set the price of a product.",
    product_id=id_of("PRD", 3),
    price_cents={"type": "integer", "minimum": 1, "description": "In cents: 19.99 is 1999."},
)
EMAIL_FIELD = EMAIL["input_schema"]["properties"]["email"]
SPLIT = [EMAIL, STATUS, PRICE]


def changed(tool: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """The tool with other inputs of the same names."""
    schema = tool["input_schema"]
    return {**tool, "input_schema": {**schema, "properties": {**schema["properties"], **properties}}}


def opened(tool: dict[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in tool["input_schema"].items() if key != "additionalProperties"}
    return {**tool, "input_schema": schema}


SECOND_EMAIL = closed(
    "has_new_customer_email",
    "A customer has a new e-mail address.",
    customer_id=id_of("CUS", 4),
    email={"type": "string", "format": "email", "description": "The new address."},
)
STATUS_OR_PRICE = closed(
    "set_status_or_price",
    "Set the status of an order, packed or shipped, or the price of a product.",
    id={"type": "string", "pattern": "^(ORD-[0-9]{8}|PRD-[0-9]{3})$", "description": "The order or the product."},
    status_or_price_cents={
        "anyOf": [{"type": "string", "enum": ["packed", "shipped"]}, {"type": "integer", "minimum": 1}],
        "description": "The new status, or the price in cents: 19.99 is 1999.",
    },
)
INPUTS = PRICE["input_schema"]["properties"]
NOTE = {"type": "string", "description": "Why."}
UPDATE_RECORD = closed(
    "update_record",
    "Create, update or delete a record.",
    entity={"type": "string", "enum": ["customer", "order", "product"]},
    action={"type": "string", "enum": ["create", "update", "delete"]},
    payload={"type": "object"},
)
FREE_PRICE = changed(PRICE, price_cents={"type": "string", "description": "The price."})
IN_EUROS = closed(
    "set_product_price",
    "Set the price of a product.",
    product_id=id_of("PRD", 3),
    price={"type": "number", "description": "The new price."},
)
NAMELESS = closed(
    "write_field",
    "Writes a field.",
    record=id_of("PRD", 3),
    value={"type": "integer", "minimum": 1, "description": "In cents: 19.99 is 1999."},
)
OTHER_WORDS = [
    closed(
        "update_email",
        "Store a customer's new e-mail address. Use it when a customer has moved to another mailbox.",
        customer=id_of("CUS", 4),
        new_email={"type": "string", "pattern": "^[^ @]+@[^ @]+$", "description": "The e-mail address from now on."},
    ),
    closed(
        "update_order_status",
        "Set the status of an order: packed, or shipped. Not for prices (use update_price).",
        order=id_of("ORD", 8),
        new_status={"type": "string", "enum": ["packed", "shipped"]},
    ),
    closed(
        "update_price",
        "Give a product a new price.",
        product=id_of("PRD", 3),
        new_price={"type": "integer", "exclusiveMinimum": 0, "description": "In cents: 4.50 is 450."},
    ),
]

# 2.4

ORDER_ID = {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."}
CANCEL = closed(
    "cancel_order",
    "Cancel an order before it is sent. Use it when the user wants to stop, call off, revoke or withdraw an order, no "
    "longer wants or needs it, changed their mind, or ordered it twice by mistake.",
    order_id=ORDER_ID,
)
MANAGE = closed(
    "manage_order",
    "Manage an order: cancel, change, refund, track and more.",
    order_id=ORDER_ID,
    action={"type": "string", "description": "What to do."},
)


def worded(description: str, name: str = "cancel_order") -> dict[str, Any]:
    return {**CANCEL, "name": name, "description": description}


BY_HEART = "Cancel an order. Use it for: Please cancel ORD-20260918. I no longer want ORD-20260920."
NEGATED = (
    "Cancel an order that has not been sent. Use it when the user wants to stop or call off an order, no longer wants "
    "it, made a mistake or ordered it twice."
)

ONLY_THE_TEN = (
    "Cancel an order before it is sent. Use it when the user wants to stop or call off an order, no longer wants it, "
    "or ordered it twice by mistake."
)

RIGHT_FOUR = {
    "mail_to": (True, "fails without"),
    "mail_copy": (False, "means none"),
    "page": (False, "has a default"),
    "amount_cents": (True, "fails without"),
}

MISTAKES = {
    "2.1": {
        "a dict": ({"type": "unclear value", "target": "unclear value"}, "should be a list of three pairs"),
        "places alone": (["type", "target", "content"], 'Each fault is a pair like ("name", "no verb")'),
        "one only": ([("type", "free text for a choice")], "a list of three pairs"),
        "not pairs": (["type", "target", "content"], "Each fault is a pair"),
        "unknown place": (
            [("schema", "open"), ("target", "unclear value"), ("content", "no limit")],
            "choose from name, description",
        ),
        "closed already": (
            [("type", "open"), ("target", "unclear value"), ("content", "no limit")],
            "does not hold here",
        ),
        "a verb is there": (
            [("name", "no verb"), ("target", "unclear value"), ("content", "no limit")],
            "does not hold here",
        ),
        "one place": (
            [("description", "no when"), ("description", "no effects"), ("description", "how it is built")],
            "not in three different places",
        ),
    },
    "2.2": {
        "a reason in a list": (
            {**RIGHT_FOUR, "page": (False, ["has a default"])},
            "`page` gives the reason ['has a default']; choose one of",
        ),
        "one left out": (
            {name: pair for name, pair in RIGHT_FOUR.items() if name != "page"},
            '`page` should be a pair like (True, "often sent"); it is None',
        ),
        "1 for True": ({**RIGHT_FOUR, "mail_to": (1, "fails without")}, "`mail_to` should be a pair"),
        "all required": ({**RIGHT_FOUR, "mail_copy": (True, "may be forgotten")}, "`mail_copy` should be optional"),
        "page required": ({**RIGHT_FOUR, "page": (True, "often sent")}, "`page` should be optional"),
        "amount with a default": (
            {**RIGHT_FOUR, "amount_cents": (False, "has a default")},
            "`amount_cents` should be required",
        ),
        "right for a wrong reason": (
            {**RIGHT_FOUR, "mail_to": (True, "often sent")},
            "decided rightly, but not because",
        ),
        "a word for True": ({**RIGHT_FOUR, "mail_to": ("required", "fails without")}, "should be a pair like"),
        "own reason": ({**RIGHT_FOUR, "mail_to": (True, "obviously")}, "choose one of"),
    },
    "2.3": {
        "a pattern that fits nothing": (
            [changed(EMAIL, customer_id={"type": "string", "pattern": "^CUS-[0-9]{4}$x"}), STATUS, PRICE],
            "its own schema refuses it",
        ),
        "nothing split": ([UPDATE_RECORD], "three tools are asked for"),
        "three times the same payload": (
            [{**UPDATE_RECORD, "name": name} for name in ("update_customer", "update_order", "update_product")],
            "has nothing to choose there",
        ),
        "a payload each": (
            [
                closed(name, "Update one record.", payload={"type": "object"})
                for name in ("update_customer", "update_order", "update_product")
            ],
            "still holds anything",
        ),
        "not a list": ("change_customer_email", "should be a list of definitions"),
        "open": ([EMAIL, STATUS, opened(PRICE)], "`set_product_price` is open"),
        "one tool for two jobs": ([EMAIL, STATUS_OR_PRICE, SECOND_EMAIL], "still holds anything"),
        "two tools for one job": ([EMAIL, SECOND_EMAIL, STATUS], "but another request about"),
        "nothing required": (
            [EMAIL, STATUS, closed(PRICE["name"], PRICE["description"], [], **PRICE["input_schema"]["properties"])],
            "require both",
        ),
        "an input renamed, but not in required": (
            [EMAIL, STATUS, closed(PRICE["name"], PRICE["description"], ["product_id", "price"], **INPUTS)],
            "requires `price`, which is not among its properties",
        ),
        "two of one name": ([EMAIL, STATUS, {**PRICE, "name": "set_order_status"}], "The API refuses"),
        "no unit": ([EMAIL, STATUS, IN_EUROS], "should be in it"),
        "text for a number": ([EMAIL, STATUS, FREE_PRICE], "should be in it"),
        "any id": (
            [EMAIL, changed(STATUS, order_id={"type": "string", "description": "The order's id."}), PRICE],
            "takes 'CUS-1001' as `order_id`",
        ),
        "any text as an address": (
            [changed(EMAIL, email={"type": "string", "description": "The new e-mail address."}), STATUS, PRICE],
            "takes 'nora at example.org' as `email`",
        ),
        "one status more": (
            [EMAIL, changed(STATUS, status={"type": "string", "enum": ["packed", "shipped", "lost"]}), PRICE],
            "takes 'lost' as `status`",
        ),
        "a status that the order has already": (
            [EMAIL, changed(STATUS, status={"type": "string", "enum": ["paid", "packed", "shipped"]}), PRICE],
            "takes 'paid' as `status`",
        ),
        "no descriptions": ([{**tool, "description": ""} for tool in SPLIT], "has no description"),
        "a required note": (
            [EMAIL, STATUS, closed(PRICE["name"], PRICE["description"], **INPUTS, note={"type": "string"})],
            "requires product_id, price_cents, note",
        ),
        "the status twice, the wrong one required": (
            [
                EMAIL,
                closed(
                    STATUS["name"],
                    STATUS["description"],
                    ["order_id", "new_status"],
                    **STATUS["input_schema"]["properties"],
                    new_status={"type": "string", "enum": ["packed", "shipped"]},
                ),
                PRICE,
            ],
            "must fail without `status`",
        ),
        "a part of a cent": (
            [EMAIL, STATUS, changed(PRICE, price_cents={"type": "number", "minimum": 1, "description": "In cents."})],
            "takes 24.5 as `price_cents`",
        ),
        "less than nothing": (
            [EMAIL, STATUS, changed(PRICE, price_cents={"type": "integer", "description": "In cents: 4.50 is 450."})],
            "takes -100 as `price_cents`",
        ),
        "no words of the users": (
            [EMAIL, STATUS, NAMELESS],
            "should lead to one call",
        ),
    },
    "2.4": {
        "no order in it": (
            {**CANCEL, "input_schema": {"type": "object", "properties": {}}},
            "how would it know which order to cancel?",
        ),
        "untouched": (MANAGE, "you need 9"),
        "only renamed": ({**MANAGE, "name": "cancel_order"}, "you need 9"),
        "the words of the ten alone": (worded(ONLY_THE_TEN), "that you have not seen"),
        "praise": (worded("Cancel orders quickly, safely and with great care."), "you need 9"),
        "a not in the first sentence": (worded(NEGATED), "you need 9"),
        "by heart": (worded(BY_HEART), "learnt by heart"),
        "a neighbour's name": (worded(CANCEL["description"], "refund_order"), "Tool names must be unique"),
        "too long": (worded(CANCEL["description"] + " Handle every case with the greatest care." * 20), "write it in"),
        "a text only": (CANCEL["description"], "should be a definition"),
    },
}

VARIANTS = {
    "2.1": {
        "a set": {("type", "unclear value"), ("target", "unclear value"), ("description", "no effects")},
        "in tuples": (("type", "free text for a choice"), ("target", "unclear value"), ("content", "no limit")),
        "as lists": [["description", "no when"], ["content", "unclear value"], ["target", "unclear value"]],
    },
    "2.2": {
        "as lists": {name: list(pair) for name, pair in RIGHT_FOUR.items()},
        "in another order": dict(reversed(RIGHT_FOUR.items())),
    },
    "2.3": {
        "plain": SPLIT,
        "other words": OTHER_WORDS,
        "an optional note": [
            EMAIL,
            STATUS,
            closed(PRICE["name"], PRICE["description"], ["product_id", "price_cents"], **INPUTS, note=NOTE),
        ],
        "the course's own address as an example": [
            changed(EMAIL, email={**EMAIL_FIELD, "description": "The new address, such as nora@example.org."}),
            STATUS,
            PRICE,
        ],
        "an enum without a type": [EMAIL, changed(STATUS, status={"enum": ["packed", "shipped"]}), PRICE],
        "as a dict, turned round": {tool["name"]: tool for tool in reversed(SPLIT)},
    },
    "2.4": {
        "plain": CANCEL,
        "with boundaries": worded(
            "Cancel an order that is still in the shop. Use when the user wants to cancel, stop, withdraw or call off "
            "an order, no longer wants or needs it, changed their mind, or made a mistake such as ordering it twice or "
            "a wrong address. Not for a delivered order, for which money is paid back (use refund_order), not for "
            "where a parcel is (use track_parcel)."
        ),
        "another name": worded(
            "Call off or stop an order. Use it before it is sent, when the user wants to cancel, withdraw or revoke "
            "it, changed his mind, no longer wants or needs it, or made a mistake, such as ordering twice.",
            "call_off_order",
        ),
    },
}
