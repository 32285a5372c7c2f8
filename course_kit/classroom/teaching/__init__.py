"""What an instructor needs: a plan for each lesson, slides, an answer key, and tracks of 90 minutes, half a day, a day.

NN.toml, tracks.toml   written by hand: what to say, what to ask, where people get stuck, minutes
parts.py               the sections of a lesson, read from its notebook
plans.py               a plan, read together with the notebook and the exercises it speaks of
tracks.py              a timetable over several lessons, and what it skips
sheets.py              plan and answer key as pages to print, the plan also as text
slides.py              the lesson as slides: a notebook, a page that needs no network, reveal.js
making.py              all of it into a folder
"""

__all__: list[str] = []
