"""Masking: what is found and what is left alone, marks that stay the same, and what comes back."""

import json
from dataclasses import dataclass

import pytest

from course_kit.harness.masking import Masker, is_card, is_iban, is_phone, mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("ada@example.org", "[email 1]", id="email"),
        pytest.param(
            "Write to zoë.b+shop@mail.example.co.uk, please.", "Write to [email 1], please.", id="email_in_text"
        ),
        pytest.param("4111 1111 1111 1111", "[card 1]", id="card"),
        pytest.param("card 5500005555555559.", "card [card 1].", id="card_without_spaces"),
        pytest.param("DE89 3704 0044 0532 0130 00", "[iban 1]", id="iban"),
        pytest.param("GB82WEST12345698765432", "[iban 1]", id="iban_without_spaces"),
        pytest.param("+47 22 12 34 56", "[phone 1]", id="phone"),
        pytest.param("call (030) 1234-5678 or 0049 170 1234567", "call [phone 1] or [phone 2]", id="phones"),
        pytest.param("sk-ant-api03-abcdefghijklmnop", "[secret 1]", id="api_key"),
        pytest.param("ghp_0123456789abcdefghij0123456789abcdef", "[secret 1]", id="github_token"),
        pytest.param("AKIAIOSFODNN7EXAMPLE", "[secret 1]", id="aws_key"),
        pytest.param("Authorization: Bearer abcdef.ghijkl-mnop", "Authorization: Bearer [secret 1]", id="bearer"),
        pytest.param("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "[secret 1]", id="jwt"),
        pytest.param("postgres://desk:hunter2@db/shop", "postgres://[secret 1]@db/shop", id="login_in_an_address"),
        pytest.param("/?token=abc123&page=2", "/?token=[secret 1]&page=2", id="token_in_an_address"),
        pytest.param(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend",
            "[secret 1]\nend",
            id="private_key",
        ),
    ],
)
def test_found_by_form(text, masked):
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "ORD-20260917",
        "TRK-48200917",
        "2026-09-17T09:58:00+02:00",
        "17.09.2026",
        "19.99",
        "1999",
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 02",
        "version 4.25.0",
        "10.20.30.40",
        "https://example.org/a/b?page=2",
        "@beta_tool",
        "Zoë ordered 2 cups for 2.30",
        "0123456789abcdef0123456789abcdef",
    ],
)
def test_left_alone(text):
    assert mask(text) == text


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apiKey", "Authorization", "access_token", "set-cookie", "client_secret", "cvv"]
)
def test_found_by_the_name_of_a_field(name):
    assert mask({name: "x7", "deep": [{name: 12345}], "kept": {name: True, "of": None}}) == {
        name: "[secret 1]",
        "deep": [{name: "[secret 2]"}],
        "kept": {name: True, "of": None},
    }


@pytest.mark.parametrize("name", ["tokens", "input_tokens", "keyboard", "passwords_changed_at", "pinned", "secretary"])
def test_names_that_only_sound_secret(name):
    assert mask({name: "12"}) == {name: "12"}


def test_one_value_has_one_mark_for_as_long_as_the_masker_lives():
    masker = Masker()
    first = masker.mask({"mail": "a@example.org", "note": "a@example.org, not b@example.org"})
    assert first == {"mail": "[email 1]", "note": "[email 1], not [email 2]"}
    assert masker.mask(["b@example.org"]) == ["[email 2]"]
    assert Masker().mask("b@example.org") == "[email 1]"


def test_personal_data_comes_back_and_secrets_do_not():
    masker = Masker()
    masker.mask({"mail": "a@example.org", "token": "t-1"})
    sent = {"to": "[email 1]", "body": ["[secret 1] and [email 9]", 7], "[email 1]": None}
    assert masker.restore(sent) == {
        "to": "a@example.org",
        "body": ["[secret 1] and [email 9]", 7],
        "a@example.org": None,
    }


@dataclass
class Customer:
    mail: str
    card: int


def test_any_value_is_masked_and_the_original_stays():
    customer = Customer("a@example.org", 4111111111111111)
    assert mask((customer, {"a@example.org": 4111111111111112})) == [
        {"mail": "[email 1]", "card": "[card 1]"},
        {"[email 1]": 4111111111111112},
    ]
    assert customer == Customer("a@example.org", 4111111111111111)


def test_what_is_masked_can_be_written():
    assert json.loads(json.dumps(mask({"mail": b"a@example.org", "n": float("nan")}))) == {
        "mail": "[email 1]",
        "n": "NaN",
    }


@pytest.mark.parametrize(
    ("number", "right"),
    [
        *(("4111111111111111", True), ("4111111111111112", False), ("0" * 16, False)),
        # the right check digit, and 12, 13, 19 and 20 digits
        *(("412345678905", False), ("4123456789011", True)),
        *(("4123456789012345677", True), ("41234567890123456787", False)),
    ],
)
def test_check_digit_of_cards(number, right):
    assert is_card(number) is right


def test_check_digits_of_accounts():
    assert is_iban("NO93 8601 1117 947") and not is_iban("NO93 8601 1117 948")
    assert is_iban("CZ65 0800 0000 1920 0014 5399"), "the last letter counts as 35"
    # the right check digits, and 14, 15, 34 and 35 characters
    lengths = ["NO561234567890", "NO2812345678901", "NO64123456789012345678901234567890"]
    lengths += ["NO111234567890123456789012345678901"]
    assert [is_iban(account) for account in lengths] == [False, True, True, False]


def test_a_telephone_number_has_eight_to_fifteen_digits_and_is_no_date():
    lengths = ["+471234 5", "+471234 56", "+471234567890 123", "+471234567890 1234"]
    assert [is_phone(number) for number in lengths] == [False, True, True, False]
    assert [mask(f"on {number}") for number in ("05-09 2026", "05-09-20261")] == ["on 05-09 2026", "on [phone 1]"]


def test_a_secret_field_without_a_secret_stays():
    empty = {"password": "", "token": None, "pin": [], "cvv": False}
    assert mask(empty) == empty


def test_a_card_may_be_a_whole_number_of_thirteen_digits():
    assert mask([412345678905, 4123456789011, True]) == [412345678905, "[card 1]", True]


def test_what_stands_in_a_list_comes_back_too():
    masker = Masker()
    masked = masker.mask(["ada@example.org", {"to": ["bo@example.org"]}])
    assert masked == ["[email 1]", {"to": ["[email 2]"]}]
    assert masker.restore(masked) == ["ada@example.org", {"to": ["bo@example.org"]}]


def test_long_text_is_quick():
    text = "0 1 2 3 4 5 6 7 8 9 " * 20_000 + "a" * 100_000 + "@" + "sk-" * 50_000
    assert len(mask(text)) > 100_000
