"""Everything that is drawn: charts as SVG, tables and marked text as HTML, a page around them, bars for a terminal.

Reports, the studio, notebooks, summaries and the command line all draw with these functions. They know nothing of models
or data, so every other package may use them. `formatting` writes numbers as text, `markup` makes HTML, `charts` makes
SVG, `page` puts HTML into one file with its style, `terminal` lays text out in columns.

Colours come from the page around a drawing, light or dark. Without a page (a notebook, an SVG file) each drawing has
colours of its own: blue and orange, which colour-blind readers can tell apart (Okabe and Ito).
"""
