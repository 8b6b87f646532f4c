"""Around the loops: configs and weights as files, seeds and devices."""
