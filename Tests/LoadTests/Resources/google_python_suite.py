"""Installs and runs the system tests of Google's Python client, as its source archive on PyPI has them.

    google_python_suite.py install FOLDER
    google_python_suite.py run FOLDER HOST:PORT grpc|rest

FOLDER keeps a virtual environment and the tests between runs. Status 77 where the tests cannot be had, with the reason as the last
line. A run ends with the counts and the reasons of skipped tests that google_python_plugin.py prints, and with pytest's status.
"""

import fcntl
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

UNAVAILABLE = 77
TESTS = "google-cloud-firestore==2.23.0"
PACKAGES = [
    "google-cloud-firestore==2.34.1", "google-cloud-testutils", "pytest==7.4.4", "pytest-asyncio==0.21.2", "pytest-subtests<0.14",
    "pytest-timeout<3", "aiounittest", "freezegun", "mock", "pyyaml", "six",
]
# A test that takes longer than this, in seconds, fails.
TEST_LIMIT = 60
# The longest that pip may take, in seconds, so that a registry that does not answer does not hold up the tests.
INSTALL_LIMIT = 240
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15"]


def give_up(reason):
    print(reason, flush=True)
    sys.exit(UNAVAILABLE)


def called(reason, *arguments):
    """Runs a program of the installation; one that fails, or takes too long, ends this one with the reason and its last line."""
    try:
        done = subprocess.run(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=INSTALL_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        give_up(f"{reason}: {error}")
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        give_up(f"{reason}: {lines[-1] if lines else done.returncode}")


class Installation:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.python = self.folder / "venv" / "bin" / "python"
        self.tests = self.folder / TESTS.replace("==", "-")

    def complete(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        # Another copy of the repository may be installing at the same time.
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.install_packages()
            self.unpack_tests()

    def install_packages(self):
        # Written last: an installation that was interrupted is begun anew.
        packages = self.folder / "venv" / "packages.txt"
        wanted = "\n".join(PACKAGES)
        if packages.exists() and packages.read_text() == wanted:
            return
        called("python3 cannot make a virtual environment", sys.executable, "-m", "venv", "--clear", self.folder / "venv")
        called("PyPI does not have the packages, or is out of reach", self.python, *PIP, "install", *PACKAGES)
        packages.write_text(wanted)

    def unpack_tests(self):
        if self.tests.exists():
            return
        with tempfile.TemporaryDirectory(dir=self.folder) as temporary:
            called(
                "PyPI does not have the source archive of the tests, or is out of reach", self.python, *PIP, "download",
                "--no-deps", "--no-binary", "google-cloud-firestore", "--dest", temporary, TESTS)
            [archive] = pathlib.Path(temporary).glob("*.tar.gz")
            with tarfile.open(archive) as files:
                # The filter refuses members that lead out of the folder; not every Python 3 has it.
                safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                files.extractall(temporary, **safely)
            # Moved at the end, so that a folder of this name is complete.
            [unpacked] = [path for path in pathlib.Path(temporary).iterdir() if path.is_dir()]
            unpacked.rename(self.tests)

    def run(self, server, transport):
        system = self.tests / "tests" / "system"
        environment = {
            name: value for name, value in os.environ.items()
            # Credentials of the user's have no place in requests to a server of a test.
            if name not in ("GOOGLE_APPLICATION_CREDENTIALS", "FIRESTORE_APPLICATION_CREDENTIALS", "PYTEST_ADDOPTS")
        }
        environment |= {
            "FIRESTORE_EMULATOR_HOST": server, "GCLOUD_PROJECT": "python-suite", "GOOGLE_CLOUD_PROJECT": "python-suite",
            "HEARTH_SUITE_TRANSPORT": transport, "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(pathlib.Path(__file__).resolve().parent),
        }
        # The gapic layer has no REST transport for asyncio.
        files = ["test_system.py"] + (["test_system_async.py"] if transport == "grpc" else [])
        os.chdir(system)
        os.execve(self.python, [
            str(self.python), "-m", "pytest", "-p", "google_python_plugin", "-p", "no:cacheprovider", "--noconftest", "--quiet",
            "-W", "ignore", "--tb=short", "--timeout", str(TEST_LIMIT), *files,
        ], environment)


if __name__ == "__main__":
    if sys.argv[1:2] == ["install"] and len(sys.argv) == 3:
        Installation(sys.argv[2]).complete()
    elif sys.argv[1:2] == ["run"] and len(sys.argv) == 5:
        Installation(sys.argv[2]).run(sys.argv[3], sys.argv[4])
    else:
        sys.exit(__doc__)
