"""Views of labelled trees: text, SVG and HTML."""
