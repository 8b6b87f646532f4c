"""The default: a light network in plain torch that learns in seconds on a CPU."""

config = {
    "model": {
        "kind": "pooled",
        "classes": 5,
        "channels": 32,
        "shape_sizes": [[0.3, 0.3, 0.3], [0.6, 0.6, 0.6], [0.5, 0.5, 0], [1.0, 1.0, 0]],  # metres; 0: the whole axis
        "block_sizes": [[0.4, 0.4, 0.4], [0.8, 0.8, 0.8], [0.5, 0.5, 0], [1.0, 1.0, 0]],  # metres; 0: the whole axis
    },
    "train": {"seed": 0, "steps": 200, "scenes": 2, "points": 2048, "rate": 6e-3},
    "test": {"scenes": 8, "points": 4096, "cube": 0.02},  # cube: metres
}
