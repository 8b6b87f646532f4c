"""The second example app. Needs numpy."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
APP = Path(__file__).resolve().parents[2] / "examples" / "shapes"
sys.path.insert(0, str(APP))

import numpy as np
from shapes import NAMES, classify, make_scene


def start(*arguments: object) -> subprocess.CompletedProcess:
    """Runs the app as a user does."""
    command = [sys.executable, "-B", "-m", "shapes", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=APP, check=False)


class Shapes(unittest.TestCase):
    def test_tells_pole_floor_and_bush_apart(self) -> None:
        points, truth = make_scene(seed=3)
        labels = classify(points)
        self.assertGreater((labels == truth).mean(), 0.9)
        for label in range(len(NAMES)):
            self.assertGreater((labels[truth == label] == label).mean(), 0.8, NAMES[label])

    def test_moving_and_turning_a_cloud_changes_no_label(self) -> None:
        points, _ = make_scene(seed=4, each=200)
        turned = points[:, [1, 2, 0]] + (100.0, -20.0, 3.0)
        self.assertTrue((classify(points) == classify(turned)).all())

    def test_refuses_what_is_no_cloud(self) -> None:
        for bad in (np.zeros(5), np.zeros((9, 2)), np.zeros((3, 3)), np.full((9, 3), np.nan)):
            with self.assertRaises(ValueError):
                classify(bad)

    def test_reads_a_file_and_writes_labels(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cloud, labels = Path(folder, "cloud.npy"), Path(folder, "labels.npy")
            np.save(cloud, make_scene(each=100)[0])
            done = start(cloud, "-o", labels)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(np.load(labels).shape, (300,))
            bad = start(Path(folder, "none.npy"))
            self.assertEqual(bad.returncode, 2)
            self.assertEqual(bad.stderr.count("\n"), 1, bad.stderr)


if __name__ == "__main__":
    unittest.main()
