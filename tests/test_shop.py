"""The shop: its data, its rules, its ledger under two processes; the tools that lessons hand to a model."""

import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from course_kit.errors import SetupError, ToolError
from course_kit.shop import NOW, TODAY, Shop, open_shop

STORY = "ORD-20260917"


@pytest.fixture
def shop(tmp_path):
    return open_shop(tmp_path / "desk.sqlite3")


def refusal(call, *args, **kwargs):
    """The code, message and hint of the ToolError that a call must raise."""
    with pytest.raises(ToolError) as caught:
        call(*args, **kwargs)
    return caught.value


# ---- the data ----


def test_the_story_order_is_one_broken_cup(shop):
    assert shop.query_order(STORY) == {
        "order_id": STORY,
        "status": "delivered",
        "customer_id": "CUS-1001",
        "customer": "Nora Lindgren",
        "placed_at": "2026-09-17T09:58:00+02:00",
        "delivered_at": "2026-09-19T11:40:00+02:00",
        "paid_cents": 1999,
        "customer_note": None,
        "cancel_reason": None,
        "currency": "EUR",
        "refunded_cents": 0,
        "refundable_cents": 1999,
        "items": [
            {"product_id": "PRD-101", "name": "Stoneware cup, blue", "quantity": 1, "unit_price_cents": 1999},
        ],
        "tracking_ids": ["TRK-48200917"],
    }


def test_the_shop_is_as_large_as_promised(shop):
    with shop.connection() as db:
        sizes = {
            table: db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            for table in ("customers", "orders", "parcels", "products", "refunds")
        }
    assert sizes == {"customers": 12, "orders": 30, "parcels": 25, "products": 40, "refunds": 3}


def test_the_data_contradicts_itself_nowhere(shop):
    now = datetime.fromisoformat(NOW)
    assert now.date().isoformat() == TODAY
    orders = shop.search_orders(limit=50)["orders"]
    assert {order["status"] for order in orders} == {"paid", "packed", "shipped", "delivered", "cancelled"}
    for summary in orders:
        order = shop.query_order(summary["order_id"])
        placed = datetime.fromisoformat(order["placed_at"])
        assert placed.utcoffset() is not None and placed < now
        total = sum(item["quantity"] * item["unit_price_cents"] for item in order["items"])
        assert order["paid_cents"] == total == summary["paid_cents"] >= order["refunded_cents"]
        assert bool(order["delivered_at"]) == (order["status"] == "delivered")
        assert bool(order["cancel_reason"]) == (order["status"] == "cancelled")
        tracked = shop.track_parcel(order_id=order["order_id"])
        assert tracked["order_status"] == order["status"]
        assert [parcel["tracking_id"] for parcel in tracked["parcels"]] == order["tracking_ids"]
        if order["status"] in ("paid", "packed"):
            assert tracked["parcels"] == []
        if order["status"] in ("shipped", "delivered"):
            assert tracked["parcels"]
        for parcel in tracked["parcels"]:
            times = [datetime.fromisoformat(event["at"]) for event in parcel["events"]]
            assert times == sorted(times) and placed < times[0] and times[-1] <= now
    for refund in shop.ledger():
        order = shop.query_order(refund["order_id"])
        assert order["delivered_at"] < refund["created_at"] < NOW


def test_an_order_number_is_not_always_the_day(shop):
    days = [(order["order_id"], order["placed_at"][:10]) for order in shop.search_orders(limit=50)["orders"]]
    assert len({id for id, _ in days}) == 30
    others = {id: day for id, day in days if id != f"ORD-{day.replace('-', '')}"}
    assert others == {"ORD-20260932": "2026-09-14", "ORD-20260933": "2026-09-18", "ORD-20260934": "2026-09-19"}


def test_winter_orders_have_the_winter_offset(shop):
    assert shop.query_order("ORD-20260312")["placed_at"] == "2026-03-12T10:05:00+01:00"


def test_a_price_of_then_is_kept(shop):
    item = shop.query_order("ORD-20260312")["items"][1]
    assert (item["product_id"], item["unit_price_cents"]) == ("PRD-405", 1990)
    assert shop.search_products("coffee beans")["products"][0]["price_cents"] == 2190


# ---- looking up ----


@pytest.mark.parametrize(
    ("customer", "found"),
    [
        pytest.param("CUS-1001", {"Nora Lindgren"}, id="id"),
        pytest.param("Nora.Lindgren@example.com", {"Nora Lindgren"}, id="mail_in_capitals"),
        pytest.param("nora", {"Nora Lindgren", "Nora Lindström"}, id="first_name_of_two"),
        pytest.param("lindgren nora", {"Nora Lindgren"}, id="words_in_any_order"),
        pytest.param("Lukasz Zmuda", {"Łukasz Żmuda"}, id="without_strokes_and_dots"),
        pytest.param("ayse yilmaz", {"Ayşe Yılmaz"}, id="dotless_i"),
        pytest.param("gross", {"Jürgen Groß"}, id="sharp_s"),
        pytest.param("cafe odegard", {"Café Ødegård"}, id="o_with_stroke"),
        pytest.param("林小雨", {"林小雨"}, id="chinese"),
        pytest.param("O'Neill", {"Siobhán O'Neill"}, id="apostrophe"),
        pytest.param("x' OR '1'='1", set(), id="injection_finds_nothing"),
        pytest.param("  ", set(), id="blank_finds_nothing"),
    ],
)
def test_search_orders_by_customer(shop, customer, found):
    assert {order["customer"] for order in shop.search_orders(customer, limit=50)["orders"]} == found


def test_search_orders_says_what_it_left_out(shop):
    page = shop.search_orders("odegard")
    ids = [order["order_id"] for order in page.pop("orders")]
    assert page == {"total": 11, "returned": 10, "truncated": True, "next_cursor": "10"}
    assert ids[:2] == ["ORD-20260918", "ORD-20260908"]  # newest first
    rest = shop.search_orders("odegard", cursor="10")
    assert rest == {
        "orders": [
            {
                "order_id": "ORD-20260312",
                "status": "delivered",
                "placed_at": "2026-03-12T10:05:00+01:00",
                "customer_id": "CUS-1007",
                "customer": "Café Ødegård",
                "paid_cents": 17840,
                "refunded_cents": 0,
            }
        ],
        "total": 11,
        "returned": 1,
        "truncated": False,
        "next_cursor": None,
    }


def test_search_orders_by_status(shop):
    found = shop.search_orders(status="packed")["orders"]
    assert [order["order_id"] for order in found] == ["ORD-20260933", "ORD-20260913"]
    nothing = {"orders": [], "total": 0, "returned": 0, "truncated": False, "next_cursor": None}
    assert shop.search_orders("Ben Carter") == nothing


@pytest.mark.parametrize(
    "arguments",
    [{"status": "open"}, {"status": "Paid"}, {"limit": 0}, {"limit": 51}, {"limit": True}, {"cursor": "-1"}],
    ids=str,
)
def test_search_orders_refuses_bad_input(shop, arguments):
    error = refusal(shop.search_orders, **arguments)
    assert (error.code, error.retryable) == ("BAD_INPUT", False)
    assert next(iter(arguments)) in error.message and error.hint


def test_query_order_three_ways_to_fail(shop):
    malformed = refusal(shop.query_order, "SO-1")
    assert (malformed.code, malformed.message) == (
        "BAD_FORMAT",
        "order_id must look like ORD-20260917 (ORD- and eight digits), not 'SO-1'",
    )
    missing = refusal(shop.query_order, "ORD-20260999")
    assert (missing.code, missing.message) == ("NOT_FOUND", "there is no order ORD-20260999")
    forbidden = refusal(shop.for_customer("CUS-1002").query_order, STORY)
    assert (forbidden.code, forbidden.message) == ("NOT_ALLOWED", f"{STORY} belongs to another customer")
    assert all("search_orders" in error.hint for error in (malformed, missing, forbidden))


@pytest.mark.parametrize("order_id", ["ORD-20260917\n", "ORD-２０２６０９１７", "ord-20260917", 20260917, None, ""])
def test_an_order_id_must_match_whole(shop, order_id):
    assert refusal(shop.query_order, order_id).code == "BAD_FORMAT"


def test_a_customer_sees_only_their_own(shop):
    mine = shop.for_customer("CUS-1003")
    assert [order["order_id"] for order in mine.search_orders()["orders"]] == ["ORD-20260932", "ORD-20260906"]
    assert mine.search_orders("Nora")["total"] == 0
    assert mine.query_order("ORD-20260906")["customer"] == "Zoë Ångström"
    for call in (
        lambda: mine.track_parcel("TRK-48200917"),
        lambda: mine.refund_order(STORY, 1, "other"),
        lambda: mine.cancel_order("ORD-20260919", "other"),
    ):
        assert refusal(call).code == "NOT_ALLOWED"
    assert len(shop.ledger()) == 3


def test_track_parcel_by_its_own_id_and_by_order(shop):
    one = shop.track_parcel("TRK-48200917")
    assert one == {
        "order_status": "delivered",
        "parcels": [
            {
                "tracking_id": "TRK-48200917",
                "order_id": STORY,
                "carrier": "Nordpost",
                "events": [
                    {"at": "2026-09-17T16:40:00+02:00", "status": "accepted", "place": "Utrecht"},
                    {"at": "2026-09-18T03:40:00+02:00", "status": "in_transit", "place": "Utrecht hub"},
                    {"at": "2026-09-19T07:40:00+02:00", "status": "out_for_delivery", "place": "Groningen"},
                    {"at": "2026-09-19T11:40:00+02:00", "status": "delivered", "place": "Groningen"},
                ],
                "status": "delivered",
            }
        ],
    }
    assert shop.track_parcel(order_id=STORY) == one
    lost = shop.track_parcel(order_id="ORD-20260915")["parcels"]
    assert [(parcel["tracking_id"], parcel["status"]) for parcel in lost] == [
        ("TRK-70550915", "lost"),
        ("TRK-70550920", "accepted"),
    ]
    assert shop.track_parcel(order_id="ORD-20260919") == {"order_status": "paid", "parcels": []}


def test_track_parcel_failures(shop):
    assert refusal(shop.track_parcel).code == "BAD_INPUT"
    assert refusal(shop.track_parcel, "TRK-48200917", STORY).code == "BAD_INPUT"
    assert refusal(shop.track_parcel, STORY).code == "BAD_FORMAT"
    assert refusal(shop.track_parcel, "TRK-00000000").code == "NOT_FOUND"
    assert refusal(shop.track_parcel, order_id="ORD-20260999").code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param("mug", ["PRD-103", "PRD-104", "PRD-107", "PRD-109"], id="not_cups"),
        pytest.param("coffee cups", ["PRD-105"], id="plural"),
        pytest.param("CREPE", ["PRD-309"], id="without_accent"),
        pytest.param("grey", ["PRD-201", "PRD-204", "PRD-205", "PRD-206"], id="colour"),
        pytest.param("glass", ["PRD-111", "PRD-112", "PRD-501"], id="double_s_is_no_plural"),
        pytest.param("unicorn", [], id="nothing_is_an_empty_list"),
    ],
)
def test_search_products(shop, query, ids):
    assert [product["product_id"] for product in shop.search_products(query)["products"]] == ids


def test_search_products_page_and_stock(shop):
    page = shop.search_products("cup", limit=2)
    assert page == {
        "products": [
            {
                "product_id": "PRD-101",
                "name": "Stoneware cup, blue",
                "category": "drinkware",
                "price_cents": 1999,
                "stock": 42,
            },
            {
                "product_id": "PRD-102",
                "name": "Stoneware cup, white",
                "category": "drinkware",
                "price_cents": 1999,
                "stock": 0,
            },
        ],
        "total": 7,
        "returned": 2,
        "truncated": True,
        "next_cursor": "2",
    }
    assert refusal(shop.search_products, "?!").code == "BAD_INPUT"


# ---- refunds ----


def test_a_refund_is_paid_and_written_down(shop):
    receipt = shop.refund_order(STORY, 1500, "damaged", note="Broken cup.", idempotency_key="task-7/step-2")
    assert receipt == {
        "refund_id": "RFD-0004",
        "order_id": STORY,
        "amount_cents": 1500,
        "currency": "EUR",
        "reason": "damaged",
        "created_at": "2026-09-20T09:04:00+02:00",
        "refunded_cents": 1500,
        "refundable_cents": 499,
    }
    assert shop.ledger(STORY) == [
        {
            "id": 4,
            "order_id": STORY,
            "amount_cents": 1500,
            "reason": "damaged",
            "note": "Broken cup.",
            "idempotency_key": "task-7/step-2",
            "created_at": "2026-09-20T09:04:00+02:00",
        }
    ]
    assert len(shop.ledger()) == 4


@pytest.mark.parametrize(
    ("order_id", "cents", "left"),
    [
        pytest.param(STORY, 2000, "1999 are left", id="more_than_paid"),
        pytest.param("ORD-20260910", 3199, "3198 are left", id="more_than_left_after_a_part"),
        pytest.param("ORD-20260821", 1, "0 are left", id="all_paid_back"),
    ],
)
def test_never_more_than_was_paid(shop, order_id, cents, left):
    error = refusal(shop.refund_order, order_id, cents, "damaged")
    assert (error.code, error.retryable) == ("OVER_REFUND", False)
    assert left in error.message
    assert len(shop.ledger()) == 3


def test_the_rest_can_be_refunded_to_the_cent(shop):
    assert shop.refund_order("ORD-20260910", 3198, "damaged")["refundable_cents"] == 0


@pytest.mark.parametrize(
    ("order_id", "hint"),
    [
        pytest.param("ORD-20260919", "cancel_order", id="paid"),
        pytest.param("ORD-20260913", "cancel_order", id="packed"),
        pytest.param("ORD-20260932", "track_parcel", id="shipped"),
        pytest.param("ORD-20260905", "nothing to pay back", id="cancelled"),
    ],
)
def test_only_delivered_orders_are_refunded(shop, order_id, hint):
    error = refusal(shop.refund_order, order_id, 100, "damaged")
    assert error.code == "WRONG_STATUS" and hint in error.hint
    assert len(shop.ledger()) == 3


@pytest.mark.parametrize("cents", [19.99, 1999.0, "1999", 0, -1, True, None])
def test_an_amount_is_a_whole_number_of_cents(shop, cents):
    error = refusal(shop.refund_order, STORY, cents, "damaged")
    assert (error.code, error.hint) == ("BAD_INPUT", "19.99 is 1999")


def test_other_inputs_of_a_refund_are_checked(shop):
    assert refusal(shop.refund_order, STORY, 1, "Damaged").code == "BAD_INPUT"
    assert refusal(shop.refund_order, STORY, 1, "other", note="x" * 201).code == "BAD_INPUT"
    shop.refund_order(STORY, 1, "other", note="é" * 200)
    assert shop.ledger(STORY)[0]["note"] == "é" * 200


def test_the_same_key_pays_once_and_answers_the_same(shop):
    first = shop.refund_order(STORY, 500, "damaged", idempotency_key="k")
    shop.refund_order(STORY, 700, "damaged")
    assert shop.refund_order(STORY, 500, "damaged", "worded anew", idempotency_key="k") == first
    assert [row["amount_cents"] for row in shop.ledger(STORY)] == [500, 700]


def test_a_key_stands_for_one_refund(shop):
    shop.refund_order(STORY, 500, "damaged", idempotency_key="k")
    error = refusal(shop.refund_order, STORY, 501, "damaged", idempotency_key="k")
    assert error.code == "KEY_REUSED" and len(shop.ledger(STORY)) == 1


def test_without_a_key_every_call_pays(shop):
    for _ in range(3):
        shop.refund_order(STORY, 200, "damaged")
    assert [row["amount_cents"] for row in shop.ledger(STORY)] == [200, 200, 200]


def test_the_ledger_only_grows(shop):
    with shop.connection() as db:
        for statement in ("UPDATE refunds SET amount_cents = 1", "DELETE FROM refunds"):
            with pytest.raises(sqlite3.IntegrityError, match="only grows"):
                db.execute(statement)
    assert len(shop.ledger()) == 3


def test_a_refund_that_dies_halfway_leaves_nothing(shop, monkeypatch):
    monkeypatch.setattr("course_kit.shop._receipt", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        shop.refund_order(STORY, 500, "damaged")
    assert shop.ledger(STORY) == []


# ---- cancelling ----


def test_cancel_order_releases_the_payment_once(shop):
    assert shop.cancel_order("ORD-20260934", "ordered_twice") == {
        "order_id": "ORD-20260934",
        "status": "cancelled",
        "changed": True,
        "released_cents": 9800,
    }
    assert shop.cancel_order("ORD-20260934", "other") == {
        "order_id": "ORD-20260934",
        "status": "cancelled",
        "changed": False,
        "released_cents": 0,
    }
    assert shop.query_order("ORD-20260934")["cancel_reason"] == "ordered_twice"
    assert len(shop.ledger()) == 3


def test_cancel_order_is_too_late_after_shipping(shop):
    shipped = refusal(shop.cancel_order, "ORD-20260932", "other")
    delivered = refusal(shop.cancel_order, STORY, "other")
    assert (shipped.code, delivered.code) == ("WRONG_STATUS", "WRONG_STATUS")
    assert "track_parcel" in shipped.hint and "refund_order" in delivered.hint
    assert refusal(shop.cancel_order, "ORD-20260919", "bored").code == "BAD_INPUT"


# ---- many at once ----


def test_threads_never_refund_more_than_was_paid(shop):
    def attempt(_):
        try:
            return shop.refund_order(STORY, 150, "damaged")["amount_cents"]
        except ToolError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(20)))
    assert outcomes.count(150) == 13 and outcomes.count("OVER_REFUND") == 7
    assert sum(row["amount_cents"] for row in shop.ledger(STORY)) == 1950


def test_two_processes_never_refund_more_than_was_paid(shop):
    script = textwrap.dedent("""
        import sys
        from course_kit.errors import ToolError
        from course_kit.shop import open_shop
        shop = open_shop(sys.argv[1], fresh=False)
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(15):
            try:
                shop.refund_order("ORD-20260917", 100, "damaged", idempotency_key=f"{sys.argv[2]}-{number}")
                print("paid")
            except ToolError as error:
                print(error.code)
    """)
    command = [sys.executable, "-c", script, str(shop.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    workers = [subprocess.Popen([*command, name], **pipes) for name in ("a", "b")]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [line for worker in workers for line in worker.communicate(timeout=60)[0].split()]
    assert told.count("paid") == 19 and told.count("OVER_REFUND") == 11
    assert sum(row["amount_cents"] for row in shop.ledger(STORY)) == 1900


def test_a_held_lock_is_said_to_be_busy(shop):
    shop.busy_seconds = 0
    with shop.connection() as db:
        db.execute("BEGIN IMMEDIATE")
        error = refusal(shop.refund_order, STORY, 1, "other")
    assert (error.code, error.retryable) == ("BUSY", True)
    assert shop.refund_order(STORY, 1, "other")["amount_cents"] == 1


# ---- the file ----


def test_fresh_copies_are_equal_and_reset_brings_one_back(shop, tmp_path):
    def contents(shop):
        with shop.connection() as db:
            return list(db.iterdump())

    before = contents(shop)
    shop.refund_order(STORY, 1, "other")
    shop.cancel_order("ORD-20260919", "other")
    assert contents(shop) != before
    shop.reset()
    assert contents(shop) == before == contents(open_shop(tmp_path / "other.sqlite3"))
    assert shop.refund_order(STORY, 1, "other")["refund_id"] == "RFD-0004"


def test_opening_again_starts_afresh_or_goes_on(shop):
    shop.refund_order(STORY, 1, "other")
    assert len(open_shop(shop.path, fresh=False).ledger()) == 4
    assert len(open_shop(shop.path).ledger()) == 3


def test_where_the_file_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/workspace/notebooks/06 approval.ipynb")
    assert open_shop().path == tmp_path / "shop" / "06_approval.sqlite3"
    assert open_shop(name="mine").path == tmp_path / "shop" / "mine.sqlite3"
    monkeypatch.delenv("COURSE_WORKSPACE")
    monkeypatch.delenv("JPY_SESSION_NAME")
    one, other = open_shop(), open_shop()
    assert one.path != other.path and one.path.name == "desk.sqlite3"
    assert tmp_path not in one.path.parents


def test_another_file_is_never_overwritten(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("my own notes, long enough to be looked at\n" * 50, encoding="utf-8")
    with pytest.raises(SetupError, match="choose another path"):
        open_shop(notes)
    assert notes.read_text(encoding="utf-8").startswith("my own notes")
    foreign = tmp_path / "foreign.sqlite3"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE orders (mine TEXT)")
    db.close()
    with pytest.raises(SetupError, match="is not a file of this shop"):
        open_shop(foreign)
    with pytest.raises(SetupError, match="choose another path"):
        open_shop(tmp_path)  # a folder


def test_a_file_of_another_version_is_kept_until_told(shop):
    with shop.connection() as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(SetupError, match="another version of the course"):
        open_shop(shop.path, fresh=False)
    assert len(open_shop(shop.path).ledger()) == 3


def test_a_deleted_file_is_said_so(shop):
    os.unlink(shop.path)
    with pytest.raises(SetupError, match="call open_shop"):
        shop.ledger()
    assert not shop.path.exists()


def test_the_text_form_names_no_path(shop):
    assert (repr(shop), repr(shop.for_customer("CUS-1001"))) == ("<Shop>", "<Shop for CUS-1001>")
    assert isinstance(shop, Shop) and isinstance(shop.path, Path)


def test_everything_a_method_returns_is_json(shop):
    values = [
        shop.search_orders(),
        shop.query_order(STORY),
        shop.track_parcel(order_id=STORY),
        shop.search_products("cup"),
        shop.refund_order(STORY, 1, "other"),
        shop.cancel_order("ORD-20260919", "other"),
        shop.ledger(),
    ]
    assert json.loads(json.dumps(values)) == values
