"""The words by which the linter reads names and descriptions: verbs, quantities, units, turns of phrase.

All of it is data, in English and Chinese. A pattern is wide where it makes a rule silent and narrow where it makes one
speak: a linter that cries wolf is not used. The rules are next door, in `lint_texts.py` and `lint_inputs.py`.
"""

import re
from typing import NamedTuple

from .strict import FORMATS

__all__ = ["BOUNDARY", "CHECKED_FORMATS", "CHOICES", "CLASS_OF", "DATE_FORM", "DATE_WORDS", "DEFAULT", "EFFECTS"]
__all__ += ["EXAMPLE", "FEW_VALUES", "FIRST", "KNOWN_FROM", "LIMITS", "MOST", "NOTHING_FOUND", "NOUNS_TOO", "NO_DATE"]
__all__ += ["NO_QUANTITY", "NUMBERS", "OFFSETS", "QUANTITY_OF", "Quantity", "REQUIRED", "RETURNS", "SAYS_NOTHING"]
__all__ += ["UNIT", "UNIT_IN_NAME", "VERBS", "WHEN"]


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# Verbs. Two tools whose verbs are of one class may be taken for each other.

READ = (
    "search find list get query read fetch retrieve lookup look check show view describe track grep browse see".split()
)
WRITE = {
    "create": "create add insert new make register generate build",
    "update": "update edit modify set change patch upsert rename write overwrite replace assign",
    "delete": "delete remove cancel clear archive purge erase revoke",
    "send": "send notify post reply message email publish submit share",
    "move": "move copy transfer merge import export sync migrate restore",
    "pay": "refund pay charge book order buy purchase reserve reimburse withdraw deposit",
    "run": "execute deploy install start stop restart kill scale cordon drain trigger rerun",
}
CLASS_OF = dict.fromkeys(READ, "read") | {verb: kind for kind, verbs in WRITE.items() for verb in verbs.split()}
VERBS = frozenset(CLASS_OF) | frozenset(
    """accept access activate adjust aggregate allow analyse analyze answer append apply approve ask attach authenticate
    authorise authorize await begin block calc calculate call capture cat cd chat choose classify click close
    comment compare complete compress compute concat configure confirm connect convert count cp deactivate debug
    decline decode decrypt detect diff disable disconnect dismiss dispatch divide download drag drop du echo
    enable encode encrypt end enter escalate estimate evaluate exec explain extract fill filter flip follow format
    forward fund geocode give go greet group gzip handle handover hash head help hover identify index inspect
    invite join judge launch learn leave load locate lock log login logout ls manage map mark match measure
    mention mix mkdir multiply mute mv navigate open pause perform pin ping place plan play predict press preview
    print process provide pull push pwd quit rank rate react recall recommend record refresh reject release reload
    remember report request reschedule reset resize resolve resume retry return retweet review rm rmdir rollback
    rollout round route run sample save say scan schedule scrape screenshot select sign simulate snapshot solve
    sort split store subscribe subtract suggest sum summarise summarize swap switch tail tell test think toggle
    toss touch transcribe translate type unassign undo unfollow unlock unpin unsubscribe upload use validate
    verify visit wait watch wc zip""".split()
)
# Verbs that are nouns as well: `order_info` has no verb in it, `order_pizza` has.
NOUNS_TOO = frozenset(
    """book charge email group index issue label map message order plan record report request route sample schedule
    snapshot store type""".split()
)
# Words that leave a name as empty as it was: `search_data`, `process`, `update_record`.
SAYS_NOTHING = (frozenset(READ) - {"grep", "track", "browse"}) | frozenset(
    """all any anything api call change create data delete detail details do edit entities entity execute general
    generic handle info information input invoke item items load main make manage misc modify object objects operate
    output perform process record records request response result results run save send set something stuff thing
    things update use value values work write""".split()
)

# What answers to the five questions look like.

WHEN = _either(
    r"\b(?:use|call|choose|prefer|pick) (?:this|it|when|if|for|to|only|after|before|instead)\b",
    r"\bwhen(?:ever)?\b|\bif\b|\bfor (?:questions|users|finding)\b|\b(?:before|after) \w+ing\b",
    r"\b(?:useful|intended|meant|suited|suitable|ideal|perfect|great|good|best|designed) (?:for|to|when)\b",
    r"['\"‘“]\w+ \w+[^'\"‘“’”]*['\"’”]",  # users' own words
    "当|时[，,。；;、]|用于|用来|适用|适合|如果|若|想|需要|问",
)
BOUNDARY = _either(
    r"\b(?:not|never|don't|instead|rather than|unlike|other than|except)\b",
    "不要|不用于|不适用|不能|不是|不含|不包括|勿|而非|请用|改用|除外",
)
RETURNS = _either(
    r"\b(?:returns?|returned|returning|results?|responses?|responds?|replies|outputs?|yields?|gives?|answers?)\b",
    r"\b(?:receives?|produces?|prints?|shows?|tells?|says|contains?|includes?|including|saves?|list of)\b",
    r"\b(?:along|each) with\b|\bas (?:a )?(?:json|text|string|markdown|csv|list|table)\b",
    "返回|结果|输出|给出|得到|包含|列出",
)
NOTHING_FOUND = _either(
    r"\b(?:empty|no (?:match|matches|results?|hits?|such)|none|null|nothing|missing|unknown|zero|errors?|fails?)\b",
    r"\bnot[ _]found\b|\bdoes not exist\b|\bdoesn't exist\b|\bcannot be found\b",
    "空|没有|找不到|未找到|不存在|无结果|无匹配|查不到",
)
EFFECTS = _either(
    r"\b(?:undone|undo|revers\w+|irrevers\w+|irrevoc\w+|permanent\w*|overwrit\w+|replac\w+|lost|destr\w+|notif\w+)\b",
    r"\b(?:only|never|not|must|cannot|can't|at most|at least|up to|max|maximum|limit\w*|requires?|warning|caution)\b",
    r"\b(?:idempotent|again|twice|once|already|existing|exists?|immediately|draft|charge[sd]?|changes|fails?|error)\b",
    r"\bside effects?\b|\bbrought back\b",
    "不可|无法|不能|最多|至多|只能|仅|必须|撤销|覆盖|永久|重复|上限|不超过|立即|生效|需要",
)

# Inputs: examples, quantities and units.

EXAMPLE = _either(
    r"\be\.g\b|\bi\.e\b|\bfor (?:example|instance)\b|\bexamples?\b|\bsuch as\b|\blike ['\"`\d]",
    r"['\"`“‘][^'\"`“‘”’]+['\"`”’]",
    r"例|比如|形如|譬如|如\s*['\"`“A-Z\d]",
)


class Quantity(NamedTuple):
    """A kind of quantity: the words that name it, how to put a unit into the name, and how to say it."""

    words: str
    suffix: str
    said: str


QUANTITIES = (
    Quantity("amount price cost fee salary balance payment fare revenue", "cents", "In cents: 19.99 is 1999."),
    Quantity("duration timeout delay interval ttl latency wait time timestamp", "seconds", "In seconds."),
    Quantity("distance radius altitude elevation", "meters", "In metres."),
    Quantity("temperature", "celsius", "In degrees Celsius."),
    Quantity("weight mass", "grams", "In grams."),
    Quantity("width height", "px", "In pixels."),
    Quantity("size", "bytes", "In bytes."),
    Quantity("speed velocity", "kmh", "In kilometres per hour."),
)
QUANTITY_OF = {word: quantity for quantity in QUANTITIES for word in quantity.words.split()}
NO_QUANTITY = frozenset("page batch chunk sample pool population step group font level count ratio".split())
_UNITS = "|".join(
    r"""cents? pence dollars? euros? yuan usd eur gbp jpy cny rmb milliseconds? ms seconds? secs? minutes? mins? hours?
    hrs? days? weeks? months? years? epoch unix \w*met(?:re|er)s? kms? m/s\S* miles? feet ft inch(?:es)? cm mm
    yards? \w*grams? kgs? newtons? joules? volts? watts? amperes? radians? hertz hz pounds? lbs? ounces? oz
    tons? bytes? kb mb gb kib mib gib characters? chars? tokens? lines? words? rows? items? pages? records?
    results? points? pixels? px pt em celsius fahrenheit kelvin km/h kmh mph knots litres? liters? ml percent
    pct percentage degrees? cores? millicores? replicas? levels?""".split()
)
UNIT = _either(
    rf"\b(?:{_UNITS})\b|%|°|\$|€|£|¥|\d[.,]\d\d\b|(?:minor|major|smallest) (?:currency )?unit",
    "[元分角秒天米克]|小时|公里|公斤|摄氏|华氏|字节|像素|字符|百分",
)
UNIT_IN_NAME = _either(_UNITS, "[smgcfhk]|usec|ns|us")
# Names of inputs that take one of a few values; of some, the values may be anybody's.
FEW_VALUES = frozenset("kind status mode priority severity".split())
CHOICES = FEW_VALUES | frozenset("type state category channel direction reason sort".split())
NUMBERS = frozenset(
    "amount price cost quantity count limit offset page duration timeout age cents seconds minutes percent".split()
)

# Inputs: dates, ids, formats.

DATE_WORDS = frozenset("date datetime timestamp time deadline birthday birthdate dob since until".split())
NO_DATE = frozenset("zone format field type column unit range property name key id order by".split())
DATE_FORM = _either(
    r"ISO|RFC ?3339|YYYY|HH:|\d{4}-\d\d|\d:\d\d|\bunix\b|\bepoch\b|\b\d+[dhms]\b|cron|format|格式",
)
KNOWN_FROM = _either(
    r"\b(?:returned|obtained|given|found|listed|printed|previous|response|results?|snapshot|call|take it|from the)\b",
    r"\bcomes? from\b|\b(?:uuid|guid|hash|sha|digits|numeric|slug|login)\b|\d",
    "返回|查询|获取|来自|由",
)
CHECKED_FORMATS = FORMATS["anthropic"] | frozenset(
    """idn-email idn-hostname uri-reference iri iri-reference uri-template json-pointer relative-json-pointer
    regex""".split()
)

# Inputs: required or not, and pages.

DEFAULT = _either(
    r"\bdefaults? (?:value )?(?:to|is|of)\b|\bdefaults?:|\bdefault [\w'\"]+[.;)]|\bby default\b|\(default",
    r"^\W*optional\b|\(optional|\boptional[.;,)]|\boptional$",
    r"\bleave (?:it |this )?(?:out|empty|blank)\b|\bomit\b|\bif (?:not |un)(?:specified|given|provided|set)\b",
    r"可选(?!值)|选填|可不填|默认(?:为|是|值|[:：])|留空|不填",
)
_UNLESS = r"(?! (?:if|when|for|only|unless|by|to|in|with|on|as)\b)"
REQUIRED = _either(
    rf"^\W*required\b{_UNLESS}|\(required\)|(?<!not )\bmandatory\b",
    rf"\b(?:this|it|field|parameter) is required\b{_UNLESS}",
    rf"\bmust (?:always )?be (?:provided|given|supplied|specified)\b{_UNLESS}",
    r"必填|必须(?:提供|填写|传)",
)
LIMITS = frozenset(
    """limit page_size pagesize per_page perpage max_results num_results top_k max_items max_rows
    result_limit""".split()
)
OFFSETS = frozenset({"offset", "skip", "page", "page_number", "start_index"})
MOST = _either(
    r"\bmax|\bat most\b|\bup to\b|\bno more than\b|\d ?(?:to|-|–|\.\.) ?\d|\bbetween\b|≤|<=",
    r"最多|不超过|上限|至多|最大|\d ?[到至~] ?\d",
)
FIRST = _either(r"\b(?:0|1|zero|one|first|start\w*|default|min\w*|[01]-based|leave)\b", "从|默认|起始|第一")
