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
# | boundary | 边界 | the part of a description that says what a tool is *not* for, and which neighbour is | 02 |
# | call, `tool_use` | 工具调用 | the model's request that a tool be run: `id`, `name`, `input` | 01 |
# | constrained sampling | 受限采样 | writing token by token, with every token masked that the grammar does not allow | 03 |
# | error text | 错误文本 | what the model reads about a failure: where, what was wanted, what came, what to try | 04 |
# | fall-back | 回退方案 | what you do when a schema is refused: simplify, or go on without strict and check more | 03 |
# | fixture | 固定用例 | a kept request, call or result that tests run again | 02 |
# | grammar | 语法约束 | a schema as rules for which token may come next | 03 |
# | `input` | 输入参数 | what the model wants the tool to be given; an object | 01 |
# | `input_schema` | 输入模式 | the JSON Schema that describes the inputs | 01, 02 |
# | interval | 置信区间 | where a share would probably lie with many more cases like these | 02 |
# | `is_error` | 错误标记 | says that a result reports a failure | 01, 04 |
# | JSON outputs | JSON 输出 | `output_config.format`: an answer, not a call, that is held to a schema | 03 |
# | lax mode | 宽松模式 | a check that converts what it can: `"5"` passes as 5, unseen | 04 |
# | lines of defence | 三道防线 | shape, your own check, business rules: each catches what the one before lets through | 03 |
# | linter | 检查器 | reads definitions and says what is missing, without any model | 02 |
# | live | 实时模式 | against the real API, when you have switched it on | 00 |
# | loop | 循环 | ask, run, answer, ask again | 01 |
# | mask | 掩码 | takes the tokens away that may not come next | 03 |
# | mock provider | 模拟服务端 | stands in for the API: same requests, same complaints, same stream | 00 |
# | near match | 近似匹配 | what was probably meant, told in the error: there is no `app.ts`, there is `App.tsx` | 04 |
# | operator | 运维方 | who runs the program: the only one who can mend a refused key or a dead database | 04 |
# | poka-yoke | 防错设计 | shaped so that the mistake cannot be made | 02 |
# | prompt cache | 提示缓存 | lets the provider keep the beginning of a prompt for a while | 01, 07 |
# | provider | 服务提供方 | who runs the model and its API | 00 |
# | recovery | 错误恢复 | a refused call that the model puts right after reading the error | 04 |
# | relevance | 相关度 | how well a request and a tool's words fit, for the simulated model | 02 |
# | result, `tool_result` | 工具结果 | the answer to one call, tied to it by `tool_use_id` | 01 |
# | retry cap | 重试上限 | in how many turns a tool may fail before the run ends | 04 |
# | retryable | 可重试 | the same call may succeed later; a promise of whoever writes the error | 04 |
# | round trip | 往返 | request, reply with a call, run, request with the result, reply | 01 |
# | seed | 随机种子 | a number that decides what chance does: same seed, same answer | 02 |
# | selection accuracy | 选择准确率 | the share of right picks among tools | 02 |
# | simulated | 仿真 | comes from the course's readable rules, not from a language model | 00 |
# | stall | 停滞 | the same call with the same answer, several times running | 04, 09 |
# | `stop_reason` | 停止原因 | why the model ended its turn; the first thing to read | 01 |
# | streaming | 流式传输 | the same message in pieces, as it is written | 01 |
# | strict, `strict: true` | 严格模式 | the reply is held to the schema's shape while it is written | 03 |
# | thinking block | 思考块 | what some models write before they answer; signed, goes back unchanged | 01 |
# | token | 词元 | the unit in which text is read, written and billed | 01 |
# | tool, tool definition | 工具、工具定义 | name, description and `input_schema`: all the model knows of a function | 01, 02 |
# | `tool_choice` | 工具选择 | may the model call, must it, must it not | 01 |
# | turn | 轮次 | what one side says until the other has its say | 01 |
# | way out | 出路 | what lets a model say that it does not know: a question, an optional field | 03 |
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
