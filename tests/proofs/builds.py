"""The package built anew with other kernels, apart from the one in use; and how to run it.

``python -m tests.proofs.builds address v3 -- tests/test_threads.py`` builds and runs tests on it.

A build is for one kind of processor. What chooses between kinds (GCC's ``target_clones``, and
``register_bytes`` of ``cpp/base/clones.hpp``) asks the processor itself, past GLIBC_TUNABLES and
every environment variable: so the kind is chosen by compiling no other, with PROXQN_ONE_TARGET.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "proofs"
LEVELS = ("v4", "v3", "plain")  # plain: the "default" clone, of every processor of 64 bits
FEATURES = {"v4": "avx512f", "v3": "avx2", "plain": ""}  # as /proc/cpuinfo says them


@dataclass(frozen=True)
class Build:
    """One configuration: what watches the kernels, and for which processor they are."""

    check: str = ""  # "address", "thread", "coverage" or none
    level: str = ""  # one of LEVELS, or all three

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.check or "plainly", self.level) if part)

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def site(self) -> Path:
        return self.folder / "site"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    def make(self, jobs: int) -> None:
        """Build into ``site``; what did not change is not compiled again."""
        settings = {
            "CMAKE_BUILD_TYPE": "RelWithDebInfo",
            "CMAKE_COMPILE_WARNING_AS_ERROR": "OFF",  # GCC warns of its own headers at -O1
            "CMAKE_MAKE_PROGRAM": tool("ninja"),
            "PROXQN_CHECK": self.check,
            "PROXQN_ONE_TARGET": self.level,
            "Python_EXECUTABLE": sys.executable,
        }
        cmake, objects = tool("cmake"), str(self.objects)
        given = [f"-D{name}={value}" for name, value in settings.items()]
        shutil.rmtree(self.site, ignore_errors=True)  # whose files may have other names by now
        for arguments in (
            ["-S", str(ROOT), "-B", objects, "-G", "Ninja", *given],
            ["--build", objects, "--parallel", str(jobs)],
            ["--install", objects, "--prefix", str(self.site)],
        ):
            done = subprocess.run([cmake, *arguments], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}")
        package = ROOT / "src" / "proxqn"
        shutil.copytree(package, self.site / "proxqn", dirs_exist_ok=True)

    def environment(self) -> dict[str, str]:
        """Return that of a process that imports this build.

        It is for ``python()``, not for a virtual environment's own: an editable install there is
        found before all of PYTHONPATH.
        """
        found_first = [
            str(self.site),
            os.environ.get("PYTHONPATH", ""),
            sysconfig.get_path("purelib"),
        ]
        here = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, found_first))}
        if self.check == "address":
            here |= {
                "LD_PRELOAD": f"{_library('libasan.so')}:{_library('libstdc++.so.6')}",
                # Python's objects at addresses of their own, so that the end of each is guarded.
                # Leaks are of Python's modules, which live as long as it: for ours there is
                # out_of_memory.py.
                "PYTHONMALLOC": "malloc",
                "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
                "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1"),
            }
        if self.check == "thread":
            here |= {
                "LD_PRELOAD": f"{_library('libtsan.so')}:{_library('libstdc++.so.6')}",
                "TSAN_OPTIONS": "exitcode=66:history_size=4:die_after_fork=0",
            }
        return here

    def run(self, arguments: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        """Run Python on this build."""
        command = [python(), *arguments]
        if self.check == "thread":  # its shadow memory has fixed addresses
            command = ["setarch", "-R", *command]
        return subprocess.run(command, cwd=ROOT, env=self.environment(), text=True, **options)  # type: ignore[call-overload,no-any-return]


def tool(name: str) -> str:
    """Return where a tool is; one that came with this Python goes first."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=beside)
    if found is None:
        raise FileNotFoundError(f"{name} is needed to build the kernels, and was not found.")
    return found


def python() -> str:
    """Return the interpreter behind a virtual environment."""
    return str(getattr(sys, "_base_executable", sys.executable))


def levels_at_hand() -> list[str]:
    """Return the levels that this processor can run, those of most features first."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return ["plain"]
    return [level for level in LEVELS if not FEATURES[level] or FEATURES[level] in flags]


def _library(name: str) -> str:
    found = subprocess.run(
        [os.environ.get("CXX", "g++"), f"-print-file-name={name}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return os.path.realpath(found.stdout.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", choices=["address", "thread", "coverage", "none"])
    parser.add_argument("level", choices=[*LEVELS, "all"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("tests", nargs="*", help="files of tests; without, only build")
    options = parser.parse_args()
    build = Build(
        "" if options.check == "none" else options.check,
        "" if options.level == "all" else options.level,
    )
    build.make(options.jobs)
    if options.tests:
        sys.exit(build.run(["-m", "pytest", "-q", *options.tests]).returncode)


if __name__ == "__main__":
    main()
