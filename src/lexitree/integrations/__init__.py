"""lexitree inside of other tools; each module needs the extra of its tool."""
