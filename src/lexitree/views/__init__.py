"""Show labelled trees: as an outline in the terminal, as an SVG picture, and on an HTML page."""
