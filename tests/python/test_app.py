"""The example app and the scripts that run it, on the CPU. Needs numpy and torch; a GPU is only ever faked."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parents[2]
SCRIPTS = TOP / "bundle-layout" / "scripts"
APP = TOP / "examples" / "app"
sys.path[:0] = [str(SCRIPTS), str(APP)]

import bundle_app
import infer
import numpy as np
import torch
import train
from cloudseg import CLASSES
from cloudseg.datasets import files, scenes, transforms
from cloudseg.engines import session, tester
from cloudseg.models import build_model, sparse
from cloudseg.utils import checkpoints, configs, runtime

CPU = torch.device("cpu")


def start(name: str, *arguments: object, folder: Path, tree: Path | None = None) -> subprocess.CompletedProcess:
    """Runs a script as a launcher does, with the app where a bundle's .pth puts it."""
    scripts, app = (tree / "scripts", tree / "src" / "app") if tree else (SCRIPTS, APP)
    command = [sys.executable, "-B", str(scripts / f"{name}.py"), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(app), "OMP_WAIT_POLICY": "PASSIVE"}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def call(script: types.ModuleType, *arguments: object, folder: Path) -> tuple[int, str]:
    """Runs a script in this process, which has torch already: its exit status and what it says on stderr."""
    said = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            mock.patch.object(sys, "argv", ["script", *map(str, arguments)]),
            contextlib.redirect_stderr(said),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            bundle_app.run(script.main)
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    finally:
        os.chdir(before)


class Scenes(unittest.TestCase):
    def test_follow_from_their_seed(self) -> None:
        (one, labels), (again, same), (other, _) = (scenes.make_scene(seed) for seed in (7, 7, 8))
        self.assertTrue(np.array_equal(one, again) and np.array_equal(labels, same))
        self.assertFalse(np.array_equal(one, other))

    def test_hold_every_class_in_metres(self) -> None:
        for seed in range(20):
            cloud, labels = scenes.make_scene(seed, 1000)
            self.assertEqual((cloud.shape, cloud.dtype, labels.shape), ((1000, 3), np.float32, (1000,)))
            self.assertEqual(set(labels.tolist()), set(range(len(CLASSES))))
            self.assertTrue(cloud[:, 2].min() > -0.1 and cloud[:, 2].max() < 3.0 and np.abs(cloud).max() < 5.0)

    def test_thinned_labels_spread_back_to_every_point(self) -> None:
        cloud, _ = scenes.make_scene(3)
        kept, positions = transforms.thin(cloud, 0.2)
        self.assertLess(len(kept), len(cloud))
        self.assertLess(np.abs(cloud[kept][positions] - cloud).max(), 0.2001)

    def test_map_coordinates_keep_their_centimetres(self) -> None:
        cloud, _ = scenes.make_scene(3)
        far = cloud.astype(np.float64) + np.array([5e6, 4e5, 300.0])
        self.assertLess(np.abs(transforms.centre(far) - transforms.centre(cloud)).max(), 1e-4)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ply(self, form: str, body: bytes, count: int | str = 2, tail: str = "") -> Path:
        lines = ["ply", f"format {form} 1.0", "comment by hand", f"element vertex {count}", "property float x"]
        lines += ["property float y", "property float z", "property uchar red", "property uchar green"]
        lines += ["property uchar blue", tail, "end_header"]
        path = self.folder / "cloud.ply"
        path.write_bytes("\n".join(line for line in lines if line).encode() + b"\n" + body)
        return path

    def test_reads_ply_text_and_both_byte_orders(self) -> None:
        expected = [[1.0, 2.0, 3.5, 255.0, 0.0, 7.0], [-1.0, 0.0, 0.25, 1.0, 2.0, 3.0]]
        faces = "element face 1\nproperty list uchar int vertex_indices"
        text = "\n".join(" ".join(map(str, map(float, row))) for row in expected).encode()
        self.assertEqual(files.read_cloud(self.ply("ascii", text, tail=faces)).tolist(), expected)
        for form, order in (("binary_little_endian", "<"), ("binary_big_endian", ">")):
            row = np.dtype([(name, f"{order}f4") for name in "xyz"] + [(name, "u1") for name in "rgb"])
            body = np.array([tuple(values) for values in expected], dtype=row).tobytes()
            self.assertEqual(files.read_cloud(self.ply(form, body + b"\1\2", tail=faces)).tolist(), expected)

    def test_reads_npy_of_any_real_kind(self) -> None:
        for kind in ("float16", "float32", "float64", "int32", "uint8"):
            np.save(self.folder / "a.npy", np.arange(12).reshape(2, 6).astype(kind))
            self.assertEqual(files.read_cloud(self.folder / "a.npy").tolist(), np.arange(12.0).reshape(2, 6).tolist())

    def test_refuses_what_is_no_cloud_and_names_the_file(self) -> None:
        arrays = {
            "flat": np.zeros(3),
            "wide": np.zeros((4, 4)),
            "empty": np.zeros((0, 3)),
            "text": np.array([["a", "b", "c"]]),
            "complex": np.zeros((2, 3), dtype=complex),
            "objects": np.array([[None, 1, 2]], dtype=object),
            "nan": np.array([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]]),
        }
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array, allow_pickle=True)
        (self.folder / "torn.npy").write_bytes((self.folder / "nan.npy").read_bytes()[:100])
        (self.folder / "none.npy").touch()
        np.savez(self.folder / "zip.npz", a=np.zeros((2, 3)))
        (self.folder / "zip.npz").rename(self.folder / "zip.npy")
        (self.folder / "other.xyz").touch()
        paths = [path for path in sorted(self.folder.iterdir())]
        self.assertEqual(len(paths), 11)
        for path in paths:
            with self.subTest(path=path.name), self.assertRaisesRegex(files.CloudError, re.escape(str(path))):
                files.read_cloud(path)

    def test_refuses_broken_ply(self) -> None:
        bodies = [("binary_little_endian", b"123", 2), ("ascii", b"1 2 3 4 5\n1 2 3 4 5", 2), ("ascii", b"", 2)]
        bodies += [("ascii", b"1 2 3 a b c\n" * 2, 2), ("ascii", b"1 2 3 4 5 6", 10**18), ("ascii", b"", -1)]
        bodies += [("binary_middle_endian", b"", 2), ("ascii", b"", 0)]
        for form, body, count in bodies:
            with self.subTest(form=form, body=body, count=count), self.assertRaises(files.CloudError):
                files.read_cloud(self.ply(form, body, count))
        path = self.folder / "torn.ply"
        for text in (b"", b"ply\n", b"ply\nformat ascii 1.0\nelement vertex 1\n", b"ply\n" + b"comment\n" * 20000):
            path.write_bytes(text)
            with self.subTest(text=text[:40]), self.assertRaises(files.CloudError):
                files.read_cloud(path)


class Models(unittest.TestCase):
    def setUp(self) -> None:
        self.config = configs.load_config(configs.DEFAULT)
        runtime.set_seed(0)
        self.model = build_model(self.config).eval()

    def test_the_default_is_light(self) -> None:
        self.assertLess(sum(parameter.numel() for parameter in self.model.parameters()), 100_000)

    def test_logits_do_not_depend_on_order_or_on_other_clouds(self) -> None:
        one, other = (torch.from_numpy(transforms.centre(scenes.make_scene(seed, 500)[0])) for seed in (1, 2))
        alone = torch.zeros(500, dtype=torch.int64)
        with torch.inference_mode():
            logits = self.model(one, alone)
            order = torch.randperm(500)
            shuffled = self.model(one[order], alone)
            together = self.model(torch.cat((other, one)), torch.cat((alone, alone + 1)))[500:]
        self.assertTrue(torch.allclose(shuffled, logits[order], atol=1e-3))
        self.assertTrue(torch.allclose(together, logits, atol=1e-3))

    def test_labels_a_single_point(self) -> None:
        self.assertEqual(tester.label_cloud(self.model, self.config, np.zeros((1, 3)), CPU).shape, (1,))

    def test_a_cloud_in_the_wrong_unit_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "metres"):
            tester.label_cloud(self.model, self.config, np.array([[0.0, 0.0, 0.0], [1e6, 0.0, 0.0]]), CPU)

    def test_every_config_is_whole(self) -> None:
        self.assertEqual(configs.config_names(), ["pooled_small", "sparse_small"])
        for name in configs.config_names():
            self.assertEqual(configs.load_config(name)["model"]["classes"], len(CLASSES))
        with self.assertRaisesRegex(configs.ConfigError, "pooled_small"):
            configs.load_config("huge")

    def test_the_sparse_network_is_refused_without_cuda(self) -> None:
        with mock.patch("torch.cuda.is_available", return_value=False):
            self.assertRaises(sparse.SparseUnavailable, build_model, configs.load_config("sparse_small"))

    def test_the_sparse_network_pins_the_algorithm_it_is_told(self) -> None:
        for native, expected in ((True, "Native"), (False, None)):
            spconv = fake_spconv()
            with (
                mock.patch("torch.cuda.is_available", return_value=True),
                mock.patch.object(sparse, "find_spconv", return_value=spconv),
            ):
                model = build_model(configs.load_config("sparse_small"), native)
            self.assertEqual(set(spconv.algorithms), {expected})
            cloud = torch.from_numpy(transforms.centre(scenes.make_scene(1, 300)[0]))
            batch = torch.arange(300) % 2
            self.assertEqual(model(cloud, batch).shape, (300, len(CLASSES)))
            indices = spconv.tensors[0].indices
            self.assertEqual(len(torch.unique(indices, dim=0)), len(indices))
            self.assertTrue((indices[:, 1:].max(dim=0).values < torch.tensor(spconv.tensors[0].shape)).all())

    def test_capability_decides_the_convolution(self) -> None:
        for capability, native in (((9, 0), False), ((10, 3), True), ((12, 0), False), ((12, 1), True)):
            with mock.patch("torch.cuda.get_device_capability", return_value=capability):
                self.assertIs(bundle_app.native_convolution("cuda"), native)
        self.assertTrue(bundle_app.native_convolution("cpu"))

    def test_auto_falls_back_where_no_kernel_runs(self) -> None:
        broken = mock.patch("torch.ones", side_effect=RuntimeError("no kernel image is available\nmore"))
        with mock.patch("torch.cuda.is_available", return_value=True), broken:
            self.assertEqual(runtime.choose_device("auto"), CPU)
            with self.assertRaisesRegex(runtime.DeviceError, "no kernel image is available$"):
                runtime.choose_device("cuda")


def fake_spconv() -> types.SimpleNamespace:
    """A stand-in with spconv's interface whose convolutions see one voxel each; keeps what it was asked for."""
    algorithms: list[str | None] = []
    tensors: list[types.SimpleNamespace] = []

    class Convolution(torch.nn.Linear):
        def __init__(self, inward: int, outward: int, size: int, **options: object) -> None:
            super().__init__(inward, outward, bias=False)
            algorithms.append(options["algo"])

    class Sequential(torch.nn.Sequential):
        def forward(self, tensor: types.SimpleNamespace) -> types.SimpleNamespace:
            return types.SimpleNamespace(**vars(tensor) | {"features": super().forward(tensor.features)})

    def tensor(features: torch.Tensor, indices: torch.Tensor, shape: list[int], size: int) -> types.SimpleNamespace:
        tensors.append(types.SimpleNamespace(features=features, indices=indices, shape=shape, size=size))
        return tensors[-1]

    return types.SimpleNamespace(
        ConvAlgo=types.SimpleNamespace(Native="Native"),
        SubMConv3d=Convolution,
        SparseConv3d=Convolution,
        SparseInverseConv3d=Convolution,
        SparseSequential=Sequential,
        SparseConvTensor=tensor,
        algorithms=algorithms,
        tensors=tensors,
    )


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def weights(self, name: str = "run", **options: int) -> Path:
        session.train_weights(configs.DEFAULT, self.folder / name, CPU, steps=2, **options)
        return self.folder / name / "model.pth"

    def test_the_demo_learns_and_changes_nothing_in_its_tree(self) -> None:
        tree = self.folder / "it's ü"
        for origin, place in ((SCRIPTS, tree / "scripts"), (APP, tree / "src" / "app")):
            for path in origin.rglob("*.py"):
                copy = place / path.relative_to(origin)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        before = sorted((str(path), path.stat().st_mtime_ns) for path in tree.rglob("*"))
        done = start("infer", "--demo", "--device", "cpu", "-o", "labels.npy", folder=self.folder, tree=tree)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        accuracy = re.search(r"^accuracy ([\d.]+)$", done.stdout, re.MULTILINE)
        self.assertIsNotNone(accuracy, done.stdout)
        self.assertGreater(float(accuracy[1]), 0.8)
        labels = np.load(self.folder / "labels.npy")
        self.assertEqual((labels.shape, labels.dtype), ((4096,), np.int64))
        self.assertEqual(before, sorted((str(path), path.stat().st_mtime_ns) for path in tree.rglob("*")))

    def test_a_seed_fixes_the_weights_whatever_the_number_of_threads(self) -> None:
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        one, other = self.weights("a"), self.weights("c", seed=1)
        torch.set_num_threads(threads + 1)
        again = self.weights("b")
        self.assertEqual(torch.get_num_threads(), threads + 1)
        self.assertEqual(one.read_bytes(), again.read_bytes())
        self.assertNotEqual(one.read_bytes(), other.read_bytes())
        self.assertEqual([path.name for path in one.parent.iterdir()], ["model.pth"])

    def test_train_then_infer_label_a_file(self) -> None:
        done = start("train", "--out", "new/run", "--steps", "2", "--device", "cpu", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("accuracy on 8 fresh scenes: ", done.stdout)
        cloud = np.column_stack((scenes.make_scene(5, 300)[0], np.zeros((300, 3))))
        np.save(self.folder / "cloud.npy", cloud)
        arguments = ("--weights", "new/run/model.pth", "cloud.npy", "-o", "labels")
        done = start("infer", *arguments, "--device", "cpu", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        model, config = checkpoints.load_checkpoint(self.folder / "new/run/model.pth", CPU)
        expected = tester.label_cloud(model, config, cloud, CPU)
        self.assertTrue(np.array_equal(np.load(self.folder / "labels"), expected))

    def test_faults_are_one_line_and_2(self) -> None:
        good = self.weights()
        (self.folder / "torn.pth").write_bytes(good.read_bytes()[:2000])
        torch.save({"weights": {}}, self.folder / "other.pth")
        np.save(self.folder / "cloud.npy", np.zeros((3, 3)))
        np.save(self.folder / "wide.npy", np.zeros((3, 5)))
        faults = [
            (("--weights", "missing.pth", "cloud.npy", "-o", "x"), "missing.pth: No such file"),
            (("--weights", "torn.pth", "cloud.npy", "-o", "x"), "torn.pth: holds no weights"),
            (("--weights", "other.pth", "cloud.npy", "-o", "x"), "other.pth: holds no weights"),
            (("--weights", good, "wide.npy", "-o", "x"), "wide.npy: holds 3 × 5 values"),
            (("--weights", good, "missing.npy", "-o", "x"), "missing.npy: No such file"),
            (("--weights", good, "cloud.npy", "-o", "no/where"), "no is no folder"),
            (("--weights", good, "cloud.npy", "-o", "run"), "run is a folder"),
            (("--weights", good, "cloud.npy", "-o", "/proc/x"), "/proc/x: "),
        ]
        for arguments, text in faults:
            status, said = call(infer, *arguments, "--device", "cpu", folder=self.folder)
            with self.subTest(arguments=arguments):
                self.assertEqual((status, said.count("\n")), (2, 1), said)
                self.assertTrue(said.startswith("error: ") and text in said, said)
        self.assertFalse((self.folder / "x").exists())

    def test_nothing_is_written_into_the_bundle(self) -> None:
        with mock.patch.object(bundle_app, "ROOT", self.folder):
            for script, arguments in ((infer, ("--demo", "-o", "x.npy")), (train, ("--out", "deep/run"))):
                status, said = call(script, *arguments, folder=self.folder)
                self.assertEqual((status, said.count("\n"), "inside the bundle" in said), (2, 1, True), said)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_tools_of_the_app_stand_alone(self) -> None:
        def tool(name: str, *arguments: str) -> subprocess.CompletedProcess:
            command = [sys.executable, str(APP / "tools" / name), *arguments, "--device", "cpu"]
            return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)

        done = tool("train.py", "--out", "run", "--steps", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = tool("test.py", "--weights", "run/model.pth")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('"accuracy":', done.stdout)


if __name__ == "__main__":
    unittest.main()
