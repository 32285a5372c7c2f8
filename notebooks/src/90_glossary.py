# %% [markdown]
# # Glossary and index of complaints
#
# The words of the course, in English and Chinese, and for each complaint of the API the lesson that explains it.
#
# ## Words
#
# | word | 中文 | what it is | lesson |
# |---|---|---|---|
# | agent | 智能体 | a model that may ask for tool calls, and the program that runs them | 00 |
# | block, content block | 内容块 | a piece of a message: text, a call, a result, thinking | 01 |
# | call, `tool_use` | 工具调用 | the model's request that a tool be run: `id`, `name`, `input` | 01 |
# | `input` | 输入参数 | what the model wants the tool to be given; an object | 01 |
# | `input_schema` | 输入模式 | the JSON Schema that describes the inputs | 01, 02 |
# | `is_error` | 错误标记 | says that a result reports a failure | 01, 04 |
# | live | 实时模式 | against the real API, when you have switched it on | 00 |
# | loop | 循环 | ask, run, answer, ask again | 01 |
# | mock provider | 模拟服务端 | stands in for the API: same requests, same complaints, same stream | 00 |
# | prompt cache | 提示缓存 | lets the provider keep the beginning of a prompt for a while | 01, 07 |
# | provider | 服务提供方 | who runs the model and its API | 00 |
# | result, `tool_result` | 工具结果 | the answer to one call, tied to it by `tool_use_id` | 01 |
# | round trip | 往返 | request, reply with a call, run, request with the result, reply | 01 |
# | simulated | 仿真 | comes from the course's readable rules, not from a language model | 00 |
# | `stop_reason` | 停止原因 | why the model ended its turn; the first thing to read | 01 |
# | streaming | 流式传输 | the same message in pieces, as it is written | 01 |
# | thinking block | 思考块 | what some models write before they answer; signed, goes back unchanged | 01 |
# | token | 词元 | the unit in which text is read, written and billed | 01 |
# | tool, tool definition | 工具、工具定义 | name, description and `input_schema`: all the model knows of a function | 01, 02 |
# | `tool_choice` | 工具选择 | may the model call, must it, must it not | 01 |
# | turn | 轮次 | what one side says until the other has its say | 01 |
#
# ## Complaints
#
# For every rule that the mock checks one complaint, by lesson, in the API's words (the path at its beginning tells where:
# yours will be another). Search this page for a few of the words that you were given. Behind it stands how sure the
# course is of the rule, as of November 2026: read in the SDK, stated in the docs, recorded, reported by several people, or
# uncertain. A few texts of the API are not known; the rule then says so.

# %% tags=["setup"]
from course_kit import RULES
from course_kit.contract.examples import refusal_of
from course_kit.mock.report import lesson_of

# %%
for lesson in sorted({lesson_of(rule) for rule in RULES}):
    print(f"Lesson {lesson}\n")
    for id, rule in RULES.items():
        if lesson_of(id) == lesson:
            print(f"    {refusal_of(id)[:160]}\n        {rule.says} ({rule.certainty})\n")
