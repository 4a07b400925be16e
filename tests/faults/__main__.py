import sys

from tests.faults.planting import main

sys.exit(main())
