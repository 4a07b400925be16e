"""The experiments of Teng and Zhang (2017), run with lexitree."""
