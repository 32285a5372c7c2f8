"""Answers to the exercises of lesson 00."""

MISTAKES = {
    "0.1": {
        "forgot to return": (lambda a, b: None, "is a `return` missing?"),
        "only the first": (lambda a, b: a, "`add(2, 3)` should return 5; it returned 2"),
        "fixed to the first case": (lambda a, b: 5, "should return"),
        "raises": (lambda a, b: a + c, "raised NameError"),  # noqa: F821
        "as text": (lambda a, b: f"{a}{b}", "it returned '23'"),
    },
    "0.2": {
        "the model did all": (
            dict.fromkeys(
                ["chose the tool", "wrote the amount into the input", "booked the refund", "named the order first"],
                "model",
            ),
            "Who booked the refund? Not the model.",
        ),
        "other words": ({"chose the tool": "llm"}, 'Answer "model", "program" or "user"'),
        "half done": (
            {"chose the tool": "model", "wrote the amount into the input": None, "booked the refund": None},
            "you wrote None",
        ),
    },
}

VARIANTS = {
    "0.1": {"the other way round": lambda a, b: b + a, "sum": lambda a, b: sum([a, b])},
    "0.2": {
        "capitals": {
            "chose the tool": "Model",
            "wrote the amount into the input": "model ",
            "booked the refund": "Program",
            "named the order first": "User",
        },
        "another order": {
            "named the order first": "user",
            "booked the refund": "program",
            "wrote the amount into the input": "model",
            "chose the tool": "model",
        },
    },
}
