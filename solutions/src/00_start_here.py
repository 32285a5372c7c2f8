# %% [markdown]
# # Exercises 00 · Start here
#
# Two exercises, five minutes, to see how they work. The lesson: [00 · Start here](../notebooks/00_start_here.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 0.1 Add
#
# *Easy, optional, about 2 minutes, one line.*
#
# Replace the line that raises. Then run both cells: yours, and the check.


# %% tags=["exercise-0.1"]
def add(a, b):
    """Return the sum of two numbers."""
    # BEGIN SOLUTION
    return a + b
    # END SOLUTION


# %%
check("0.1", add)

# %% [markdown] tags=["solution"]
# Nothing more to it. The check tried numbers of its own, also negative ones.

# %% [markdown]
# ## 0.2 Who did it?
#
# *Easy, core, about 3 minutes.*
#
# In lesson 00 the agent refunded a cup. For each line, say who did it: `"model"`, `"program"` or `"user"`.

# %% tags=["exercise-0.2"]
# BEGIN SOLUTION none
chose_the_tool = "model"
wrote_the_amount_into_the_input = "model"
booked_the_refund = "program"
named_the_order_first = "user"
# END SOLUTION

# %%
check(
    "0.2",
    {
        "chose the tool": chose_the_tool,
        "wrote the amount into the input": wrote_the_amount_into_the_input,
        "booked the refund": booked_the_refund,
        "named the order first": named_the_order_first,
    },
)

# %% [markdown] tags=["solution"]
# The model wrote a wish: a name and inputs. The program read it, checked it and booked the refund. That split is what the
# whole course is about.
