"""Wrong answers that a check must refuse, each with a part of its sentence, and right ones that it must accept."""
