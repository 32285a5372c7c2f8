"""`course board`: who is where in a room, live, by nickname.

    counts.py    a learner's progress file → the counts that are told      page.py     the board as a page and as text
    joining.py   the learner's side: join, tell, leave                      serving.py  the page over HTTP
    room.py      the instructor's side: who told what, within bounds

Only a nickname and counts leave a learner's machine; no answer, no code and no file does.
"""

__all__: list[str] = []
