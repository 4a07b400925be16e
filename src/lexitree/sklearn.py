"""For scikit-learn: `from lexitree.sklearn import LexitreeClassifier`."""

from __future__ import annotations

from lexitree.errors import import_extra

import_extra("sklearn", extra="sklearn", purpose="LexitreeClassifier", package="scikit-learn")

from lexitree.integrations.text_classifier import LexitreeClassifier  # noqa: E402 - the extra is named first

__all__ = ["LexitreeClassifier"]
