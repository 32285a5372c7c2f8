"""Rankings of tools: what each word, each few letters and each text weighs, computed once and kept on disk.

BM25 is computed by `bm25s`: it gives a table of weights, and a query adds up the columns of its words. The
letters are weighed by tf-idf, as scikit-learn does by default, each tool's weights together having the length 1. It is
twenty lines here, and the library would weigh more than the rest of the course.
"""

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, log, sqrt
from pathlib import Path
from typing import Any

from .index_words import SPLIT, Entry, fragments, index_terms

__all__ = ["Rankings", "Table", "rankings"]

VERSION = 1  # of what is kept on disk; raise it with any change of words or weights
COMMON = 0.4  # letters in a row found in a larger share of the tools tell little, and take most of the time
K1, B = 3.0, 0.75  # BM25: how soon a repeated word stops counting, how much a long text is penalised


@dataclass
class Table:
    """The weight of each term in each tool, column by column: `vocabulary[term]` is its column."""

    vocabulary: dict[str, int]
    starts: Any  # where each column begins, and where the last one ends
    rows: Any  # the tools of each entry
    weights: Any

    def scores(self, terms: Iterable[str], count: int) -> Any:
        """For every tool the sum of its weights for some terms."""
        import numpy as np

        columns = [self.vocabulary[term] for term in terms if term in self.vocabulary]
        if not columns:
            return np.zeros(count)
        spans = [slice(self.starts[column], self.starts[column + 1]) for column in columns]
        rows = np.concatenate([self.rows[span] for span in spans])
        return np.bincount(rows, np.concatenate([self.weights[span] for span in spans]), count)


@dataclass
class Rankings:
    """What is known of some tools: tables of words and of letters, and vectors with the model that makes them."""

    count: int
    tables: dict[str, Table] = field(default_factory=dict)
    vectors: Any = None
    embed: Callable[[list[str]], Any] | None = None

    def scores(self, query: str, terms: Sequence[str]) -> dict[str, Any]:
        """The scores of all tools by each ranking: `{"words": …, "letters": …, "meaning": …}`."""
        found = {}
        if "words" in self.tables:
            found["words"] = self.tables["words"].scores(terms, self.count)
        if "letters" in self.tables:
            found["letters"] = self.tables["letters"].scores(dict.fromkeys(fragments(query)), self.count)
        if self.embed is not None:
            found["meaning"] = self.vectors @ _embedded(self.embed, [query], self.vectors.shape[1])[0]
        return found


def rankings(
    entries: Sequence[Entry],
    wanted: Sequence[str],
    embed: Callable[[list[str]], Any] | None,
    cache_dir: str | os.PathLike[str] | None,
) -> Rankings:
    """The rankings of some tools, from disk if they are there and intact, else computed and put there."""
    found = Rankings(len(entries), embed=embed)
    kept: dict[str, Any] = {}
    path = None
    if cache_dir is not None:
        path = Path(cache_dir) / f"tool-index-{_digest(entries, wanted, embed)}.npz"
        kept = _read(path)
    try:
        found.tables = {name: _unpacked(kept, name, found.count) for name in wanted}
        found.vectors = _rows(kept["vectors"], found.count) if embed is not None else None
    except (KeyError, ValueError, IndexError):
        kept = {}
    if not kept:
        make = {"words": _bm25, "letters": _tf_idf}
        found.tables = {name: make[name](entries) for name in wanted}
        if embed is not None:
            found.vectors = _embedded(embed, [_told(entry) for entry in entries])
        if path is not None:
            _write(path, found)
    return found


# Tables.


def _bm25(entries: Sequence[Entry]) -> Table:
    import bm25s
    import numpy as np

    vocabulary: dict[str, int] = {}
    documents = [[vocabulary.setdefault(term, len(vocabulary)) for term in index_terms(entry)] for entry in entries]
    if not vocabulary:
        return _table(vocabulary, [[] for _ in entries])
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it logs each step
    model = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
    model.index((documents, vocabulary), create_empty_token=False, show_progress=False)
    scores = model.scores
    starts, rows = np.asarray(scores["indptr"], np.int64), np.asarray(scores["indices"], np.int32)
    return Table(vocabulary, starts, rows, np.asarray(scores["data"], np.float32))


def _tf_idf(entries: Sequence[Entry]) -> Table:
    counted = [Counter(fragments(" ".join(entry.texts))) for entry in entries]
    using = Counter(term for terms in counted for term in terms)
    rarity = {term: log((1 + len(entries)) / (1 + number)) + 1 for term, number in using.items()}
    most = max(len(entries) * COMMON, 100)
    vocabulary = {term: column for column, term in enumerate(term for term in using if using[term] <= most)}
    weighed = []
    for terms in counted:
        weights = {term: (1 + log(number)) * rarity[term] for term, number in terms.items()}
        length = sqrt(fsum(weight * weight for weight in weights.values()))
        telling = ((vocabulary.get(term), weight / length * rarity[term]) for term, weight in weights.items())
        weighed.append([(column, weight) for column, weight in telling if column is not None])
    return _table(vocabulary, weighed)


def _table(vocabulary: dict[str, int], weighed: Sequence[Sequence[tuple[int, float]]]) -> Table:
    """A table of the weights of each tool, given as pairs of column and weight."""
    import numpy as np

    columns = np.array([column for one in weighed for column, _ in one], np.int64)
    rows = np.repeat(np.arange(len(weighed), dtype=np.int32), [len(one) for one in weighed])
    order = np.argsort(columns, kind="stable")
    weights = np.array([weight for one in weighed for _, weight in one], np.float32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=len(vocabulary)))])
    return Table(vocabulary, starts.astype(np.int64), rows[order], weights[order])


# Vectors.


def _told(entry: Entry) -> str:
    """A tool as a text for a model: the words of its name, then what it says."""
    return f"{SPLIT.sub(' ', entry.name).replace('_', ' ').replace('-', ' ')}. {entry.texts[1]}"


def _embedded(embed: Callable[[list[str]], Any], texts: list[str], size: int | None = None) -> Any:
    """One row of length 1 for each text."""
    import numpy as np

    vectors = _rows(np.asarray(embed([_printable(text) for text in texts]), np.float32), len(texts), size)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _rows(vectors: Any, count: int, size: int | None = None) -> Any:
    if vectors.ndim != 2 or len(vectors) != count or size not in (None, vectors.shape[1]):
        raise ValueError(f"embed gave an array of the shape {vectors.shape} for {count} texts: one row each is wanted.")
    return vectors


def _printable(text: str) -> str:
    """Without lone surrogates, which no model can read."""
    return text.encode("utf-8", "replace").decode()


# On disk.


def _digest(entries: Sequence[Entry], wanted: Sequence[str], embed: Any) -> str:
    """A name for the content: the tools as they are read, what was computed, and by which model."""
    model = getattr(embed, "name", None) or getattr(embed, "__qualname__", repr(embed))
    content = json.dumps([VERSION, K1, B, COMMON, list(wanted), model, entries])
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:32]


def _write(path: Path, found: Rankings) -> None:
    """Keep the rankings; where that is impossible, go on without."""
    import numpy as np

    arrays: dict[str, Any] = {} if found.vectors is None else {"vectors": found.vectors}
    for name, table in found.tables.items():
        terms = json.dumps(list(table.vocabulary)).encode("ascii")
        arrays |= {f"{name}_terms": np.frombuffer(terms, np.uint8)}
        arrays |= {f"{name}_starts": table.starts, f"{name}_rows": table.rows, f"{name}_weights": table.weights}
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            temporary = file.name
            np.savez(file, **arrays)
        os.replace(temporary, path)  # whole or not at all, even with two processes
    except OSError:
        if temporary:
            with contextlib.suppress(OSError):
                os.remove(temporary)


def _read(path: Path) -> dict[str, Any]:
    """What is kept under a path; nothing where it is missing or broken."""
    import zipfile
    import zlib

    import numpy as np

    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return {}


def _unpacked(kept: Mapping[str, Any], name: str, count: int) -> Table:
    """A table as it was kept, if it can be one of this many tools."""
    terms = json.loads(kept[f"{name}_terms"].tobytes())
    starts, rows, weights = (kept[f"{name}_{part}"] for part in ("starts", "rows", "weights"))
    ends = len(starts) == len(terms) + 1 and starts[0] == 0 and starts[-1] == len(rows) == len(weights)
    if not ends or (len(rows) and not 0 <= rows.min() <= rows.max() < count):
        raise ValueError(f"these are not the {name} of {count} tools")
    return Table({term: column for column, term in enumerate(terms)}, starts, rows, weights)
