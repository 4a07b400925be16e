"""`python -m lexitree` is `lexitree`."""

from lexitree.cli.main import main

main()
