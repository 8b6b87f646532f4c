"""Sparse convolutions; needs a CUDA device and a module with spconv's interface."""

config = {
    "model": {"kind": "sparse", "classes": 5, "channels": 32, "voxel": 0.1},  # metres
    "train": {"seed": 0, "steps": 200, "scenes": 8, "points": 4096, "rate": 4e-3},
    "test": {"scenes": 8, "points": 4096, "cube": 0.02},  # metres
}
