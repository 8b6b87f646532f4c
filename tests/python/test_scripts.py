"""The scripts that travel in a bundle, as far as they need neither torch nor a GPU."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parents[2]
SCRIPTS = TOP / "bundle-layout" / "scripts"
sys.path.insert(0, str(SCRIPTS))

import doctor
import doctor_host
import doctor_imports
import doctor_tree
import gpu_policy


class GpuPolicy(unittest.TestCase):
    def test_native_convolution_is_pinned_on_b300_and_gb10_alone(self) -> None:
        pinned = [(10, 3), (12, 1)]
        others = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
        self.assertEqual([c for c in pinned + others if gpu_policy.needs_native_convolution(c)], pinned)

    def test_an_unknown_gpu_gets_the_native_convolution(self) -> None:
        self.assertTrue(gpu_policy.needs_native_convolution(None))

    def test_flash_attention_begins_at_8_0_and_needs_its_package(self) -> None:
        allowed = [c for c in [(7, 5), (8, 0), (8, 9), (12, 1)] if gpu_policy.flash_attention(c, True)]
        self.assertEqual(allowed, [(8, 0), (8, 9), (12, 1)])
        self.assertFalse(gpu_policy.flash_attention((9, 0), False))
        self.assertFalse(gpu_policy.flash_attention(None, True))

    def test_attention_without_flash_computes_in_float32(self) -> None:
        plain = {"enable_flash": False, "upcast_attention": True, "upcast_softmax": True}
        self.assertEqual(gpu_policy.attention_options((7, 5), True), plain)
        self.assertTrue(gpu_policy.attention_options((8, 0), True)["enable_flash"])
        self.assertFalse(gpu_policy.attention_options((8, 0), True)["upcast_softmax"])

    def test_code_covers_its_own_major_version_and_ptx_the_later_ones(self) -> None:
        cases = [
            (["sm_80"], (8, 6), True),
            (["sm_86"], (8, 0), False),
            (["sm_80", "sm_90"], (12, 0), False),
            (["compute_90"], (12, 1), True),
            (["sm_90a"], (9, 0), True),
            (["sm_100a"], (10, 3), False),
            (["sm_100f"], (10, 3), True),
            (["compute_100f"], (12, 0), False),
            (["sm_120"], (12, 1), True),
            ([], (9, 0), False),
            (["gfx942"], (9, 4), False),
        ]
        for architectures, capability, expected in cases:
            with self.subTest(architectures=architectures, capability=capability):
                self.assertIs(gpu_policy.covers(architectures, capability), expected)


class Host(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def told(self, root: Path, **variables: str) -> tuple[dict, list[str]]:
        kept = {name: value for name, value in os.environ.items() if name not in (*doctor_host.CACHES, "LD_PRELOAD")}
        with unittest.mock.patch.dict(os.environ, kept | variables, clear=True):
            facts = doctor_host.facts()
            return facts, [problem["code"] for problem in doctor_host.problems(root, facts)]

    def test_modules_are_those_the_bundle_names_else_torch(self) -> None:
        self.assertEqual(doctor_host.modules(self.root), ["torch"])
        (self.root / "scripts").mkdir()
        (self.root / "scripts" / "modules.json").write_text('["numpy", "h5py"]', encoding="utf-8")
        self.assertEqual(doctor_host.modules(self.root), ["numpy", "h5py"])

    def test_dropped_variables_and_overlays_are_told(self) -> None:
        facts, codes = self.told(self.root, POINTCEPT_DROPPED="PYTHONPATH PYTHONHOME", POINTCEPT_OVERLAY="/no/such")
        self.assertEqual(facts["dropped"], ["PYTHONPATH", "PYTHONHOME"])
        self.assertEqual(codes, ["overlay-missing"])

    def test_what_gets_in_the_way_is_a_warning(self) -> None:
        missing = str(self.root / "missing")
        _, codes = self.told(Path("/a:b/runtime"), LD_PRELOAD="/x.so", TRITON_CACHE_DIR=missing)
        self.assertEqual(codes, ["host-preload", "unsearchable-path", "cache-not-writable"])

    def test_a_cache_on_a_network_file_system_is_told(self) -> None:
        facts, codes = self.told(self.root, TRITON_CACHE_DIR=str(self.root))
        self.assertEqual(codes, [])
        self.assertNotEqual(facts["caches"]["TRITON_CACHE_DIR"]["filesystem"], "unknown")
        facts["caches"]["TRITON_CACHE_DIR"]["filesystem"] = "nfs4"
        self.assertEqual([p["code"] for p in doctor_host.problems(self.root, facts)], ["cache-shared"])


class Check(unittest.TestCase):
    """check.py on a small tree of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPTS / "check.py", self.root / "scripts")
        (self.root / "a").write_text("a", encoding="utf-8")
        (self.root / "b").symlink_to("a")
        rows = [
            self.row("a"),
            {"path": "b", "kind": "symlink", "target": "a", "mode": "0777"},
            {"path": "scripts", "kind": "dir", "mode": "0755"},
            self.row("scripts/check.py"),
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.root / "files.jsonl").write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self.root / ".complete").write_text(f"bundle 1\nentries 4\nfiles {digest}\nlayer 00\n", encoding="utf-8")

    def row(self, path: str) -> dict:
        data = (self.root / path).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        return {"path": path, "kind": "file", "mode": "0644", "size": len(data), "sha256": digest}

    def check(self) -> tuple[int, list[str]]:
        command = [sys.executable, "-B", str(self.root / "scripts" / "check.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_a_tree_as_it_was_made_is_whole(self) -> None:
        self.assertEqual(self.check(), (0, ["4 paths compared, 0 differences"]))

    def test_every_difference_is_named(self) -> None:
        (self.root / "a").write_text("b", encoding="utf-8")
        (self.root / "b").unlink()
        (self.root / "b").symlink_to("c")
        (self.root / "more").mkdir()
        (self.root / "scripts" / "check.py").chmod(0o755)
        code, lines = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(
            lines,
            [
                "'a': another content",
                "'b': another link",
                "'scripts/check.py': another mode",
                "'more': added",
                "4 paths compared, 4 differences",
            ],
        )
        (self.root / "b").unlink()
        self.assertIn("'b': missing", self.check()[1])

    def test_a_list_that_was_changed_or_is_gone_is_no_proof(self) -> None:
        with (self.root / "files.jsonl").open("a", encoding="utf-8") as file:
            file.write("\n")
        self.assertEqual(self.check(), (1, ["files.jsonl: another content"]))
        (self.root / "files.jsonl").unlink()
        self.assertEqual(self.check()[0], 2)


class Doctor(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "a b"
        (self.root / "python" / "bin").mkdir(parents=True)
        self.modules = self.root / "modules"
        self.modules.mkdir()

    def ask(self, *arguments: str) -> tuple[int, dict]:
        environment = os.environ | {"PYTHONPATH": str(self.modules)}
        command = [sys.executable, "-B", str(SCRIPTS / "doctor.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, json.loads(done.stdout)

    def module(self, name: str, text: str) -> None:
        (self.modules / f"{name}.py").write_text(text, encoding="utf-8")

    def codes(self) -> list[str]:
        return [found["code"] for found in doctor_tree.problems(self.root)]

    def test_answers_0_when_all_imports_work(self) -> None:
        self.module("loud", "print('not JSON')")
        for extra in ([], ["--isolated"]):
            code, answer = self.ask("--modules", "json,loud", *extra)
            self.assertEqual((code, answer["imports"]), (0, {"json": True, "loud": True}))
            self.assertEqual((answer["schema_version"], answer["problems"]), (1, []))
            self.assertEqual(answer["executable"], sys.executable)

    def test_answers_1_and_the_error_when_an_import_fails(self) -> None:
        self.module("broken", "raise RuntimeError('no luck')")
        for extra in ([], ["--isolated"]):
            code, answer = self.ask("--modules", "broken,json", *extra)
            self.assertEqual(code, 1)
            self.assertEqual(answer["imports"], {"broken": "RuntimeError: no luck", "json": True})
            self.assertEqual([found["code"] for found in answer["problems"]], ["import-failed"])

    def test_imports_what_the_bundle_lists_when_none_is_named(self) -> None:
        scripts = self.root / "scripts"
        scripts.mkdir()
        for path in SCRIPTS.glob("*.py"):
            (scripts / path.name).write_bytes(path.read_bytes())
        for text, expected in (('["json", "csv"]', ["json", "csv"]), ("[]", ["torch"]), ("{", ["torch"])):
            (scripts / "modules.json").write_text(text, encoding="utf-8")
            environment = os.environ | {"POINTCEPT_DROPPED": "PYTHONHOME PYTHONPATH"}
            command = [sys.executable, "-B", "-S", str(scripts / "doctor.py")]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            answer = json.loads(done.stdout)
            self.assertEqual(list(answer["imports"]), expected)
            self.assertEqual(answer["host"]["dropped"], ["PYTHONHOME", "PYTHONPATH"])

    def test_survives_a_module_that_ends_the_interpreter(self) -> None:
        self.module("deadly", "import os, sys\nprint('out of luck', file=sys.stderr, flush=True)\nos._exit(255)")
        code, answer = self.ask("--modules", "deadly,json", "--isolated")
        self.assertEqual(code, 1)
        self.assertEqual(answer["imports"]["json"], True)
        self.assertIn("exit status 255: out of luck", answer["imports"]["deadly"])

    def test_answers_2_when_an_import_does_not_end(self) -> None:
        self.module("endless", "import threading\nthreading.Event().wait()")
        code, answer = self.ask("--modules", "endless", "--isolated", "--timeout", "1")
        self.assertEqual((code, answer["problems"][0]["code"]), (2, "import-unfinished"))

    def test_names_the_library_that_an_import_lacks(self) -> None:
        text = "ImportError: libcusparse.so.12: cannot open shared object file: No such file or directory"
        self.module("lame", f"raise ImportError({text[13:]!r})")
        code, answer = self.ask("--modules", "lame")
        found = answer["problems"][0]
        self.assertEqual((code, found["code"], found["subject"]), (1, "missing-library", "libcusparse.so.12"))

    def test_wrong_arguments_are_one_line_and_2(self) -> None:
        for arguments in (["--modules", ","], ["--nonsense"], ["--timeout", "soon"]):
            command = [sys.executable, "-B", str(SCRIPTS / "doctor.py"), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)

    def test_finds_a_stray_pyvenv_cfg(self) -> None:
        self.assertEqual(self.codes(), [])
        (self.root / "python" / "pyvenv.cfg").touch()
        self.assertEqual(self.codes(), ["stray-pyvenv-cfg"])

    def test_finds_a_tree_that_was_not_unpacked_to_its_end(self) -> None:
        (self.root / "bundle.json").write_text("{}", encoding="utf-8")
        self.assertEqual(self.codes(), ["incomplete-tree", "foreign-interpreter"])
        (self.root / ".complete").touch()
        self.assertEqual(self.codes(), ["foreign-interpreter"])

    def test_finds_scripts_that_start_another_python(self) -> None:
        folder = self.root / "python" / "bin"
        for name, line in (("a", "#!/build/bin/python3"), ("b", "#!/usr/bin/env python3"), ("c", "#!/bin/sh")):
            (folder / name).write_text(f"{line}\n'''exec' python3\n", encoding="utf-8")
        (folder / "python3").write_bytes(b"\x7fELF")
        (folder / "empty").touch()
        found = doctor_tree.foreign_shebangs(folder)
        self.assertEqual([Path(each["subject"]).name for each in found], ["a", "b"])

    def test_finds_libraries_that_the_host_lacks(self) -> None:
        needs = [
            {"library": "libc.so.6", "needed_by": ["python/bin/python3"], "optional": False},
            {"library": "libnowhere.so.1", "needed_by": ["python/x.so"], "optional": False},
            {"library": "libplug.so.2", "needed_by": ["y.so"], "optional": True, "switches_off": ["readline"]},
        ]
        (self.root / "bundle.json").write_text(json.dumps({"host_needs": needs}), encoding="utf-8")
        found = doctor_tree.missing_libraries(self.root)
        self.assertEqual(
            [(each["code"], each["severity"], each["subject"]) for each in found],
            [("missing-library", "error", "libnowhere.so.1"), ("missing-library", "warning", "libplug.so.2")],
        )
        self.assertIn("readline", found[1]["message"])

    def test_finds_a_bundle_json_that_is_none(self) -> None:
        for text in ("[", "[]", '{"host_needs": [1]}'):
            (self.root / "bundle.json").write_text(text, encoding="utf-8")
            found = doctor_tree.missing_libraries(self.root)
            self.assertEqual([each["code"] for each in found], ["unreadable-bundle-json"], text)

    def test_a_warning_alone_is_no_fault(self) -> None:
        def answer(*kinds: tuple[str, str]) -> dict:
            return {"problems": [{"code": code, "severity": severity} for code, severity in kinds]}

        self.assertEqual(doctor.status(answer(("foreign-module", "warning"))), 0)
        self.assertEqual(doctor.status(answer((doctor_imports.UNFINISHED, "error"))), 2)
        self.assertEqual(doctor.status(answer((doctor_imports.UNFINISHED, "error"), ("import-failed", "error"))), 1)

    def test_tells_of_a_gpu_that_torch_has_no_code_for(self) -> None:
        class Cuda:
            def is_available(self) -> bool:
                return True

            def device_count(self) -> int:
                return 1

            def get_arch_list(self) -> list[str]:
                return ["sm_80", "sm_90"]

            def get_device_properties(self, number: int) -> object:
                return type("Device", (), {"name": "GB10", "major": 12, "minor": 1, "total_memory": 2**37})

        torch = type("Torch", (), {"cuda": Cuda(), "__version__": "2.9.1", "version": type("V", (), {"cuda": "13.0"})})
        facts = doctor_imports.torch_facts(torch)
        self.assertEqual(facts["torch"], {"version": "2.9.1", "cuda": "13.0", "available": True})
        self.assertEqual(facts["gpus"], [{"name": "GB10", "capability": "12.1", "memory": 2**37, "covered": False}])
        probe = {"error": None, "file": None, "finished": True} | facts
        found = doctor_imports.problems("torch", probe, self.root)
        self.assertEqual([each["code"] for each in found], ["gpu-arch-uncovered"])


class OtherSource(unittest.TestCase):
    def test_infer_and_train_refuse_a_bundle_with_another_source(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "ü"
            (root / "src" / "pointcept").mkdir(parents=True)
            scripts = root / "scripts"
            scripts.mkdir()
            for path in SCRIPTS.glob("*.py"):
                (scripts / path.name).write_bytes(path.read_bytes())
            for name, arguments in (("infer", ["--demo", "-o", "x.npy"]), ("train", ["--out", "x"])):
                command = [sys.executable, "-B", "-E", "-s", str(scripts / f"{name}.py"), *arguments]
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn("carries src/pointcept", done.stderr)

    def test_wrong_arguments_are_one_line_and_2(self) -> None:
        wrong = [
            ("infer", []),
            ("infer", ["-o", "x.npy"]),
            ("infer", ["--demo", "cloud.npy", "-o", "x.npy"]),
            ("infer", ["cloud.npy", "-o", "x.npy"]),
            ("train", []),
            ("train", ["--out", "x", "--steps", "0"]),
            ("train", ["--out", "x", "--device", "tpu"]),
        ]
        for name, arguments in wrong:
            command = [sys.executable, "-B", str(SCRIPTS / f"{name}.py"), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)

    def test_help_needs_no_torch(self) -> None:
        for name in ("infer", "train", "doctor"):
            command = [sys.executable, "-B", "-S", str(SCRIPTS / f"{name}.py"), "--help"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: " + name, done.stdout)


if __name__ == "__main__":
    unittest.main()
