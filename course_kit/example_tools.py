"""The tools that the lessons hand to a model: the desk's, and a few small ones for where the desk does not fit.

A definition is a text for a reader who knows nothing else: when to use the tool, when not and what instead, what each
input means, what comes back, what it does to the world. So they are written here with care, and the work is done
next door, in `shop.py`. Loaded only where it is used: it needs pydantic.
"""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field

from course_kit.errors import ToolError
from course_kit.harness.tools import Tool, tool

__all__ = ["definition", "desk_tools", "file_tools", "get_weather"]

OrderId = Annotated[
    str,
    Field(
        pattern="^ORD-[0-9]{8}$",
        description="The order's number: ORD- and eight digits, such as ORD-20260917. Take it from the user or from "
        "search_orders; it cannot be worked out from a date.",
    ),
]
Cursor = Annotated[
    str | None,
    Field(description="The next_cursor of the page before, to read on. Leave it out for the first page."),
]


def desk_tools(shop: Any, *, task: str | None = None) -> list[Tool]:
    """The desk's six tools for one `Shop`, ready for `run_agent`.

    With a `task`, such as `"ticket-118"`, every refund carries a key made of the task, the order and the amount:
    however often the call is repeated within that task, the money leaves once. Two equal refunds of one order need two
    tasks.
    """

    @tool(
        effect="read",
        description="Find orders of the shop by customer, by status, or both. Use it when the user names a person, "
        "or asks which orders there are, and no order number is known. Not for one order whose number is known (use "
        "query_order), not for where a parcel is (use track_parcel), not for goods and prices (use search_products). "
        "Returns a list, newest first, each with order_id, status, placed_at, customer, paid_cents and "
        "refunded_cents; beside it total, returned, truncated and next_cursor, which reads on. No match is an empty "
        "list, not an error. Changes nothing.",
    )
    def search_orders(
        customer: Annotated[
            str | None,
            Field(
                description="A customer's name or part of it, e-mail address or number, such as Lindgren or "
                "CUS-1001. Accents and capitals do not matter. Leave it out for all customers."
            ),
        ] = None,
        status: Annotated[
            Literal["paid", "packed", "shipped", "delivered", "cancelled"] | None,
            Field(
                description="Only orders in this state; paid and packed ones are still in the shop. Leave it out "
                "for all states."
            ),
        ] = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Most orders to return, 1 to 50; 10 by default.")] = 10,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        return shop.search_orders(customer, status, limit, cursor)

    @tool(
        effect="read",
        description="Read one order in full, when its number is known, also before a refund or a cancellation. Returns "
        "status, customer, when it was placed and delivered, items with prices, what was paid, paid back and can still "
        "be refunded (all in cents), and its parcels' tracking_ids. Not for finding an order without its number (use "
        "search_orders), not for where a parcel is (use track_parcel). An unknown number is the error NOT_FOUND, "
        "another customer's order is NOT_ALLOWED. Changes nothing.",
    )
    def query_order(order_id: OrderId) -> dict[str, Any]:
        return shop.query_order(order_id)

    @tool(
        effect="read",
        description="Say where a parcel is and what happened to it: 'where is my package', 'has it been shipped', "
        "'it never came'. Send one of the two inputs: the tracking number, or the order number for all parcels of that "
        "order. Not for what was ordered or paid (use query_order). Returns order_status and a list of parcels, each "
        "with carrier, status and dated events, oldest first; the list is empty while the order has not left the "
        "shop. An unknown number is the error NOT_FOUND. Changes nothing.",
    )
    def track_parcel(
        tracking_id: Annotated[
            str | None,
            Field(
                pattern="^TRK-[0-9]{8}$",
                description="The parcel's number: TRK- and eight digits, such as TRK-48200917. Leave it out when "
                "order_id is sent.",
            ),
        ] = None,
        order_id: Annotated[
            str | None,
            Field(
                pattern="^ORD-[0-9]{8}$",
                description="The order's number, such as ORD-20260917. Leave it out when tracking_id is sent.",
            ),
        ] = None,
    ) -> dict[str, Any]:
        return shop.track_parcel(tracking_id, order_id)

    @tool(
        effect="read",
        description="Find goods that the shop sells, with today's price and stock: 'how much is', 'do you have', "
        "'is it in stock'. Not for what somebody has bought, nor for the price then (use query_order). Returns "
        "products with product_id, name, category, price_cents and stock (0 is sold out); beside them total, returned, "
        "truncated and next_cursor, which reads on. No match is an empty list, not an error: try fewer words. Changes "
        "nothing.",
    )
    def search_products(
        query: Annotated[
            str,
            Field(
                min_length=1,
                description="One to three words, such as coffee cup; every one must stand in the product's name or "
                "category.",
            ),
        ],
        limit: Annotated[int, Field(ge=1, le=50, description="Most products to return, 1 to 50; 5 by default.")] = 5,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        return shop.search_products(query, limit, cursor)

    @tool(
        effect="irreversible",
        idempotent=task is not None,
        description="Pay money back for a delivered order. Use it only when the user asks for money back and names "
        "the order. Not for an order that has not been shipped yet (use cancel_order), not for one still on its way "
        "(use track_parcel). Never more than was paid, less what was paid back before: query_order says what is left. "
        "Returns refund_id, the amount, and what can still be refunded. More than that is the error OVER_REFUND, an "
        "order in another state is WRONG_STATUS; then nothing was paid. Each call pays again and cannot be undone.",
    )
    def refund_order(
        order_id: OrderId,
        amount_cents: Annotated[
            int,
            Field(ge=1, description="How much to pay back, in cents of a euro, as a whole number: 19.99 is 1999."),
        ],
        reason: Annotated[
            Literal["damaged", "not_received", "wrong_item", "other"],
            Field(
                description="Why: damaged (broken or faulty), not_received (it never came), wrong_item (something "
                "else was in the box), other (anything else; say what in note)."
            ),
        ],
        note: Annotated[
            str | None,
            Field(
                max_length=200,
                description="One sentence for the accounts, at most 200 characters, such as: Cup arrived broken. "
                "Leave it out when there is nothing to add.",
            ),
        ] = None,
    ) -> dict[str, Any]:
        key = f"{task}/refund_order/{order_id}/{amount_cents}" if task is not None else None
        return shop.refund_order(order_id, amount_cents, reason, note, idempotency_key=key)

    @tool(
        effect="write",
        idempotent=True,
        description="Call off an order that has not left the shop (paid or packed); the whole payment is released. "
        "Use it when the user no longer wants the order and names it. Not for shipped orders, which cannot be stopped "
        "(use track_parcel), and not for delivered ones (use refund_order). Returns the status, whether it changed, "
        "and released_cents; an order already cancelled stays so and is no error. Too late is the error WRONG_STATUS. "
        "A cancelled order cannot be brought back.",
    )
    def cancel_order(
        order_id: OrderId,
        reason: Annotated[
            Literal["changed_mind", "ordered_twice", "wrong_address", "other"],
            Field(
                description="Why: changed_mind (no longer wanted), ordered_twice (the same order was placed again), "
                "wrong_address, other."
            ),
        ],
    ) -> dict[str, Any]:
        return shop.cancel_order(order_id, reason)

    return [search_orders, query_order, track_parcel, search_products, refund_order, cancel_order]


def definition(name: str) -> dict[str, Any]:
    """One of the definitions here as the plain dict that goes on the wire: `definition("refund_order")`."""
    known = {entry.name: entry for entry in [*desk_tools(None), *file_tools("."), get_weather]}
    if name not in known:
        raise ValueError(f"There is no example tool {name!r}: take one of {', '.join(sorted(known))}.")
    return known[name].definition()


# ---- files ----

_MAX_LINES = 2000
_MAX_BYTES = 5_000_000

RelativePath = Annotated[
    str,
    Field(
        min_length=1,
        description="Path of the file below the working folder, with forward slashes and no leading one, such as "
        "notes/today.txt. Paths that lead outside are refused.",
    ),
]


def file_tools(root: str | os.PathLike[str]) -> list[Tool]:
    """`read_file`, `write_file` and `grep`, confined to one folder: links and `..` lead nowhere outside."""
    base = Path(root).resolve()

    def inside(path: str) -> Path:
        named = PurePosixPath(path.replace("\\", "/"))
        target = base / named
        hint = "send a path below the working folder, such as notes/today.txt"
        if named.is_absolute() or Path(path).drive or "\0" in path or not _resolved(target).is_relative_to(base):
            raise ToolError("NOT_ALLOWED", f"{path!r} leads outside the working folder", hint=hint)
        return _resolved(target)

    def existing(path: str) -> Path:
        target = inside(path)
        if target.is_file():
            return target
        if target.is_dir():
            raise ToolError(
                "IS_A_FOLDER", f"{path!r} is a folder", hint="name a file; grep finds files by what they say"
            )
        names = [file.relative_to(base).as_posix() for file in _files(base)]
        close = difflib.get_close_matches(path.lower(), [name.lower() for name in names], n=1)
        meant = next((name for name in names if close and name.lower() == close[0]), None)
        hint = f"there is {meant!r}" if meant else "check the path with the user"
        raise ToolError("NOT_FOUND", f"there is no file {path!r}", hint=hint)

    @tool(
        effect="read",
        description="Read a text file of the working folder, or a part of it. Not for finding which file holds a "
        "word (use grep). Returns text, first_line, returned_lines, total_lines, truncated and next_offset, which "
        "reads on. A file that is missing is the error NOT_FOUND, one that is not UTF-8 text is NOT_TEXT. Changes "
        "nothing.",
    )
    def read_file(
        path: RelativePath,
        offset: Annotated[int, Field(ge=0, description="Lines to leave out at the start; 0 by default.")] = 0,
        limit: Annotated[
            int, Field(ge=1, le=_MAX_LINES, description="Most lines to return, 1 to 2000; 2000 by default.")
        ] = _MAX_LINES,
    ) -> dict[str, Any]:
        lines = _text(existing(path), path).splitlines(keepends=True)
        part = lines[offset : offset + limit]
        rest = offset + len(part) < len(lines)
        return {
            "text": "".join(part),
            "first_line": offset + 1,
            "returned_lines": len(part),
            "total_lines": len(lines),
            "truncated": rest,
            "next_offset": offset + len(part) if rest else None,
        }

    @tool(
        effect="write",
        idempotent=True,
        description="Write a whole text file in the working folder; folders that are missing are made. What was in "
        "the file before is lost, so read it first with read_file when a part of it must stay. Returns the size in "
        "bytes and whether a file was replaced.",
    )
    def write_file(
        path: RelativePath,
        content: Annotated[str, Field(description="The whole new text of the file, not only the changed part.")],
    ) -> dict[str, Any]:
        target = inside(path)
        if target.is_dir():
            raise ToolError("IS_A_FOLDER", f"{path!r} is a folder", hint="name a file in it")
        replaced = target.exists()
        data = content.encode("utf-8", "replace")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError as error:
            hint = "nothing can be written there: choose another path"
            raise ToolError("NOT_WRITTEN", f"{path!r} was not written ({error.strerror})", hint=hint) from None
        return {"path": path, "bytes": len(data), "replaced": replaced}

    @tool(
        effect="read",
        description="Find the lines that hold a text, in all text files of the working folder or below one path. Not "
        "for reading a file as a whole (use read_file). Returns matches with path, line number and the line, cut at "
        "300 characters; beside them total, returned and truncated: when truncated, search for a longer text. No "
        "match is an empty list, not an error. Changes nothing.",
    )
    def grep(
        text: Annotated[
            str,
            Field(min_length=1, description="The text to find, letter by letter, such as KeyError: no pattern signs."),
        ],
        path: Annotated[
            str, Field(description="File or folder to search, such as src; the whole working folder by default.")
        ] = ".",
        limit: Annotated[int, Field(ge=1, le=200, description="Most lines to return, 1 to 200; 50 by default.")] = 50,
    ) -> dict[str, Any]:
        start = inside(path)
        if not start.exists():
            raise ToolError("NOT_FOUND", f"there is nothing at {path!r}", hint="leave path out to search everywhere")
        matches = []
        for file in _files(start) if start.is_dir() else [start]:
            name = file.relative_to(base).as_posix()
            if not file.is_file() or not _resolved(file).is_relative_to(base):
                continue
            try:
                content = _text(file, name)
            except ToolError:  # pictures and the like
                continue
            for number, line in enumerate(content.splitlines(), 1):
                if text in line:
                    matches.append({"path": name, "line": number, "text": line[:300]})
        found = matches[:limit]
        counts = {"total": len(matches), "returned": len(found), "truncated": len(found) < len(matches)}
        return {"matches": found, **counts}

    return [read_file, write_file, grep]


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder, in one order on every machine; links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names))


def _text(file: Path, path: str) -> str:
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise ToolError("TOO_LARGE", f"{path!r} is larger than 5 MB", hint="do not try again: tell the user")
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError("NOT_TEXT", f"{path!r} is not UTF-8 text", hint="do not try again: tell the user") from None
    except OSError as error:
        hint = "do not try again: tell the user"
        raise ToolError("NOT_READ", f"{path!r} cannot be read ({error.strerror})", hint=hint) from None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        raise ToolError(
            "NOT_ALLOWED", f"{path.name!r} is a link that leads nowhere", hint="name another file"
        ) from None


# ---- weather ----

_WEATHER = {
    "Oslo": (4, "rain"),
    "Lima": (19, "overcast"),
    "Hangzhou": (27, "sunny"),
    "Shanghai": (25, "cloudy"),
    "Beijing": (22, "clear"),
    "Paris": (18, "cloudy"),
    "London": (16, "drizzle"),
    "Nairobi": (24, "sunny"),
    "Toronto": (15, "windy"),
    "Sydney": (21, "clear"),
}


@tool(
    effect="read",
    description="Tell the weather in a city at this hour. Not for forecasts nor for days gone by: no tool has them. "
    "Returns the city, temperature_c in degrees Celsius and sky in a word or two. A city that is not covered is the "
    "error NOT_FOUND, whose text lists those that are. Changes nothing.",
)
def get_weather(
    city: Annotated[
        str, Field(min_length=1, description="One city by its English name, without country, such as Oslo.")
    ],
) -> dict[str, Any]:
    """The weather from a small fixed table: the same today as tomorrow."""
    known = {name.casefold(): name for name in _WEATHER}
    name = known.get(city.strip().casefold())
    if name is None:
        hint = f"the cities covered are {', '.join(_WEATHER)}"
        raise ToolError("NOT_FOUND", f"there is no weather for {city!r}", hint=hint)
    temperature, sky = _WEATHER[name]
    return {"city": name, "temperature_c": temperature, "sky": sky}
