# %% [markdown]
# # 11 · Providers
#
# You will run one refund conversation through three interfaces, compare two runs of it, and find the call at which they
# diverge.
#
# After this lesson you can
#
# - **define** a tool once and convert it for each provider, knowing what gets lost,
# - **write** an adapter between two providers' shapes, and say what it loses,
# - **compare** two runs call by call, by a golden trace instead of the final answer,
# - **name** what differs between providers, and which differences no error will tell you,
# - **read** another provider's failure by its status and its flags, never by its words.
#
# About 90 minutes; a good place for a break is before "What differs". The two appendices can be left out. You need lesson
# 01; lessons 03 to 05 help. The lesson uses the `openai` and `mcp` packages: they come with the course's extras, and if
# one is missing you are told what to install.

# %% tags=["setup"]
import json

from course_kit import (
    DEFAULT_MODEL,
    Definition,
    MockProvider,
    definition_to,
    quiz,
    show,
    tool_result,
)

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("11.recall")

# %% [markdown]
# ## One definition
#
# A tool belongs to you, not to a provider. So define it once, in a form that says everything *you* know about it: the
# **canonical definition**. Three of the fields below are for your own code, not for a model: what a call does to the
# world (`effect`), whether the same call may be made twice without harm (`idempotent`), and how many seconds you wait
# for it (`timeout`).

# %% tags=["item-11.1"]
REFUND = Definition(
    name="refund_order",
    description="Pay money back for a delivered order. Use when the user asks for a refund and "
    "names the order. Never more than was paid. Not for an order that is not yet shipped: use "
    "cancel_order.",
    input_schema={
        "type": "object",
        "properties": {
            "order_id": {
                "type": "string",
                "pattern": "^ORD-[0-9]{8}$",
                "description": "Such as ORD-20260917.",
            },
            "amount_cents": {
                "type": "integer",
                "minimum": 1,
                "description": "In cents: 19.99 is 1999.",
            },
            "reason": {
                "type": "string",
                "enum": ["damaged", "not_received", "wrong_item", "other"],
            },
        },
        "required": ["order_id", "amount_cents", "reason"],
        "additionalProperties": False,
    },
    effect="irreversible",
    idempotent=True,  # the payment service pays an order once, however often it is asked
    timeout=20.0,
)

# %% [markdown]
# How one interface writes definitions, calls and results is its **shape**. OpenAI has two interfaces, *Chat Completions*
# and *Responses*, each with its own. Gemini's shape is taken from recorded traffic; the course has no client for it. MCP
# is no interface to a model: it is how a server offers tools to an application (lesson 07).
#
# An **adapter** turns your form into another shape and back. For definitions the work is small. Here is the same tool in
# five shapes: the keys it has there, and what had no place. Which of them has a place for your own three fields?

# %%
for shape in ("anthropic", "openai_chat", "openai_responses", "gemini", "mcp"):
    converted = definition_to(shape, REFUND)
    print(f"{shape:17} keys {list(converted.value)}")
    print(f"{'':17} lost {[loss.path for loss in converted.lost]}")

# %% [markdown]
# Chat Completions wraps everything in `function`; elsewhere the definition is flat. The schema is called
# `input_schema`, `parameters`, `parametersJsonSchema` or `inputSchema`.
#
# The Responses shape has `strict: False`. In **strict mode** the server forces the model's inputs to fit the schema
# (lesson 03). If you leave it out, Responses makes the schema strict where it can, according to its documentation
# (2026): every input becomes required, even your optional ones. So our adapter always sets it.
#
# Only MCP has places for `effect` and `idempotent`: its `annotations`, a server's hints about its own tools. For the
# receiver they are unverified claims.

# %% tags=["quiz"]
quiz("11.1")

# %% [markdown]
# ## A question, a tool, a loop
#
# To compare shapes, everything else must stay the same: the question, the definitions, and a tool that behaves the same
# in each run. Testers call that a **fixture**.
#
# Our refunds go through a payment service. It answers each attempt with a *record of the payment*, and a flag says
# whether the attempt failed. On a bad morning the first attempt fails, and nothing is paid.


# %%
class PaymentService:
    def __init__(self, failures=0):
        self.failures, self.attempts, self.paid = failures, 0, {}

    def refund(self, call):
        """Answer one `tool_use` block with its `tool_result`."""
        order, cents = call["input"]["order_id"], call["input"]["amount_cents"]
        self.attempts += 1
        failed = self.attempts <= self.failures
        if not failed:
            self.paid.setdefault(order, cents)  # an order that is paid already stays as it is
        record = json.dumps({"payment": "PAY-4821", "refund_cents": cents})
        return tool_result(call["id"], record, is_error=failed)


# %% [markdown]
# Note that the record is the same in both cases; only `is_error` tells them apart. Some services are like that.
#
# A second attempt is safe here: the flag means "nothing was paid", not "nobody knows", and the order number is a key
# (lesson 09), so an order is paid once. Without that, a failed refund must go to a person.
#
# The loop is lesson 01's. All it needs from a provider is one function: `send(request)` returns a message. Request and
# message are in the shape of the Messages API, whichever provider answers.

# %%
STORY = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."
TOOLS = [definition_to("anthropic", REFUND).value]


def talk(send, service, tools=TOOLS):
    """Run the conversation and return its messages."""
    messages = [{"role": "user", "content": STORY}]
    while True:
        reply = send(
            {"model": DEFAULT_MODEL, "max_tokens": 1024, "tools": tools, "messages": messages}
        )
        messages.append({"role": "assistant", "content": reply["content"]})
        if reply["stop_reason"] != "tool_use":
            return messages
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        messages.append({"role": "user", "content": [service.refund(call) for call in calls]})


# %% [markdown]
# ## The first interface: Anthropic Messages
#
# Nothing to convert. (The model behind the mock is the simulated one; it repeats fields of the result instead of writing
# a sentence.)


# %%
def by_messages(mock):
    client = mock.client()
    return lambda request: client.messages.create(**request).to_dict()


mock, service = MockProvider(), PaymentService()
messages = talk(by_messages(mock), service)
print(messages[-1]["content"][0]["text"])
print("paid:", service.paid)

# %% [markdown]
# ## The second: Chat Completions, by hand
#
# Here calls are part of the assistant's message, in `tool_calls`, with their inputs as a JSON *string*. Each result is
# a separate message with the role `tool`. So one of our messages may become several.


# %%
def chat_messages(message):
    """One message of ours, as the messages that Chat Completions wants."""
    if isinstance(message["content"], str):
        return [message]
    said, calls, results = None, [], []
    for block in message["content"]:
        if block["type"] == "text":
            said = block["text"]
        elif block["type"] == "tool_use":
            function = {"name": block["name"], "arguments": json.dumps(block["input"])}
            calls.append({"id": block["id"], "type": "function", "function": function})
        elif block["type"] == "tool_result":
            results.append(
                {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
            )
    if message["role"] == "user":
        return results
    turn = {"role": "assistant", "content": said}
    if calls:
        turn["tool_calls"] = calls
    return [turn]


# %% [markdown]
# And back: the text of each call's arguments becomes an object again. We set `stop_reason` by whether there are calls;
# you will see later why we do not use their `finish_reason`.


# %%
def message_from(completion):
    said = completion["choices"][0]["message"]
    content = []
    if said.get("content"):
        content.append({"type": "text", "text": said["content"]})
    calls = said.get("tool_calls") or []
    for call in calls:
        inputs = json.loads(call["function"]["arguments"])
        content.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["function"]["name"],
                "input": inputs,
            }
        )
    return {
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
    }


# %% [markdown]
# `send` is then three steps: convert, ask, convert back. `openai_client()` is a client of the real `openai` SDK, with the
# mock behind it: the same simulated model, but OpenAI's paths, rules and error texts.
#
# `definition_to` also takes a definition in Anthropic's shape, as in `tools`. And `model` still names a Claude: the
# mock accepts any name, a real endpoint wants one of its own models.


# %%
def by_hand(mock, convert=chat_messages):
    client = mock.openai_client()

    def send(request):
        messages = [new for message in request["messages"] for new in convert(message)]
        tools = [definition_to("openai_chat", one).value for one in request["tools"]]
        reply = client.chat.completions.create(
            model=request["model"], messages=messages, tools=tools
        )
        return message_from(reply.to_dict())

    return send


# %% [markdown]
# Does the refund go through?

# %%
mock, service = MockProvider(), PaymentService()
messages = talk(by_hand(mock), service)
print(messages[-1]["content"][0]["text"])
print("paid:", service.paid)

# %% [markdown]
# The same sentence, the same money. It looks ready to ship.
#
# ## A bad morning
#
# The payment service fails once. **Guess, for each interface:** how many attempts will there be, what will the model
# say at the end, and how much is paid? First only the words:

# %%
runs = {}
for name, interface in {"Messages": by_messages, "Chat, by hand": by_hand}.items():
    mock, service = MockProvider(), PaymentService(failures=1)
    said = talk(interface(mock), service)[-1]["content"][0]["text"]
    runs[name] = {"said": said, "service": service, "requests": mock.requests}
    print(f"{name:14} {said}")

print("the same answer:", runs["Messages"]["said"] == runs["Chat, by hand"]["said"])

# %% [markdown]
# They are identical. A test that compares final answers passes, and a person who reads them sees no difference. But
# what about the attempts and the money?

# %%
for name, run in runs.items():
    print(f"{name:14} attempts {run['service'].attempts}, paid {run['service'].paid}")

# %% [markdown]
# One customer has the money. The other was told so, but has nothing.

# %% tags=["quiz"]
quiz("11.2")

# %% [markdown]
# ## Golden traces: compare call by call
#
# A **golden trace** is a run, known to be right, kept with *every* step: what the model read that was new to it, what
# it called, why it stopped. Later runs are compared with it.
#
# `mock.requests` has every request as it went over the wire. `golden` reads them, whatever the shape, and writes them
# in ours. Ids differ in every run, so calls are numbered.

# %% tags=["item-11.3"]
from course_kit.evaluation.golden import GOLDENS, diff_golden, golden, load_golden

kept = golden(runs["Messages"]["requests"])
print(kept)

# %% [markdown]
# Three steps: a call; an error and a second call; a result and an answer. A diff names the fields of a step:
#
# | field | what it is | printed above as |
# |---|---|---|
# | `tools`, `choice`, `system` | what was sent along; definitions as a short digest | (not printed) |
# | `given` | the blocks that were new to the model | `reads` |
# | `calls`, `said`, `stop` | what it did | `call 1`, `says`, `stops` |
# | `echo` | its own last turn, if it was changed on its way back to the model | (not printed) |
#
# Now the run by hand, against it. **Read the first line before the others;** the rest follows from it.

# %%
by_hand_trace = golden(runs["Chat, by hand"]["requests"])
print(diff_golden(kept, by_hand_trace))

# %% [markdown]
# At step 2 the model was given a result. In the golden run `is_error` was true; here it is absent. So the model took
# the record of a failed payment as a receipt, did not try again, and said it was done.
#
# Go back to `chat_messages` and look at its line for `tool_result`: it takes `content`, and drops `is_error`. Chat
# Completions has no field for it. There was no error, because the request was legal.
#
# Note where the trace was taken: *after* the adapter. Inside your loop the flag was still there.
#
# Reading a diff is mostly reading its first line:
#
# | the first line is about | look at |
# |---|---|
# | `tools`, `choice`, `system` | what was sent along: a definition, a prompt was edited |
# | a flag, an id or a missing block in `given`, or `echo` | the adapter |
# | the text of a result in `given` | the tool's own log. If it returned this text: the tool, or its data. If not: the adapter |
# | `stop`, `calls` or `said`, and nothing read before it differs | the model |

# %% [markdown]
# ### Fix it
#
# In a shape without an error flag only the text can say it. This course puts the line `is_error: true` before it.


# %%
def fixed_messages(message, line="is_error: true\n"):
    if isinstance(message["content"], str):
        return [message]
    blocks = []
    for block in message["content"]:
        if block.get("is_error"):
            block = {**block, "content": line + block["content"]}
        blocks.append(block)
    return chat_messages({**message, "content": blocks})


mock, service = MockProvider(), PaymentService(failures=1)
talk(by_hand(mock, convert=fixed_messages), service)
print(diff_golden(kept, golden(mock.requests)), "| paid:", service.paid)

# %% [markdown]
# No difference. What does that prove? **Guess** what happens with a different line, one that any person would
# understand:


# %%
def worded_messages(message):
    return fixed_messages(message, line="ERROR: payment failed, nothing was paid. ")


mock, service = MockProvider(), PaymentService(failures=1)
talk(by_hand(mock, convert=worded_messages), service)
print("paid:", service.paid)
print("\n".join(str(one) for one in diff_golden(kept, golden(mock.requests)).differences[:3]))

# %% [markdown]
# No second attempt. The line `is_error: true` is a private agreement of this course: our adapters write it, and both
# the simulated model and `golden` read it as the flag. So "no difference" proves that our line arrives. It does not
# prove that a real model heeds it, or that a real model would miss the plain words; models are trained on words. Use
# both, line and words (lesson 04), and measure with your model (lesson 10).
#
# The first line of this diff is about a result's text. The tool's log would hold the record without the new words: so,
# by the table, look at the adapter.

# %% [markdown]
# ### The adapters of the package
#
# Ours is still a toy. Here are three messages that are legal in our shape. **Guess** what remains of each:

# %%
from course_kit import assistant, user

one = {"type": "text", "text": "One moment."}
two = {"type": "text", "text": "Where is it?"}
print(chat_messages(user([one])))
print(chat_messages(user([tool_result("call_1", "paid"), one])))
print(chat_messages(assistant([one, two])))

# %% [markdown]
# Lost without any error: a user's message, a user's words after a result, and the first of two texts. And `by_hand`
# sends neither `max_tokens` nor `tool_choice`, and treats a cut reply as complete.
#
# The package's adapters carry these: `openai_chat(client)` and `openai_responses(client)` are `send` functions, for
# this loop and for `run_agent`. What they cannot carry is listed in `lost`. Here is the third interface, and all five
# runs in one picture. **Guess** which of them leave the golden trace:

# %%
from course_kit import openai_chat, openai_responses
from course_kit.classroom.plots import plot_golden

INTERFACES = {
    "Messages": by_messages,
    "Chat, by hand": by_hand,
    "Chat, fixed": lambda mock: by_hand(mock, convert=fixed_messages),
    "Chat, package": lambda mock: openai_chat(mock.openai_client()),
    "Responses, package": lambda mock: openai_responses(mock.openai_client()),
}
diffs = {}
for name, interface in INTERFACES.items():
    mock = MockProvider()
    talk(interface(mock), PaymentService(failures=1))
    diffs[name] = diff_golden(kept, golden(mock.requests))
show(plot_golden(diffs))

# %% [markdown]
# ### Across versions, too
#
# `kept.save("refund.jsonl")` writes a file: a line about the run, then a line for each step. The course keeps some;
# this one was recorded on 30 November 2026. Compare today's code with it:

# %%
recorded = load_golden(GOLDENS / "bad_morning.jsonl")
print(recorded.about)
print(diff_golden(recorded, kept))

# %% [markdown]
# And when somebody edits the description? Its text is not in the trace, but a short digest of it is: a different text
# has a different digest.

# %%
edited = [{**TOOLS[0], "description": TOOLS[0]["description"].replace("Never more", "Not more")}]
mock = MockProvider()
talk(by_messages(mock), PaymentService(failures=1), tools=edited)
print(diff_golden(recorded, golden(mock.requests)))

# %% [markdown]
# The calls are the same this time, but every step used a different definition. So you know what to run again.
#
# A real model words its answers differently each time: `diff_golden(kept, now, ignore=("said",))` ignores the wording
# and compares what it read, what it called, and why it stopped. If the calls vary, too, one trace proves little; then
# count (lesson 10).

# %% tags=["quiz"]
quiz("11.3")

# %% [markdown]
# ## What differs
#
# The error flag is one of a dozen differences. You remember a difference best by running into it, so here you do. The
# whole table comes at the end of this section.
#
# `ASK` has the three interfaces (the SDKs' own methods), `BODY` one legal conversation in each shape: a question, a call,
# its result.

# %%
from course_kit import request_to, tool_use

mock = MockProvider()
anthropic_sdk, openai_sdk = mock.client(), mock.openai_client()
ASK = {
    "anthropic": anthropic_sdk.messages.create,
    "openai_chat": openai_sdk.chat.completions.create,
    "openai_responses": openai_sdk.responses.create,
}

wish = tool_use(
    "call_1",
    "refund_order",
    {"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged"},
)
history = [user(STORY), assistant([wish]), user([tool_result("call_1", "paid")])]
whole = {"model": DEFAULT_MODEL, "max_tokens": 1024, "tools": TOOLS, "messages": history}
BODY = {shape: request_to(shape, whole).value for shape in ASK}
for item in BODY["openai_responses"]["input"]:
    print(item)

# %% [markdown]
# That is the conversation as Responses gets it. (It can also keep one on the server, by `previous_response_id`; here all
# of it is sent, as with the others.) `probe` sends such a body with something changed and prints the answer.
# (OpenAI's words about pairing, unknown keys and strict schemas are as recorded or reported. The mock imitates its other
# messages: trust the status, not the sentence.)

# %%
from textwrap import shorten

import anthropic
import openai

REFUSALS = (anthropic.APIStatusError, openai.APIStatusError)


def probe(shape, **changes):
    body = BODY[shape] | changes
    try:
        ASK[shape](**body)
        print(f"{shape:17} 200")
    except REFUSALS as error:
        said = error.response.json()["error"]["message"]
        print(f"{shape:17} {error.status_code} {shorten(said, 280, placeholder=' …')}")


# %% [markdown]
# **Definitions.** Each gets a definition in another interface's shape.

# %%
flat, nested = BODY["openai_responses"]["tools"], BODY["openai_chat"]["tools"]
probe("anthropic", tools=nested)
probe("openai_chat", tools=flat)
probe("openai_responses", tools=nested)

# %% [markdown]
# **Order.** Somebody puts a user message between the call and its result. **Guess** which APIs refuse it:

# %%
between = {"role": "user", "content": "Well?"}
KEY = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input"}
for shape, key in KEY.items():
    asked, called, answered = BODY[shape][key]
    probe(shape, **{key: [asked, called, between, answered]})

# %% [markdown]
# The others want the result at once. Responses pairs calls and outputs by id wherever they are: this is reported, not
# documented, and servers that copy the interface may be stricter.
#
# **Ids.** A call of Responses has *two* ids, its own and the one that pairs it:

# %%
reply = ASK["openai_responses"](model=DEFAULT_MODEL, input=STORY, tools=flat)
[item] = reply.output
print(item.type)
print("id      ", item.id)
print("call_id ", item.call_id)

# %% [markdown]
# One program answers with the wrong id; another has the right id, but has lost the call:

# %%
answer = {"type": "function_call_output", "call_id": item.call_id, "output": "paid"}
probe("openai_responses", input=[user(STORY), item.to_dict(), answer | {"call_id": item.id}])
probe("openai_responses", input=[user(STORY), answer])

# %% [markdown]
# The wrong id is both mistakes at once: a call without output, and an output without call. Which text it gets is
# uncertain; look for both. Neither mentions "tool_result blocks", as Anthropic's does: code that looks for those words
# finds nothing here.
#
# **Inputs.** Messages has an object, OpenAI a string of JSON, which can be broken: send what does not parse back as an
# error (lesson 04).
#
# **Switches.** Both have a switch against parallel calls, and one that demands a call. Whose is whose? **Guess** which of
# these four requests are refused. (`extra_body` sends a field that the SDK does not know.)

# %%
probe("anthropic", extra_body={"parallel_tool_calls": False})
probe("openai_chat", parallel_tool_calls=False)
probe("openai_chat", extra_body={"disable_parallel_tool_use": True})
probe("openai_chat", tool_choice={"type": "any"})

# %% [markdown]
# OpenAI's parallel switch is a field of the request, Anthropic's is inside `tool_choice`; and Anthropic's `any` is
# OpenAI's `required`.
#
# **Strict.** Each provider accepts its own subset of JSON Schema (lesson 03). This strict definition has a `minimum` and
# an optional `note`. **Guess** what each of them says:

# %%
schema = REFUND.input_schema
noted = {**schema, "properties": {**schema["properties"], "note": {"type": "string"}}}
strict = Definition("refund_order", REFUND.description, noted, strict=True)
for shape in ASK:
    probe(shape, tools=[definition_to(shape, strict).value])

# %% [markdown]
# One definition fails everywhere, for different reasons: Anthropic refuses `minimum`; OpenAI takes it, but wants every
# input in `required`.
#
# ### Loud and silent differences
#
# The refusals above were *loud*: a 400 at the first try, in development. The error flag was *silent*. So is the **stop
# signal**. Here are three replies, each with a call in it; the second was told by name which function to call. What
# would a loop do if it waits for a special word?

# %%
named = {"type": "function", "function": {"name": "refund_order"}}
told = {"model": DEFAULT_MODEL, "messages": [user(STORY)], "tools": nested}
for choice in ("auto", named):
    answer = ASK["openai_chat"](**told, tool_choice=choice).choices[0]
    print("chat      ", answer.finish_reason, "| calls:", len(answer.message.tool_calls))
print("responses ", reply.status, "| items:", [item.type for item in reply.output])

# %% [markdown]
# `stop` and `completed` sound like the end, but each comes with a call that is still unanswered. Responses has no word
# for "now run the tools". Chat has one and leaves it out where `tool_choice` names a function (OpenAI's staff in 2024,
# tests with gpt-4o in 2025; for newer models it is uncertain). Gemini, too, can say `STOP` with a call.
#
# So "read the stop reason first" is a rule for Messages. Elsewhere see whether the reply was cut (`length`, `incomplete`;
# our `message_from` forgets that), then look for calls.
#
# A third silent difference is a **forgotten switch**. `by_hand` drops `tool_choice`, and `disable_parallel_tool_use` with
# it; its request is legal all the same.
#
# Loud differences cost an hour. Silent ones cost money; golden traces find them.
#
# Here are all differences between the three interfaces in one table, printed from the data used to test the package's
# adapters. (Gemini's and MCP's columns: `differences_table("gemini", "mcp")`.)

# %% tags=["item-11.2"]
from IPython.display import Markdown

from course_kit import differences_table

Markdown(differences_table("anthropic", "openai_chat", "openai_responses"))

# %% [markdown]
# Tutorials that say role `tool` or `finish_reason` are about Chat Completions. "As reported" means: not in the
# documentation, but seen by others; the mock behaves that way.

# %% tags=["quiz"]
quiz("11.4")

# %% [markdown]
# ## One form for every provider's failures
#
# Providers use different words for the same failure, and the words may change any day; status, code and flags are meant
# for programs. `api_error` reads only those and returns the course's `ToolError`, with a `code` and whether to try
# again. Here both SDKs meet the same overload. Do they report the same status?

# %%
from course_kit import api_error
from course_kit.mock import faults

busy = MockProvider(faults=faults.status(529))
for shape, sdk in {
    "anthropic": busy.client(max_retries=0),
    "openai_chat": busy.openai_client(max_retries=0),
}.items():
    try:
        by_sdk = sdk.messages if shape == "anthropic" else sdk.chat.completions
        by_sdk.create(**BODY[shape])
    except REFUSALS as error:
        ours = api_error(shape, error.status_code, error.response.json())
        print(f"{shape:12} {type(error).__name__} {error.status_code}", end=" → ")
        print(f"{ours.code}, retryable: {ours.retryable}")

# %% [markdown]
# 529 is Anthropic's own status; for OpenAI the mock says 503. Both become `OVERLOADED`.

# %% tags=["quiz"]
quiz("11.5")

# %% [markdown]
# ## Appendix: tools from an MCP server
#
# MCP is not an interface to a model. It is how an application asks a server for tools and calls them; to the model, an
# MCP tool is one more entry in `tools` ([lesson 07](07_tool_search.ipynb)). Here is a server in this process. (If `mcp`
# is missing: `pip install 'course-kit[mcp]'`.)

# %%
from mcp.server.mcpserver import MCPServer

server = MCPServer("payment-service", log_level="CRITICAL")


@server.tool(description="Refund a broken order. Use when the user asks for money back.")
def refund(order_id: str, amount_cents: int) -> str:
    if amount_cents > 1999:
        raise ValueError("more than was paid")
    return "paid"


# %% [markdown]
# A call can fail in two ways there: with a *result* whose `isError` is true, or with a *protocol error*, which raises an
# exception in the client ([lesson 04](04_errors.ipynb)). Here: too much money, and a tool that does not exist. (An MCP
# client is asynchronous; in a notebook `await` works directly.)

# %%
import mcp

too_much = {"order_id": "ORD-20260917", "amount_cents": 90_000}
async with mcp.Client(server) as client:
    for name in ("refund", "refnd"):
        answer = await client.call_tool(name, too_much)
        print(f"{name:7} isError: {answer.is_error} | {answer.content[0].text}")

# %% [markdown]
# Both are results, although the specification makes an unknown tool a protocol error: that is how this server does it
# (mcp 2.3.0), and others follow the specification. A client has to be ready for both. (The server does not pass on the
# text of our `ValueError`.)
#
# `isError` is MCP's `is_error`. If you convert a result without it, you repeat this lesson's mistake.
# `open_mcp(server)` gives a server's tools to `run_agent`: it carries the flag, turns protocol errors into `ToolError`,
# and renames what is legal only in MCP, such as a dot. You set `effect` and approval, whatever the annotations say.

# %% [markdown]
# ## Appendix: one conversation in every shape
#
# Here is the conversation of the bad morning in four shapes, to step through. `≠` marks what differs. Choose two shapes
# and compare; step 4 is the failed result. (Without a mouse: `print(view.step(4, "anthropic", "openai_responses"))`.)

# %% tags=["item-11.4"]
from course_kit.classroom.side_by_side import side_by_side

view = side_by_side(talk(by_messages(MockProvider()), PaymentService(failures=1)), tools=TOOLS)
view

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `Missing required parameter: 'tools[0].function'` | A flat definition went to Chat Completions: wrap it in `function`. |
# | 400 `must be followed by tool messages responding to each 'tool_call_id'` | Chat Completions: one `tool` message per call, right after the calls. |
# | 400 `messages with role 'tool' must be a response to a preceeding message` | The assistant's message with `tool_calls` was left out. (The spelling is the API's.) |
# | 400 `No tool output found for function call …` | Responses: an output is missing, or carries the item's `id` instead of `call_id`. |
# | 400 `No tool call found for function call output with call_id …` | Responses: the call was cut out of the history, or the wrong id again. |
# | 400 `parallel_tool_calls: Extra inputs are not permitted` | That is the other provider's switch: `disable_parallel_tool_use`, inside `tool_choice`. |
# | 400 `'required' is required … Missing 'note'` | OpenAI's strict mode: every input required, optional ones nullable. The package's adapters see to it. |
# | 400 `Unexpected role "tool"` | Chat Completions' messages went to Messages: results are the user's there. |
# | the agent stops with a call unanswered | Look for calls, not for a stop word: Responses, Gemini, and Chat with a named `tool_choice`. |
# | an error is reported as a success | The flag was lost. Compare with a golden trace taken after the adapter. |
# | it works on one provider and picks other tools on the next | Not the adapter: the model. Measure (lesson 10), then the descriptions (lesson 02). |
#
# ## The same on the live API
#
# If you have switched live on (lesson 00), this compares a real Anthropic model with the golden trace. Its words are
# left out of the comparison; its calls are not. `watched` records what is sent, as the mock does automatically.

# %% tags=["live"]
import copy

from course_kit import announce, connect

announce(tokens=6_000)
client, seen = connect(), []


def watched(request):
    reply = client.messages.create(**request).to_dict()
    sent = {"path": "/v1/messages", "body": copy.deepcopy(request)}
    seen.append({"request": sent, "response": {"status": 200, "body": reply}})
    return reply


talk(watched, PaymentService(failures=1))
print(diff_golden(recorded, golden(seen), ignore=("said",)))

# %% [markdown]
# ## Practice
#
# [Exercises 11](../exercises/11_providers.ipynb): write an adapter that loses nothing, find the field that was lost,
# and read a golden diff.
#
# ## Recap
#
# Define a tool once; convert it for each provider, and know what stays on your side. Between Messages, Chat Completions
# and Responses the field names change, and so do the order rules, the strict subset, the error flag and the stop
# signal. Most differences cause a 400. Three that you met are silent: the lost flag, the stop signal, a forgotten
# switch. The final answer shows none of them. A golden trace, taken after the adapter and compared call by call, shows
# where a run diverges; read the first line of the diff. It shows only what the fixture exercises.
#
# New words: *adapter*, *canonical definition*, *golden trace*, *MCP*, *shape*. They are in the
# [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **What changes with the provider?** More than field names. Order rules differ: results at once with Anthropic, one
# > message per call in Chat, paired by `call_id` in Responses. OpenAI has no error flag, its stop word does not always
# > come, and each accepts its own strict subset. So my tools have one canonical definition, an adapter for each
# > interface says what it loses, and golden traces, compared call by call, show the first call at which a run changed.
#
# Two answers you will hear:
#
# - *"The field names; an adapter is an hour's work."* It is, for the differences that answer with a 400. The lost error
#   flag gives you a friendly sentence.
# - *"We ran it on both, and the answers agreed."* So did the two in this lesson. One of them had paid nothing.
#
# Next comes debugging in production ([lesson 12](12_debugging.ipynb)), where a trace is all you have.
