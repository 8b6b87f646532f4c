"""Point-cloud segmentation of rooms: synthetic scenes, a light network in plain torch, a loop that trains it.

Lengths are metres, z points up. Importing the package imports neither numpy nor torch.
"""

__version__ = "1.0.0"

CLASSES = ("floor", "wall", "sphere", "box", "cylinder")
"""Names of the labels, in the order of their numbers."""
