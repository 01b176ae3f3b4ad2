"""Makes what the scripts consist of importable."""

import sys

from cluster.releases.artifacts import CHECKOUT

sys.path.append(str(CHECKOUT / "scripts" / "parts"))
