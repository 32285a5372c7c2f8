"""Cases through the provider's batches: one reply for each trial, joined by name, fetched again after a kill."""

import json

import pytest

from course_kit.contract.messages import tool_use
from course_kit.errors import CourseKitError
from course_kit.evaluation.batches import run_batch
from course_kit.evaluation.cases import Case, CaseError
from course_kit.harness.tools import tool
from course_kit.mock.faults import status
from course_kit.mock.provider import MockProvider

CASES = [
    Case("parcel: 7", "positive", "Where is parcel 7?", {"calls": [{"tool": "track", "input": {"id": 7}}]}),
    Case("thanks", "negative", "Thank you."),
]


@tool(effect="read")
def track(id: int) -> str:
    """Where a parcel is."""
    raise AssertionError("in a batch nothing is run")


def model(request):
    asked = request["messages"][0]["content"]
    return [tool_use("t1", "track", {"id": 7})] if "parcel" in asked else "You are welcome."


def batch(connect, cases=CASES, **how):
    return run_batch(cases, connect, **{"tools": [track], "trials": 3, "wait": 0, "progress": False, **how})


def creations(provider):
    return [e for e in provider.requests if (e.method, e.path) == ("POST", "/v1/messages/batches")]


def test_all_trials_go_into_one_batch_and_are_judged():
    provider = MockProvider(model)
    results = batch(provider.client())
    assert results.counts() == {"parcel: 7": (3, 3), "thanks": (3, 3)}
    [sent] = creations(provider)
    assert [entry["custom_id"] for entry in sent.body["requests"]] == [f"trial-{place}" for place in range(6)]
    [call] = results.records[0]["calls"]
    assert (call["valid"], call["failed"], results.records[0]["stopped"]) == (True, None, "tool_use")
    assert results.records[0]["input_tokens"] > 0 < results.records[0]["output_tokens"]


def test_a_function_of_the_seed_gives_every_round_a_batch_of_its_own():
    providers = {}

    def connect(seed):
        providers[seed] = MockProvider(model)
        return providers[seed]

    assert batch(connect).counts() == {"parcel: 7": (3, 3), "thanks": (3, 3)}
    assert [len(creations(provider)[0].body["requests"]) for provider in providers.values()] == [2, 2, 2]


def test_results_are_joined_by_name_not_by_position():
    """The mock gives them in another order than they were sent."""
    provider = MockProvider(lambda request: request["messages"][0]["content"])
    cases = [Case(name, prompt=f"I am {name}.", expect={"says": [f"I am {name}."]}) for name in "abcdefghijkl"]
    assert all(record["passed"] for record in batch(provider.client(), cases))


def test_a_killed_evaluation_fetches_its_batch_instead_of_paying_again(tmp_path):
    file, provider = tmp_path / "a.jsonl", MockProvider(model)
    batch(provider.client(), file=file)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    assert json.loads(lines[0])["trials"]["trial-1"] == ["thanks", 0]
    for kept in (1, 4):  # killed while it waited, and while it wrote results down
        file.write_text("".join(lines[:kept]) + lines[kept][:9], encoding="utf-8")
        assert batch(provider.client(), file=file).counts() == {"parcel: 7": (3, 3), "thanks": (3, 3)}
        assert len(file.read_text(encoding="utf-8").splitlines()) == 1 + 6  # none is written down twice
    assert len(creations(provider)) == 1
    batch(provider.client(), file=file, trials=4)
    assert [len(sent.body["requests"]) for sent in creations(provider)] == [6, 2]


def test_a_batch_that_the_provider_no_longer_has_is_sent_again(tmp_path):
    file = tmp_path / "a.jsonl"
    batch(MockProvider(model).client(), file=file)
    first = file.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    file.write_text(first, encoding="utf-8")
    another = MockProvider(model)
    assert len(batch(another.client(), file=file)) == 6
    assert len(creations(another)) == 1


def test_what_was_canceled_is_sent_again(tmp_path):
    file, provider = tmp_path / "a.jsonl", MockProvider(model)
    client = provider.client()
    create = client.messages.batches.create
    canceled = []

    def create_and_cancel(**body):
        sent = create(**body)
        if not canceled:
            canceled.append(client.messages.batches.cancel(sent.id))
        return sent

    client.messages.batches.create = create_and_cancel
    results = batch(client, file=file)
    assert (len(results), results.missing) == (0, 6)
    assert batch(client, file=file).missing == 0
    assert len(creations(provider)) == 2


def test_a_request_that_failed_at_the_provider_is_a_failed_trial():
    provider = MockProvider(model, faults={3: status(529)})  # 1 creates, 2 asks, 3 is the first of the batch
    records = batch(provider.client(max_retries=0), trials=1).records
    assert [record["passed"] for record in records] == [False, True]
    assert records[0]["error"] == "Simulated fault: status 529"


@pytest.mark.parametrize(
    ("case", "how", "error", "said"),
    [
        pytest.param(Case("a", turns=["x", "y"], expect={"calls": []}), {}, CaseError, "several turns", id="turns"),
        pytest.param(
            Case("a", prompt="x", expect={"state": [lambda s: True]}), {}, CaseError, "asks for the state", id="state"
        ),
        pytest.param(
            Case("a", prompt="x", expect={"calls": []}),
            {"temperature": 0.5},
            CourseKitError,
            "The provider refuses case a: .*temperature",
            id="refused",
        ),
        pytest.param(
            Case("a", prompt="x", expect={"calls": ["trace"]}),
            {},
            CaseError,
            "^Case a names `trace`, and the tools are track[.]$",
            id="another tool",
        ),
        pytest.param(
            Case("a", prompt="x", expect={"calls": ["track"]}),
            {"tools": []},
            CaseError,
            "^Case a means `track`, and there are no tools: give `tools=`[.]$",
            id="no tools",
        ),
    ],
)
def test_what_a_batch_cannot_do_is_one_sentence(case, how, error, said):
    with pytest.raises(error, match=said):
        batch(MockProvider(model).client(), [case], **how)
