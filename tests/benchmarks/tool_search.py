"""How well and how fast each method finds tools, on two catalogues, beside other libraries; writes a results file.

    python tests/benchmarks/tool_search.py [FOLDER] [--minilm FOLDER] [--keep FOLDER] [--held-out]

FOLDER holds `toolsearch/` (see COURSE_SHARED_DATA): 983 tools and 649 queries; without it only the lesson's own
catalogue is measured. Field weights, pairs of words, smoothing and the half weight of spelling were chosen with
all the public queries in view (a coarse grid; neighbours differ by noise), and nothing on the lesson's own catalogue.
What that flatters is measured, too: `held out` chooses the settings of BM25 and of the fusion anew on one half of the
public queries and counts on the other half, both ways.
`--minilm` names an unpacked sentence-transformers folder (safetensors), to try another model than ours; `--keep` keeps
vectors between runs. Needs `pip install rank-bm25 scikit-learn`, and tokenizers and safetensors for `--minilm`; the
model of the extra `embeddings` is measured where it is installed.

Aims: BM25 alone at least .92, the best without a neural model at least .935, all fused at least .956 (recall@5, public
catalogue); a query under 2 ms over 1,000 tools and under 10 ms over 10,000, without a model. Two points are noise.
"""

import argparse
import hashlib
import itertools
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import bm25s
import numpy as np
import rank_bm25
from sklearn.feature_extraction.text import TfidfVectorizer

from course_kit.catalogue import catalogue, catalogue_requests
from course_kit.contract import index_rankings
from course_kit.contract.index import COUNTS, SMOOTHING, ToolIndex, _places
from course_kit.contract.index_words import FIELDS, query_terms, read_tools
from course_kit.errors import SetupError

RESULTS = Path(__file__).parent / "results" / "tool_search.json"
LIBRARIES = ("bm25s", "numpy", "rank-bm25", "regex", "scikit-learn", "snowballstemmer")
DEPTH = 20  # hits that are looked at for the reciprocal rank
PATTERNS = 150  # queries that are tried as patterns: a pattern of twenty words takes 50 ms over 1,000 tools
SAMPLES = 2_000
# What `held out` chooses from: how soon a repeated word stops counting, and what a word counts in the name and in the
# description; of the fusion the smoothing, and what spelling and meaning count where words count 1.
BM25_GRID = list(itertools.product((1.2, 2.0, 3.0), (2, 4, 6), (1, 2)))
FUSION_GRID = list(itertools.product((1, 3, 10, 30, 60, 100), (0.0, 0.25, 0.5, 1.0), (0.5, 1.0, 2.0)))

Query = tuple[str, str, tuple[str, ...]]  # id, words, right tools
Search = Callable[[str, int], list[str]]


def half(id: str) -> int:
    """Which half of the queries one belongs to, by its id."""
    return hashlib.sha256(id.encode()).digest()[-1] % 2


# Ways to search.


def ours(method: str, embed: Any = None) -> Callable[[list[dict]], Search]:
    def build(tools: list[dict]) -> Search:
        index = ToolIndex(tools, method, embed=embed)  # type: ignore[arg-type]
        index.search("begin")
        return lambda query, limit: [hit.tool_name for hit in index.search(query, limit)]

    return build


def by_pattern(tools: list[dict]) -> Search:
    """What a model writes that knows only words: those of the query, as alternatives."""
    index = ToolIndex(tools, "regex")

    def search(query: str, limit: int) -> list[str]:
        pattern = ""
        for word in query_terms(query):
            if word.said and len(pattern) + len(word.said) < 198:
                pattern += ("|" if pattern else "") + re.escape(word.said)
        return [hit.tool_name for hit in index.search(pattern, limit)]

    return search


def _whole_texts(tools: list[dict]) -> tuple[list[str], list[str]]:
    entries = read_tools(tools)
    texts = [" ".join([re.sub(r"[_.-]", " ", entry.name), *entry.texts[1:]]) for entry in entries]
    return [entry.name for entry in entries], texts


def _sorted(names: Sequence[str], scores: Any, limit: int) -> list[str]:
    order = np.argsort(-np.asarray(scores), kind="stable")[:limit]
    return [names[i] for i in order if scores[i] > 0]


def by_rank_bm25(tools: list[dict]) -> Search:
    names, texts = _whole_texts(tools)
    model = rank_bm25.BM25Okapi([re.findall(r"\w+", text.lower()) for text in texts])
    return lambda query, limit: _sorted(names, model.get_scores(re.findall(r"\w+", query.lower())), limit)


def by_bm25s(tools: list[dict]) -> Search:
    names, texts = _whole_texts(tools)
    model = bm25s.BM25()
    model.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def search(query: str, limit: int) -> list[str]:
        tokens = bm25s.tokenize(query, stopwords="en", return_ids=False, show_progress=False)[0]
        return _sorted(names, model.get_scores(tokens), limit) if tokens else []

    return search


def by_tf_idf(tools: list[dict]) -> Search:
    names, texts = _whole_texts(tools)
    model = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    matrix = model.fit_transform(texts)
    return lambda query, limit: _sorted(names, (matrix @ model.transform([query]).T).toarray().ravel(), limit)


class Remembered:
    """A model that is asked once for each text, many at a time, and remembered on disk where that is wanted."""

    def __init__(self, name: str, embed: Callable[[list[str]], Any], keep: Path | None):
        self.name, self._embed, self._known = name, embed, {}
        self._path = keep / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.npz" if keep else None
        if self._path and self._path.exists():
            with np.load(self._path) as file:
                self._known = dict(zip(file["keys"].tolist(), file["rows"], strict=True))

    def __call__(self, texts: list[str]) -> Any:
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24] for text in texts]
        new = dict(zip(keys, texts, strict=True))
        missing = [key for key in new if key not in self._known]
        if missing:
            rows = np.asarray(self._embed([new[key] for key in missing]), np.float32)
            self._known.update(zip(missing, rows, strict=True))
            if self._path and len(missing) > 20:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                np.savez(self._path, keys=np.array(list(self._known)), rows=np.stack(list(self._known.values())))
        return np.stack([self._known[key] for key in keys])


class MiniLM:
    """A small BERT from its folder, in plain numpy: sentence-transformers brings torch, which is 2 GB."""

    def __init__(self, folder: Path):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.weights = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.no_padding()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]

    def __call__(self, texts: list[str]) -> Any:
        return np.stack([self._vector(one.ids) for one in self.tokenizer.encode_batch(texts)])

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normed(self, x: Any, name: str) -> Any:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _vector(self, ids: list[int]) -> Any:
        word, place, kind = (
            self.weights[f"embeddings.{what}_embeddings.weight"] for what in ("word", "position", "token_type")
        )
        x = self._normed(word[ids] + place[: len(ids)] + kind[0], "embeddings.LayerNorm")
        for number in range(self.layers):
            at = f"encoder.layer.{number}"
            query, key, value = (
                self._linear(x, f"{at}.attention.self.{name}").reshape(len(ids), self.heads, -1).transpose(1, 0, 2)
                for name in ("query", "key", "value")
            )
            weight = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
            weight = np.exp(weight - weight.max(-1, keepdims=True))
            mixed = (weight / weight.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
            x = self._normed(
                x + self._linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm"
            )
            inner = self._linear(x, f"{at}.intermediate.dense")
            inner = inner / 2 * (1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
            x = self._normed(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x.mean(0)


def ways(models: list[Remembered]) -> dict[str, Callable[[list[dict]], Search]]:
    found: dict[str, Callable[[list[dict]], Search]] = {
        "rank-bm25, plain words": by_rank_bm25,
        "bm25s, its own words": by_bm25s,
        "scikit-learn TF-IDF, words and pairs": by_tf_idf,
        "ToolIndex regex, the query's words": by_pattern,
        "ToolIndex bm25": ours("bm25"),
        "ToolIndex fused, no model": ours("fused"),
    }
    for model in models:
        found[f"ToolIndex embedding, {model.name}"] = ours("embedding", model)
        found[f"ToolIndex fused, {model.name}"] = ours("fused", model)
    return found


# Figures.


def measure(search: Search, queries: list[Query], rng: Any) -> dict[str, Any]:
    """recall@1, recall@5 with an interval of 95 %, by halves, the mean reciprocal rank, and the time of a query."""
    places, taken = [], []
    for _, words, gold in queries:
        found = search(words, DEPTH)
        places.append(min((found.index(name) + 1 for name in gold if name in found), default=0))
    for _, words, _ in queries[:100]:
        start = time.process_time()
        search(words, 5)
        taken.append((time.process_time() - start) * 1000)
    hit = np.array([0 < place <= 5 for place in places])
    sides = np.array([half(id) for id, _, _ in queries])
    low, high = np.percentile(rng.choice(hit, (SAMPLES, len(hit))).mean(1), [2.5, 97.5])
    return {
        "recall@1": round(float(np.mean([place == 1 for place in places])), 3),
        "recall@5": round(float(hit.mean()), 3),
        "interval": [round(float(low), 3), round(float(high), 3)],
        "recall@5 by half": [round(float(hit[sides == side].mean()), 3) for side in (0, 1)],
        "mrr": round(float(np.mean([1 / place if place else 0 for place in places])), 3),
        "cpu_ms_per_query": round(statistics.median(taken), 2),
    }


# Held out.


def bm25_hits(tools: list[dict], queries: list[Query]) -> dict[tuple, Any]:
    """For each setting of BM25 whether a right tool is among the five, query by query."""
    found = {}
    for k1, name, description in BM25_GRID:
        counts = {"the name": name, "the description": description}
        with patch.object(index_rankings, "K1", k1), patch.dict(FIELDS, counts):
            search = ours("bm25")(tools)
            found[k1, name, description] = np.array(
                [bool(set(search(words, 5)) & set(gold)) for _, words, gold in queries]
            )
    return found


def fusion_hits(tools: list[dict], queries: list[Query], embed: Any) -> dict[tuple, Any]:
    """The same for each setting of the fusion. The rankings are worked out once, and joined in every way."""
    index = ToolIndex(tools, "fused", embed=embed)
    place_of = {entry.name: place for place, entry in enumerate(index.entries)}
    found: dict[tuple, list[bool]] = {setting: [] for setting in FUSION_GRID}
    for _, words, gold in queries:
        by = index._rankings.scores(words, [word.term for word in query_terms(words)])
        places = {name: np.where(scores > 0, _places(scores), np.inf) for name, scores in by.items()}
        right = [place_of[name] for name in gold]
        for smoothing, letters, meaning in FUSION_GRID:
            weights = {"words": 1.0, "letters": letters, "meaning": meaning}
            total = sum(weights[name] / (smoothing + at) for name, at in places.items())
            best = max(right, key=lambda place: (total[place], -place))
            ahead = (total > total[best]).sum() + (total[:best] == total[best]).sum()
            found[smoothing, letters, meaning].append(bool(total[best] > 0 and ahead < 5))
    return {setting: np.array(hits) for setting, hits in found.items()}


def held_out(found: dict[tuple, Any], sides: Any, shipped: tuple, rng: Any) -> dict[str, Any]:
    """recall@5 on each half with the settings that were best on the other, and on both halves together."""
    chosen = {side: max(found, key=lambda one: found[one][sides == side].mean()) for side in (0, 1)}
    hit = np.where(sides == 0, found[chosen[1]], found[chosen[0]])
    low, high = np.percentile(rng.choice(hit, (SAMPLES, len(hit))).mean(1), [2.5, 97.5])
    return {
        "chosen on half": [list(chosen[0]), list(chosen[1])],
        "recall@5 on the other half": [round(float(hit[sides != side].mean()), 3) for side in (0, 1)],
        "recall@5": round(float(hit.mean()), 3),
        "interval": [round(float(low), 3), round(float(high), 3)],
        "as shipped": {"settings": list(shipped), "recall@5": round(float(found[shipped].mean()), 3)},
    }


def all_held_out(tools: list[dict], queries: list[Query], models: list[Remembered], rng: Any) -> dict[str, Any]:
    sides = np.array([half(id) for id, _, _ in queries])
    sys.stdout.write("\npublic, settings chosen on one half and recall@5 counted on the other\n")
    sys.stdout.write(f"{'':42}{'halves':>14}{'both':>7}{'95 %':>15}{'as shipped':>12}\n")
    found = {"ToolIndex bm25": held_out(bm25_hits(tools, queries), sides, (index_rankings.K1, 6, 2), rng)}
    for model in [None, *models]:
        hits = fusion_hits(tools, queries, model)
        label = model.name if model else "no model"
        found[f"ToolIndex fused, {label}"] = held_out(hits, sides, (SMOOTHING, COUNTS["letters"], 1.0), rng)
    for label, one in found.items():
        halves = "{:.3f} {:.3f}".format(*one["recall@5 on the other half"])
        interval, shipped = "{:.3f}–{:.3f}".format(*one["interval"]), one["as shipped"]["recall@5"]
        sys.stdout.write(f"{label:42}{halves:>14}{one['recall@5']:7.3f}{interval:>15}{shipped:12.3f}\n")
    return found


def speed(tools: list[dict], queries: list[Query]) -> dict[str, dict[str, float]]:
    """Milliseconds of a query over 1,000 and 10,000 tools, the public ones over and over under other names."""
    grown = [{**tool, "name": f"{tool['name'][:50]}_{turn}_{i}"} for turn in range(11) for i, tool in enumerate(tools)]
    found: dict[str, dict[str, float]] = {}
    for count in (1_000, 10_000):
        for method, pattern in (("bm25", None), ("fused", None), ("regex", "weather$"), ("regex", "get.*weather")):
            start = time.process_time()
            index = ToolIndex(grown[:count], method)  # type: ignore[arg-type]
            index.search("begin")
            built, taken = time.process_time() - start, []
            for _, words, _ in queries[:40]:
                tries = []
                for _ in range(3):
                    start = time.process_time()
                    index.search(pattern or words)
                    tries.append(time.process_time() - start)
                taken.append(min(tries) * 1000)
            label = f"{method} {pattern}" if pattern else method
            ms = round(statistics.median(taken), 2)
            found.setdefault(label, {}).update({f"ms_{count}": ms, f"seconds_to_build_{count}": round(built, 2)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("COURSE_SHARED_DATA"))
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--held-out", action="store_true", help="only these figures, added to the results file")
    given = parser.parse_args()
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    data = Path(given.folder or default) / "toolsearch"

    models = []
    try:
        from course_kit.contract.index_meaning import load_model

        models.append(Remembered("USE multilingual", load_model(), given.keep))
    except SetupError as error:
        sys.stderr.write(f"{error}\n")
    if given.minilm:
        models.append(Remembered("MiniLM", MiniLM(given.minilm), given.keep))

    asked = [one for one in catalogue_requests() if one.gold]
    own = [(one.id, one.query, one.gold) for one in asked]
    english = [query for query, one in zip(own, asked, strict=True) if one.group != "chinese"]
    sets: dict[str, tuple[list[dict], list[Query]]] = {
        "own, better descriptions": (catalogue(), english),
        "own, terse descriptions": (catalogue("terse"), english),
        "own, no word of the name": (
            catalogue(),
            [q for q, o in zip(own, asked, strict=True) if o.group == "indirect"],
        ),
        "own, asked in Chinese": (catalogue(), [q for q, o in zip(own, asked, strict=True) if o.group == "chinese"]),
    }
    if data.is_dir():
        tools, rows = (
            [json.loads(line) for line in (data / name).read_text(encoding="utf-8").splitlines()]
            for name in ("tools.jsonl", "queries.jsonl")
        )
        sets = {"public": (tools, [(row["id"], row["query"], tuple(row["gold"])) for row in rows]), **sets}
    else:
        sys.stderr.write(f"{data} is absent: name the folder with the public data, or set COURSE_SHARED_DATA.\n")
    if given.held_out:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        write({**kept, "held out": all_held_out(*sets["public"], models, np.random.default_rng(0))})
        return
    for model in models:
        model(list(dict.fromkeys(words for _, queries in sets.values() for _, words, _ in queries)))

    rng = np.random.default_rng(0)
    figures: dict[str, dict[str, Any]] = {}
    for name, (tools, queries) in sets.items():
        sys.stdout.write(f"\n{name}: {len(tools)} tools, {len(queries)} queries\n")
        sys.stdout.write(f"{'':42}{'recall@1':>9}{'recall@5':>9}{'95 %':>15}{'MRR':>7}{'ms CPU':>9}\n")
        figures[name] = {}
        for label, build in ways(models).items():
            some = queries[:: 1 + len(queries) // PATTERNS] if build is by_pattern else queries
            one = figures[name][label] = measure(build(tools), some, rng)
            interval = "{:.3f}–{:.3f}".format(*one["interval"])
            cells = f"{one['recall@1']:9.3f}{one['recall@5']:9.3f}{interval:>15}{one['mrr']:7.3f}"
            sys.stdout.write(f"{label:42}{cells}{one['cpu_ms_per_query']:9.2f}\n")
            sys.stdout.flush()

    results: dict[str, Any] = {
        "measured": date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "figures": figures,
    }
    if "public" in sets:
        results["held out"] = all_held_out(*sets["public"], models, rng)
        taken = results["speed"] = speed(*sets["public"])
        public = {label: one["recall@5"] for label, one in figures["public"].items()}
        with_model = [value for label, value in public.items() if "fused" in label and "no model" not in label]
        results["aims"] = {
            "bm25 recall@5 of .92": public["ToolIndex bm25"] >= 0.92,
            "without a model .935": public["ToolIndex fused, no model"] >= 0.935,
            **({"fused with a model .956": max(with_model) >= 0.956} if with_model else {}),
            "1,000 tools under 2 ms": max(taken[name]["ms_1000"] for name in ("bm25", "fused")) < 2,
            "10,000 tools under 10 ms": max(taken[name]["ms_10000"] for name in ("bm25", "fused")) < 10,
        }
        for label, one in taken.items():
            sys.stdout.write(f"{label:24}" + "".join(f"  {name} {value}" for name, value in one.items()) + "\n")
        for aim, reached in results["aims"].items():
            sys.stdout.write(f"{'reached' if reached else 'missed':8} {aim}\n")
    write(results)


def write(results: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
