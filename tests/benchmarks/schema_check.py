"""What checking the refund tool's input costs, beside other libraries; writes a dated results file.

    python tests/benchmarks/schema_check.py

Aims: a valid input under 2 µs with the look-up of its schema, and so about twice what a function takes that
`fastjsonschema` compiled for this one schema; an invalid one, explained for a model, within what a cached `jsonschema`
validator takes to list its errors; the schema itself checked once.

Only ours (`check_tool_input`, `conforms`) look the schema up in every call and notice when it was edited; the others
hold a validator that was made before. `jsonschema.validate` makes one, and checks the schema, every time.
"""

import copy
import itertools
import json
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import fastjsonschema
import jsonschema
import jsonschema_rs
import pydantic

from course_kit.contract import compiled
from course_kit.contract.schema import check_tool_input, conforms
from course_kit.example_tools import definition

RESULTS = Path(__file__).parent / "results" / "schema_check.json"
LIBRARIES = ("fastjsonschema", "jsonschema", "jsonschema-rs", "pydantic")
ROUNDS = 300

REFUND = definition("refund_order")
SCHEMA = REFUND["input_schema"]
VALID = {"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged", "note": "Cup arrived broken."}
ONE_FAULT = {**VALID, "amount_cents": "1999"}
FOUR_FAULTS = {"order_id": "20260917", "amount_cents": 19.99, "note": "Cup arrived broken.", "currency": "EUR"}


class Refund(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    order_id: Annotated[str, pydantic.Field(pattern="^ORD-[0-9]{8}$")]
    amount_cents: Annotated[int, pydantic.Field(ge=1)]
    reason: Literal["damaged", "not_received", "wrong_item", "other"]
    note: Annotated[str | None, pydantic.Field(max_length=200)] = None


def quiet(check: Callable[[Any], Any], refusal: type[Exception]) -> Callable[[Any], bool]:
    """Whether a check that raises lets a value pass."""

    def passes(value: Any) -> bool:
        try:
            check(value)
        except refusal:
            return False
        return True

    return passes


def ways() -> dict[str, Callable[[Any], Any]]:
    """Each way to check an input; true, or no errors, for one that fits."""
    cached, engine = jsonschema.Draft202012Validator(SCHEMA), jsonschema_rs.Draft202012Validator(SCHEMA)
    # More than are known by identity: each comes as a dict that was never seen, with content that was.
    copies = itertools.cycle([copy.deepcopy(REFUND) for _ in range(compiled.MAX_SEEN + 100)])
    return {
        "check_tool_input": lambda value: check_tool_input(REFUND, value).ok,
        "conforms": lambda value: conforms(SCHEMA, value),
        "check_tool_input, a new copy of the definition": lambda value: check_tool_input(next(copies), value).ok,
        "jsonschema-rs alone": lambda value: engine.is_valid(value),
        "fastjsonschema": quiet(fastjsonschema.compile(SCHEMA), fastjsonschema.JsonSchemaValueException),
        "pydantic": quiet(Refund.model_validate, pydantic.ValidationError),
        "jsonschema, cached validator": lambda value: not list(cached.iter_errors(value)),
        "the same, with path and message as a text": lambda value: (
            not [f"{error.json_path}: {error.message}" for error in cached.iter_errors(value)]
        ),
        "jsonschema.validate": quiet(lambda value: jsonschema.validate(value, SCHEMA), jsonschema.ValidationError),
    }


def measure(values: dict[str, Any], rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Microseconds per check: the best of short batches that alternate, since other work on the machine only adds."""
    timed = ways()
    for way in timed.values():
        assert [bool(way(value)) for value in values.values()] == [True, False, False]
    best: dict[str, dict[str, float]] = {name: dict.fromkeys(timed, float("inf")) for name in values}
    for _ in range(rounds):
        for name, value in values.items():
            for label, way in timed.items():
                batch = range(1 + int(1000 / best[name][label]))  # about a millisecond
                start = time.perf_counter()
                for _ in batch:
                    way(value)
                taken = (time.perf_counter() - start) / len(batch) * 1e6
                best[name][label] = min(best[name][label], taken)
    return {name: {label: round(value, 2) for label, value in of.items()} for name, of in best.items()}


def first_time(times: int = 30) -> float:
    """Microseconds of the first check against a schema that was never seen: it is checked itself, and compiled."""
    taken = []
    for number in range(times):
        new = copy.deepcopy(REFUND)
        new["input_schema"]["description"] = f"Never seen: {number}."
        start = time.perf_counter()
        assert check_tool_input(new, VALID).ok
        taken.append((time.perf_counter() - start) * 1e6)
    return round(min(taken), 1)


def schema_checks() -> int:
    """How often the schema itself is checked while an input is, a hundred times, and once more after an edit."""
    tool = copy.deepcopy(REFUND)
    tool["input_schema"]["description"] = "Counted."
    before = compiled._schema_problem.cache_info().misses
    assert all(check_tool_input(tool, VALID).ok for _ in range(100))
    tool["input_schema"]["properties"]["amount_cents"]["maximum"] = 1000
    assert not check_tool_input(tool, VALID).ok
    return compiled._schema_problem.cache_info().misses - before


def main() -> None:
    inputs = {"valid": VALID, "one fault": ONE_FAULT, "four faults": FOUR_FAULTS}
    taken, first, checked = measure(inputs), first_time(), schema_checks()
    valid, peer = taken["valid"], "jsonschema, cached validator"
    aims = {
        "valid input under 2 µs": valid["check_tool_input"] < 2,
        "valid input within twice fastjsonschema": valid["check_tool_input"] < 2 * valid["fastjsonschema"],
        **{
            f"{name} within cached jsonschema": taken[name]["check_tool_input"] < taken[name][peer]
            for name in ("one fault", "four faults")
        },
        "schema checked once, and once after an edit": checked == 2,
    }
    results = {
        "measured": date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "microseconds_per_check": taken,
        "microseconds_of_the_first_check_of_a_schema": first,
        "aims": aims,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [f"{'µs per check, and times check_tool_input':48}" + "".join(f"{name:>20}" for name in inputs)]
    for label in valid:
        cells = (
            f"{taken[name][label]:9.2f} {taken[name][label] / taken[name]['check_tool_input']:8.2f} ×"
            for name in inputs
        )
        lines.append(f"{label:48}" + "".join(f"{cell:>20}" for cell in cells))
    lines.append(
        f"the first check of a schema that is new: {first:.0f} µs; {checked} checks of the schema, one edit between"
    )
    lines += [f"{'reached' if reached else 'missed':8} {aim}" for aim, reached in aims.items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
