# %% [markdown]
# # Glossary and index of complaints
#
# The words of the course, in English and Chinese, and for each complaint of the API the lesson that explains it.
#
# ## Words
#
# | word | 中文 | what it is | lesson |
# |---|---|---|---|
# | ablation | 消融实验 | taking one part away to see what it is for | 13 |
# | adapter | 适配器 | turns one provider's shape into another's and back, and says what it loses | 11 |
# | agent | 智能体 | a model that may ask for tool calls, and the program that runs them | 00 |
# | approval | 人工批准 | a person's decision about one call: allow, deny or edit; no answer counts as deny | 06 |
# | approver | 审批者 | the function that says whether a call may run; it asks a person, or stands in for one | 06 |
# | attempt | 尝试次数 | one try of a call, the first included; two retries are three attempts | 09 |
# | audit log | 审计日志 | who was asked what, who decided, when it ran; rows are added, never changed | 06 |
# | auto-repair | 自动修复 | correcting an input without asking: only what is on a list, logged, and unambiguous | 12 |
# | barrier | 屏障 | a call that begins when all before it are done, and ends before any after it begins | 05 |
# | baseline | 基线 | what a change is compared with: same cases, same model, all but the one change | 10 |
# | batch | 批处理 | calls that run at the same time; with a provider, many requests sent as one at a lower price | 05, 10 |
# | began | 已开始 | the harness has started to run a call; how often, and how often it ended, a trace tells apart | 09, 12 |
# | block, content block | 内容块 | a piece of a message: text, a call, a result, thinking | 01 |
# | BM25 | BM25 检索算法 | ranks by shared words: the fewer tools have a word, the more it counts | 07 |
# | bootstrap | 自助法 | draw cases again from your own, with repetition, to see how much a figure moves | 10 |
# | boundary | 边界 | the part of a description that says what a tool is *not* for, and which neighbour is | 02 |
# | budget | 结果预算 | the most characters a tool's result may take; set in advance, with the tool | 08 |
# | call, `tool_use` | 工具调用 | the model's request that a tool be run: `id`, `name`, `input` | 01 |
# | canonical definition | 规范定义 | a tool as you define it, once, including what no provider's shape has room for | 11 |
# | case | 用例 | what is said to an agent, and what must have happened afterwards | 10 |
# | check, then act | 先检查后执行 | two steps between which somebody else can act; can cause a double refund | 05 |
# | closing instruction | 收尾指令 | tells a stuck model once to sum up, or to say what is missing | 09 |
# | compensate | 补偿 | undo with a second write what a first one did | 06 |
# | confusion matrix | 混淆矩阵 | which tool was meant against which was called, with a row and a column for no call | 10 |
# | constrained sampling | 受限采样 | writing token by token, with every token masked that the grammar does not allow | 03 |
# | context window | 上下文窗口 | the most that a model can read for one reply | 08 |
# | contract test | 契约测试 | one input to a tool, without a model: what comes back, and what changed | 10 |
# | cursor | 游标 | says where to read on; sent back as it came | 08 |
# | deferred tool, `defer_loading` | 延迟加载工具 | is sent but not seen by the model, until a reference brings it in | 07 |
# | digest | 摘要值 | a short number computed from an input: shows whether two inputs are equal; where few are possible, it can be guessed | 12 |
# | dilution | 稀释 | the task gets lost among thousands of tokens about other things | 07 |
# | drift watch | 漂移监测 | `course doctor --api`: what the installed SDKs know and the course's rules do not, or the reverse | 00 |
# | embedding | 嵌入向量 | a text as numbers; close numbers mean close meaning, across languages too | 07 |
# | envelope | 统一信封 | one form for every result: `ok`, `data`, `meta` | 08 |
# | error text | 错误文本 | what the model reads about a failure: where, what was wanted, what came, what to try | 04 |
# | fall-back | 回退方案 | what you do when a schema is refused: simplify, or go on without strict and check more | 03 |
# | fixture | 固定用例 | a kept request, call or result that tests run again | 02, 11, 12 |
# | gate | 审批关卡 | the one place where a call that asks waits for its decision | 06 |
# | gateway | 网关 | sits between tools and application, and trims the list by tenant first | 07 |
# | golden trace | 黄金轨迹 | a run known to be right, kept step by step; later runs are compared with it call by call | 11 |
# | grammar | 语法约束 | a schema as rules for which token may come next | 03 |
# | guard | 护栏 | anything that keeps a mistake from doing damage; proven once a case fails without it | 06, 13 |
# | head and tail | 首尾截断 | a cut of text that keeps its start and its end, with a mark between | 08 |
# | honest cut | 明示截断 | a cut that says `total`, `returned`, `truncated` and how to get the rest | 08 |
# | idempotency key | 幂等键 | a name for one intended action: the same name again gets the first result, and nothing more is done | 05, 06, 09 |
# | idempotent | 幂等 | doing it twice has the same effect as doing it once | 09 |
# | `input` | 输入参数 | what the model wants the tool to be given; an object | 01 |
# | `input_schema` | 输入模式 | the JSON Schema that describes the inputs | 01, 02 |
# | interval | 置信区间 | where a share would probably lie with many more cases like these | 02 |
# | `is_error` | 错误标记 | says that a result reports a failure | 01, 04 |
# | job | 任务 | all that an agent is given for one customer: what is said, for whom, and the means | 13 |
# | JSON outputs | JSON 输出 | `output_config.format`: an answer, not a call, that is held to a schema | 03 |
# | keyed hash, HMAC | 带密钥的哈希 | a digest that only the holder of the key can make, so that guessing inputs does not help | 12 |
# | lax mode | 宽松模式 | a check that converts what it can: `"5"` passes as 5, unseen | 04 |
# | layer | 层次 | where along the way a trial failed: selection, input, execution, recovery | 10, 12 |
# | limit | 并发上限 | how many calls of a turn may run at the same time | 05 |
# | lines of defence | 三道防线 | shape, your own check, business rules: each catches what the one before lets through | 03 |
# | linter | 检查器 | reads definitions and says what is missing, without any model | 02 |
# | live | 实时模式 | against the real API, when you have switched it on | 00 |
# | lock | 锁 | lets one in and makes the others wait, so that check and act are one step | 05 |
# | loop | 循环 | ask, run, answer, ask again | 01 |
# | lost update | 更新丢失 | two read, both write, and what the first wrote is gone | 05 |
# | mask | 掩码 | removes the tokens that may not come next | 03 |
# | masking | 脱敏 | personal data and secrets replaced by marks before the model reads them | 08 |
# | MCP | 模型上下文协议 | how an application asks a server for tools and calls them; no interface to a model | 07, 11 |
# | mock provider | 模拟服务端 | stands in for the API: same requests, same complaints, same stream | 00 |
# | near match | 近似匹配 | what was probably meant, given in the error: there is no `app.ts`, there is `App.tsx` | 04 |
# | network exit | 外发通道 | any tool that carries text to an address which a stranger may choose, reading included | 06 |
# | noise | 噪声 | a difference that other cases of the same kind might reverse | 10 |
# | `obeyed` | 听从注入 | the share of hostile trials in which the model tried what a stranger's text said | 10 |
# | operator | 运维方 | whoever runs the program: the only one who can fix a refused key or a dead database | 04 |
# | outcome unknown | 结果未知 | begun and never reported, so neither done nor failed; look before writing again | 09 |
# | overreach | 越权操作 | something was changed that nobody asked to change | 10 |
# | pairing | 配对 | which result belongs to which call: by id, never by place or by who finished first | 05 |
# | parallel calls | 并行调用 | several calls in one reply; how they are run is your decision | 05 |
# | pass@k | 至少一次通过率 | the chance that at least one of k trials passes | 10 |
# | pass^k | 全部通过率 | the chance that all of k trials pass; for what cannot be undone | 10 |
# | poka-yoke | 防错设计 | designed so that the mistake cannot be made | 02 |
# | preview and commit | 预览再提交 | one tool says what would happen and gives a token, another does exactly that | 06 |
# | prompt cache | 提示缓存 | lets the provider keep the beginning of a prompt for a while | 01, 07 |
# | prompt injection | 提示注入 | an instruction in a result, written by a stranger for the model to follow | 06 |
# | protocol error | 协议错误 | with MCP, an error for the program and not for the model: no result comes back | 04, 11 |
# | provider | 服务提供方 | who runs the model and its API | 00 |
# | quota | 配额 | how much a service takes at a time or in a while; it belongs to the service, not to a turn | 05 |
# | recall@5 | 前五召回率 | the share of requests with a right tool among the first five found | 07 |
# | reciprocal rank | 倒数排名 | joins rankings: a tool gets points for its place in each | 07 |
# | recovery | 错误恢复 | a refused call that the model puts right after reading the error | 04 |
# | reference | 引用 | a short name for a large object that is kept elsewhere and read in parts | 08 |
# | regression | 回归 | something that always passed and does not now | 10 |
# | release | 发布版本 | all that can change between two deployments: model, tools, `tool_choice`, messages | 12 |
# | relevance | 相关度 | how well a request and a tool's words fit, for the simulated model | 02 |
# | result, `tool_result` | 工具结果 | the answer to one call, tied to it by `tool_use_id` | 01 |
# | retry cap | 重试上限 | in how many turns a tool may fail before the run ends | 04 |
# | retryable | 可重试 | the same call may succeed later; a promise by the author of the error | 04 |
# | rival | 竞争工具 | another visible tool that could take the call | 07 |
# | round | 批次 | calls that run at the same time: N calls with a limit take N / limit rounds, rounded up; later, a message with calls and the one with their results | 05, 08, 09 |
# | round trip | 往返 | request, reply with a call, run, request with the result, reply | 01 |
# | seed | 随机种子 | a number that decides what chance does: same seed, same answer | 02 |
# | selection accuracy | 选择准确率 | the share of right picks among tools | 02 |
# | settle | 全部落定 | wait until every call has finished, well or badly, before reporting anything; in lesson 09, tell the store what a look has found | 05, 09 |
# | shape | 接口形状 | how one interface writes definitions, calls, results and endings | 11 |
# | silent cut | 静默截断 | a cut without a mark, so that a part looks like the whole | 08 |
# | simulated | 仿真 | comes from the course's readable rules, not from a language model | 00 |
# | single-variable experiment | 单变量实验 | the same question and seeds, and one thing changed | 02, 12 |
# | span | 跨度 | one piece of work in a collected trace, with a name, a duration and attributes | 12 |
# | stage | 阶段 | a part of a suite: cases about one kind of danger, looked at separately | 13 |
# | stall | 停滞 | the same call with the same answer, several times in a row | 04, 09 |
# | step | 步骤 | one question to the model, with the calls that its reply led to | 12 |
# | `stop_reason` | 停止原因 | why the model ended its turn; the first thing to read | 01 |
# | streaming | 流式传输 | the same message in pieces, as it is written | 01 |
# | strict, `strict: true` | 严格模式 | a call's input is forced into the schema's shape while it is written | 03 |
# | suite | 测试套件 | the cases that one agent is judged by, each run several times | 13 |
# | thinking block | 思考块 | what some models write before they answer; signed, goes back unchanged | 01 |
# | time to first token | 首词元延迟 | from sending a request until its reply begins; most of it is reading the prompt | 07 |
# | token | 词元 | the unit in which text is read, written and billed | 01 |
# | token meter | 词元计量器 | runs a conversation under several strategies: tokens by turn, answers lost | 08 |
# | tool search | 工具搜索 | the model looks for tools itself, among those that are deferred | 07 |
# | tool, tool definition | 工具、工具定义 | name, description and `input_schema`: all the model knows of a function | 01, 02 |
# | `tool_choice` | 工具选择 | whether the model may, must or must not call | 01 |
# | `tool_reference` | 工具引用 | names a deferred tool in a result, and so brings it in | 07 |
# | tools hash, `tools_hash` | 工具指纹 | stands for the definitions that a model was shown: a word or the order changes it | 12 |
# | trace | 轨迹 | the record of a run: what was seen, decided and run, and why it stopped | 12 |
# | trial | 试验 | one run of a case, in a fresh world with its own seed | 10 |
# | turn | 轮次 | one message of the list: what one side says before the other replies | 01 |
# | unbiased | 无偏 | right on average, over everything the trials might have brought | 10 |
# | way out | 出路 | what lets a model say that it does not know: a question, an optional field | 03 |
#
# ## Complaints
#
# For every rule that the mock checks, here is one complaint, by lesson, in the API's words (the path at its beginning
# says where: yours will differ). Search this page for a few words of your complaint. After it comes how sure the course
# is of the rule, as of November 2026: read in the SDK, stated in the docs, recorded, reported or probed by others, or
# uncertain. A few texts of the API are not known; the rule then says so.

# %% tags=["setup"]
from textwrap import shorten

from IPython.display import Markdown

from course_kit import RULES
from course_kit.contract.examples import refusal_of
from course_kit.mock.report import lesson_of

# %%
lines = []
for lesson in sorted({lesson_of(rule) for rule in RULES}):
    lines.append(f"\n**Lesson {lesson}**\n")
    for id, rule in RULES.items():
        if lesson_of(id) == lesson:
            complaint = shorten(refusal_of(id), 160, placeholder=" …")
            says = rule.says.replace("$ref", "`$ref`")  # a bare $ would begin a formula
            lines.append(f"- `` {complaint} `` \\\n  {says} ({rule.certainty})")
Markdown("\n".join(lines))

# %% [markdown]
# ## Complaints of OpenAI's interfaces
#
# Those that lesson 11 meets. The texts about pairing, unknown keys and strict schemas are as recorded or reported; the
# mock imitates the others.
#
# | complaint | lesson |
# |---|---|
# | `Missing required parameter: 'tools[0].function'`, `'tools[0].name'` | 11 |
# | `Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string` | 11 |
# | `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'` | 11 |
# | `messages with role 'tool' must be a response to a preceeding message with 'tool_calls'` | 11 |
# | `No tool output found for function call …` | 11 |
# | `No tool call found for function call output with call_id …` | 11 |
# | `Unrecognized request argument supplied: …`, `Unknown parameter: …` | 11 |
# | `'required' is required to be supplied and to be an array including every key in properties` | 03, 11 |
# | `Invalid JSON schema: regex lookaround is not supported. Found at $.…pattern` | 03, 11 |
# | `array schema missing items`, `$ref cannot have keywords {…}` | 03, 11 |
# | `reference to component '#/$defs/…' which was not found in the schema` | 03, 11 |
# | `Invalid value: 'any'.` (of `tool_choice`) | 11 |
