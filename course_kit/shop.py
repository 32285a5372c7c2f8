"""The desk's world: a small shop in a real SQLite file.

`open_shop()` gives a fresh, always equal copy: orders, parcels, products, and a ledger of refunds that can only
grow. The methods of `Shop` are the rules of the business and hold whoever calls: they return plain JSON values and
raise `ToolError` with a code and a hint that a model can act on. How a model gets to know them is next door, in
`example_tools.py`. Nothing here reads a clock: in the shop it is the morning of 2026-09-20.
"""

import atexit
import os
import re
import shutil
import sqlite3
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from course_kit.errors import SetupError, ToolError
from course_kit.example_tools import definition, desk_tools
from course_kit.shop_data import SCHEMA, TABLES, fill

__all__ = [
    "CANCEL_REASONS",
    "NOW",
    "ORDER_STATUSES",
    "REFUND_REASONS",
    "Shop",
    "TODAY",
    "definition",
    "desk_tools",
    "open_shop",
]

TODAY = "2026-09-20"
NOW = "2026-09-20T09:00:00+02:00"
ORDER_STATUSES = ("paid", "packed", "shipped", "delivered", "cancelled")
REFUND_REASONS = ("damaged", "not_received", "wrong_item", "other")
CANCEL_REASONS = ("changed_mind", "ordered_twice", "wrong_address", "other")

_APPLICATION_ID = 0x53484F50  # "SHOP": marks the file as ours, so that no other file is ever overwritten
_SCHEMA_VERSION = 1


def open_shop(path: str | os.PathLike[str] | None = None, *, name: str | None = None, fresh: bool = True) -> "Shop":
    """Open the shop, by default a fresh copy for this notebook.

    Without a `path` the file lies in the workspace (`$COURSE_WORKSPACE/shop/<name>.sqlite3`, named after the
    notebook unless `name` says otherwise), or in a temporary folder that goes when Python ends. `fresh=False`
    goes on with what an earlier run left there.
    """
    file = _default_folder() / f"{name or _notebook()}.sqlite3" if path is None else Path(path).expanduser().absolute()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        shop = Shop(file)
        if not file.exists() or not file.stat().st_size:
            file.touch()
            shop.reset()
        elif not shop._is_ours():
            raise SetupError(f"{file} is not a file of this shop: choose another path.")
        elif fresh:
            shop.reset()
        elif not shop._is_current():
            raise SetupError(f"{file} was made by another version of the course: open it with fresh=True.")
    except (OSError, sqlite3.Error) as error:
        raise SetupError(f"The shop cannot be kept in {file} ({error}): choose another path.") from None
    return shop


def _default_folder() -> Path:
    workspace = os.environ.get("COURSE_WORKSPACE", "").strip()
    if workspace:
        return Path(workspace).expanduser().absolute() / "shop"
    folder = tempfile.mkdtemp(prefix="course-shop-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _notebook() -> str:
    """The notebook that this kernel belongs to, as Jupyter names it: `.../06_approval.ipynb` → `06_approval`."""
    stem = Path(os.environ.get("JPY_SESSION_NAME", "")).stem
    return re.sub(r"[^\w-]+", "_", stem) or "desk"


class Shop:
    """The shop behind the desk. Safe to use from several threads and processes: every call has its own connection."""

    busy_seconds = 10.0  # how long a call waits for another one's write

    def __init__(self, path: Path, customer_id: str | None = None):
        self.path = path
        self.customer_id = customer_id  # whose orders may be seen; None at the desk: everybody's

    def __repr__(self) -> str:
        return f"<Shop for {self.customer_id}>" if self.customer_id else "<Shop>"

    def for_customer(self, customer_id: str) -> "Shop":
        """The same shop as one customer may see it: the orders of others answer NOT_ALLOWED."""
        return Shop(self.path, customer_id)

    # ---- looking up ----

    def search_orders(
        self, customer: str | None = None, status: str | None = None, limit: int = 10, cursor: str | None = None
    ) -> dict[str, Any]:
        """Orders, newest first: `{"orders": [...], "total", "returned", "truncated", "next_cursor"}`."""
        _check_choice("status", status, (None, *ORDER_STATUSES))
        with self._transaction() as db:
            rows = _rows(
                db,
                """SELECT order_id, status, placed_at, customer_id, customers.name AS customer, paid_cents,
                   (SELECT COALESCE(SUM(amount_cents), 0) FROM refunds WHERE order_id = orders.order_id)
                       AS refunded_cents, email
                   FROM orders JOIN customers USING (customer_id)
                   ORDER BY julianday(placed_at) DESC, order_id DESC""",
            )
        found = [
            row
            for row in rows
            if (status is None or row["status"] == status)
            and (self.customer_id is None or row["customer_id"] == self.customer_id)
            and (customer is None or _is_customer(customer, row))
        ]
        for row in found:
            del row["email"]
        return _page("orders", found, limit, cursor)

    def query_order(self, order_id: str) -> dict[str, Any]:
        """One order in full, with what was paid, what was paid back, and its parcels' ids."""
        with self._transaction() as db:
            order = self._order(db, order_id)
            refunded = _refunded(db, order_id)
            items = _rows(
                db,
                """SELECT product_id, name, quantity, unit_price_cents FROM order_items JOIN products
                   USING (product_id) WHERE order_id = ? ORDER BY product_id""",
                order_id,
            )
            parcels = _rows(db, "SELECT tracking_id FROM parcels WHERE order_id = ? ORDER BY 1", order_id)
        return {
            **order,
            "currency": "EUR",
            "refunded_cents": refunded,
            "refundable_cents": order["paid_cents"] - refunded if order["status"] == "delivered" else 0,
            "items": items,
            "tracking_ids": [parcel["tracking_id"] for parcel in parcels],
        }

    def track_parcel(self, tracking_id: str | None = None, order_id: str | None = None) -> dict[str, Any]:
        """Where a parcel is, or all parcels of an order: `{"parcels": [{..., "status", "events"}], "order_status"}`."""
        if (tracking_id is None) == (order_id is None):
            raise ToolError("BAD_INPUT", "give one of tracking_id and order_id", hint="send exactly one of the two")
        with self._transaction() as db:
            if tracking_id is not None:
                _check_format("tracking_id", tracking_id, r"TRK-[0-9]{8}", "TRK-48200917")
                where = _rows(db, "SELECT order_id FROM parcels WHERE tracking_id = ?", tracking_id)
                if not where:
                    hint = "check the digits, or use query_order, which lists the tracking_ids of an order"
                    raise ToolError("NOT_FOUND", f"there is no parcel {tracking_id}", hint=hint)
                order_id = where[0]["order_id"]
            order = self._order(db, str(order_id))
            parcels = _rows(
                db,
                "SELECT * FROM parcels WHERE order_id = ? AND COALESCE(?, tracking_id) = tracking_id ORDER BY 1",
                order_id,
                tracking_id,
            )
            for parcel in parcels:
                events = "SELECT at, status, place FROM parcel_events WHERE tracking_id = ? ORDER BY rowid"
                parcel["events"] = _rows(db, events, parcel["tracking_id"])
                parcel["status"] = parcel["events"][-1]["status"]
        return {"order_status": order["status"], "parcels": parcels}

    def search_products(self, query: str, limit: int = 5, cursor: str | None = None) -> dict[str, Any]:
        """Products that have every word of `query` in their name or category, with price and stock."""
        words = _words(query)
        if not words:
            raise ToolError("BAD_INPUT", "query holds no word", hint="send one to three words, such as 'coffee cup'")
        with self._transaction() as db:
            rows = _rows(db, "SELECT product_id, name, category, price_cents, stock FROM products ORDER BY product_id")
        found = [row for row in rows if words <= _words(f"{row['name']} {row['category']}")]
        return _page("products", found, limit, cursor)

    def ledger(self, order_id: str | None = None) -> list[dict[str, Any]]:
        """Every refund ever made, oldest first; of one order when it is named."""
        with self._transaction() as db:
            return _rows(db, "SELECT * FROM refunds WHERE COALESCE(?, order_id) = order_id ORDER BY id", order_id)

    # ---- writing ----

    def refund_order(
        self,
        order_id: str,
        amount_cents: int,
        reason: str,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Pay money back for a delivered order, never more than is left of what was paid.

        Called again with the same `idempotency_key`, it pays nothing and returns the first result; so in this
        shop for ever, in a real one for a day to a week.
        """
        if not isinstance(amount_cents, int) or isinstance(amount_cents, bool) or amount_cents < 1:
            message = f"amount_cents must be a whole number of cents, at least 1, not {_short(amount_cents)}"
            raise ToolError("BAD_INPUT", message, hint="19.99 is 1999")
        _check_choice("reason", reason, REFUND_REASONS)
        if note is not None and (not isinstance(note, str) or len(note) > 200):
            hint = "shorten it or leave it out"
            raise ToolError("BAD_INPUT", "note must be text of at most 200 characters", hint=hint)
        with self._transaction("IMMEDIATE") as db:
            order = self._order(db, order_id)
            if idempotency_key is not None:
                first = _rows(db, "SELECT * FROM refunds WHERE idempotency_key = ?", idempotency_key)
                if first and [first[0][field] for field in ("order_id", "amount_cents", "reason")] != [
                    order_id,
                    amount_cents,
                    reason,
                ]:
                    hint = "a key is for one refund: do not try again, tell the user what the ledger holds"
                    raise ToolError("KEY_REUSED", "this idempotency key belongs to another refund", hint=hint)
                if first:
                    return _receipt(db, order, first[0])
            _check_refundable(order)
            left = order["paid_cents"] - _refunded(db, order_id)
            if amount_cents > left:
                message = (
                    f"{amount_cents} cents are more than can be refunded on {order_id}: {order['paid_cents']} were "
                    f"paid, {order['paid_cents'] - left} already paid back, {left} are left"
                )
                hint = f"ask for at most {left}, after asking the user" if left else "do not try again: tell the user"
                raise ToolError("OVER_REFUND", message, hint=hint)
            [(last,)] = db.execute("SELECT COALESCE(MAX(id), 0) FROM refunds").fetchall()
            at = (datetime.fromisoformat(NOW) + timedelta(minutes=last + 1)).isoformat()
            db.execute(
                "INSERT INTO refunds (order_id, amount_cents, reason, note, idempotency_key, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (order_id, amount_cents, reason, note, idempotency_key, at),
            )
            return _receipt(db, order, _rows(db, "SELECT * FROM refunds ORDER BY id DESC LIMIT 1")[0])

    def cancel_order(self, order_id: str, reason: str) -> dict[str, Any]:
        """Cancel an order that has not left the shop; its payment is released. Cancelling twice changes nothing."""
        _check_choice("reason", reason, CANCEL_REASONS)
        with self._transaction("IMMEDIATE") as db:
            order = self._order(db, order_id)
            if order["status"] in ("shipped", "delivered"):
                hint = "use refund_order if the user asks for money back"
                if order["status"] == "shipped":
                    hint = "it cannot be stopped: track_parcel says where it is; a refund is possible once it is there"
                raise ToolError("WRONG_STATUS", f"{order_id} is {order['status']}, too late to cancel", hint=hint)
            changed = order["status"] != "cancelled"
            if changed:
                change = "UPDATE orders SET status = 'cancelled', cancel_reason = ? WHERE order_id = ?"
                db.execute(change, (reason, order_id))
        released = order["paid_cents"] if changed else 0
        return {"order_id": order_id, "status": "cancelled", "changed": changed, "released_cents": released}

    def reset(self) -> None:
        """Put everything back as it was on the first morning, in one step that other users of the file see whole."""
        with self._transaction("IMMEDIATE") as db:
            for table in TABLES:
                db.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in re.split(r"(?<=;)\n(?=CREATE)", SCHEMA.strip()):
                db.execute(statement)
            fill(db)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")

    # ---- the file ----

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection of one's own, closed at the end, for looking behind the methods with SQL."""
        if not self.path.exists():
            raise SetupError("The shop's file is gone: call open_shop() again.")
        db = sqlite3.connect(self.path, timeout=self.busy_seconds, isolation_level=None)
        try:
            db.execute("PRAGMA foreign_keys = ON")
            yield db
        finally:
            db.close()

    @contextmanager
    def _transaction(self, kind: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        """All or nothing. IMMEDIATE takes the write lock first, so what is checked still holds when it is written."""
        with self.connection() as db:
            try:
                db.execute(f"BEGIN {kind}")
                yield db
                db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                hint = "nothing was done; the same call may be made again"
                raise ToolError("BUSY", "the shop is busy", retryable=True, hint=hint) from None
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def _is_ours(self) -> bool:
        with self.connection() as db:
            return db.execute("PRAGMA application_id").fetchone() == (_APPLICATION_ID,)

    def _is_current(self) -> bool:
        with self.connection() as db:
            return db.execute("PRAGMA user_version").fetchone() == (_SCHEMA_VERSION,)

    def _order(self, db: sqlite3.Connection, order_id: str) -> dict[str, Any]:
        _check_format("order_id", order_id, r"ORD-[0-9]{8}", "ORD-20260917")
        found = _rows(
            db,
            """SELECT order_id, status, customer_id, customers.name AS customer, placed_at, delivered_at, paid_cents,
               customer_note, cancel_reason FROM orders JOIN customers USING (customer_id) WHERE order_id = ?""",
            order_id,
        )
        if not found:
            hint = "check the digits with the user, or look it up with search_orders"
            raise ToolError("NOT_FOUND", f"there is no order {order_id}", hint=hint)
        if self.customer_id not in (None, found[0]["customer_id"]):
            hint = "do not try again; search_orders lists the orders this customer may see"
            raise ToolError("NOT_ALLOWED", f"{order_id} belongs to another customer", hint=hint)
        return found[0]


def _check_refundable(order: dict[str, Any]) -> None:
    status = order["status"]
    hints = {
        "paid": "use cancel_order, if the user wants that: the payment is then released",
        "packed": "use cancel_order, if the user wants that: the payment is then released",
        "shipped": "it is on its way: track_parcel says where; a refund is possible once it is delivered",
        "cancelled": "its payment was released: there is nothing to pay back, tell the user so",
    }
    if status in hints:
        message = f"only delivered orders can be refunded and {order['order_id']} is {status}"
        raise ToolError("WRONG_STATUS", message, hint=hints[status])


def _receipt(db: sqlite3.Connection, order: dict[str, Any], refund: dict[str, Any]) -> dict[str, Any]:
    """What `refund_order` answers. Counted up to this refund, so that a repeated answer equals the first."""
    sums = "SELECT SUM(amount_cents) AS cents FROM refunds WHERE order_id = ? AND id <= ?"
    refunded = _rows(db, sums, order["order_id"], refund["id"])[0]["cents"]
    return {
        "refund_id": f"RFD-{refund['id']:04}",
        "order_id": order["order_id"],
        "amount_cents": refund["amount_cents"],
        "currency": "EUR",
        "reason": refund["reason"],
        "created_at": refund["created_at"],
        "refunded_cents": refunded,
        "refundable_cents": order["paid_cents"] - refunded,
    }


def _refunded(db: sqlite3.Connection, order_id: str) -> int:
    sums = "SELECT COALESCE(SUM(amount_cents), 0) AS cents FROM refunds WHERE order_id = ?"
    return _rows(db, sums, order_id)[0]["cents"]


def _rows(db: sqlite3.Connection, sql: str, *values: Any) -> list[dict[str, Any]]:
    cursor = db.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _page(kind: str, found: list[dict[str, Any]], limit: int, cursor: str | None) -> dict[str, Any]:
    """One page of a list, which always says how much there is and how to get the rest."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 50:
        raise ToolError("BAD_INPUT", f"limit must be a whole number from 1 to 50, not {_short(limit)}", hint="send 10")
    if cursor is not None and not (isinstance(cursor, str) and re.fullmatch("[0-9]{1,6}", cursor)):
        hint = "leave cursor out for the first page; else send the next_cursor of the page before"
        raise ToolError("BAD_INPUT", f"cursor {_short(cursor)} was not given out by this search", hint=hint)
    start = int(cursor or 0)
    page = found[start : start + limit]
    rest = start + len(page) < len(found)
    return {
        kind: page,
        "total": len(found),
        "returned": len(page),
        "truncated": rest,
        "next_cursor": str(start + limit) if rest else None,
    }


def _check_choice(field: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        names = [choice for choice in allowed if choice is not None]
        message = f"{field} must be one of {', '.join(names)}, not {_short(value)}"
        raise ToolError("BAD_INPUT", message, hint=f"send {field} exactly as written there, in small letters")


def _check_format(field: str, value: Any, pattern: str, example: str) -> None:
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
        message = f"{field} must look like {example} ({example[:4]} and eight digits), not {_short(value)}"
        hint = "check the format, or look it up with search_orders; never make up digits"
        raise ToolError("BAD_FORMAT", message, hint=hint)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _fold(text: str) -> str:
    """Letters as people type them in a hurry: `"Łukasz Żmuda"` → `"lukasz zmuda"`."""
    letters = unicodedata.normalize("NFKD", text.casefold().translate(str.maketrans("łøđı", "lodi")))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _words(text: str) -> set[str]:
    """The words of a text, without accents and a plural s: `"Crêpe pans"` → `{"crepe", "pan"}`."""
    words = re.findall(r"\w+", _fold(text)) if isinstance(text, str) else []
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words}


def _is_customer(wanted: str, row: dict[str, Any]) -> bool:
    wanted = str(wanted).strip()
    if wanted.casefold() in (row["customer_id"].casefold(), row["email"].casefold()):
        return True
    return bool(_words(wanted)) and _words(wanted) <= _words(row["customer"])
