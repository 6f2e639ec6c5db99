"""What each feature of a text adds to the score. The parts add up to the score.

A linear score is a sum, so there is nothing to estimate: ``score = bias + sum_j contribution_j``. A feature that occurs
several times shares its contribution between its places; a place shares it between the characters it covers, blanks left
out, which is what the highlighting shows.

A net is not a sum. Near a text it is one all the same (its hidden numbers are on or off), so the parts are those of that
linear piece, gradient times input, and the intercept is the piece's own. They add up too, but they are approximate: take
a word away and the text may lie on another piece. Such an explanation is not ``exact`` and says so wherever it is shown.
"""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
