"""Line, plane or scattering: what each point of a cloud lies on."""

from .features import NAMES, classify
from .scene import make_scene

__all__ = ["NAMES", "classify", "make_scene"]
