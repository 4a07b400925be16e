"""Build the container image, run it without rights and with a read-only file system, and run the smoke test on it.

    python deploy/check_container.py [--build-arg EXTRAS=...] [--without-docker [--python PATH]]

Where Docker does not run, the steps of the Dockerfile are followed without it: its COPY and RUN lines fill a folder
that stands for the image's file system, which is then write-protected, and its ENTRYPOINT is started there by its
USER, with its ENV and nothing else. That needs Linux and, for another user, root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from smoke_service import Service, run_checks

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 120.0
STOP_SECONDS = 45
IMAGE = "lexitree-check"


@dataclass(frozen=True)
class Step:
    """A line of a Dockerfile: `COPY src src` is COPY with the rest of the line."""

    name: str
    text: str

    def words(self) -> list[str]:
        """The words of the exec form, which no shell reads."""
        words = json.loads(self.text)
        assert isinstance(words, list), f"{self.name} is not in exec form"
        return [str(word) for word in words]


def read_dockerfile(text: str) -> list[Step]:
    """The steps of a Dockerfile, comments left out and continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


@dataclass
class Imitation:
    """The file system and settings of an image, made by following the steps of its Dockerfile.

    All stages share one folder; at the end, only what the last stage has copied is kept.
    """

    folder: Path
    python: str
    variables: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    place: str = "/"
    kept: set[str] = field(default_factory=set)
    user: int = 0
    users: set[int] = field(default_factory=set)
    entry: list[str] = field(default_factory=list)
    probe: list[str] = field(default_factory=list)

    def follow(self, step: Step) -> None:
        """Do what a step says.

        Raises:
            AssertionError: It is not a step that this script knows.
        """
        print(f"{step.name} {step.text}", flush=True)
        method = getattr(self, f"_do_{step.name.lower()}", None)
        assert method is not None, f"unknown step {step.name}"
        method(step)

    def inside(self, path: str) -> Path:
        """Where a path of the image is in the folder."""
        return self.folder / str(Path(self.place, path)).lstrip("/")

    def placed(self, text: str) -> str:
        """A text with the image's paths replaced by those of the folder."""
        return re.sub(r"(?<![\w.])/(opt|source)\b", rf"{self.folder}/\1", text)

    def _do_from(self, step: Step) -> None:
        assert re.match(r"python:3\.\d+-slim\b", step.text), "not a slim image of Python"
        self.environment, self.place, self.kept, self.user = {}, "/", set(), 0

    def _do_arg(self, step: Step) -> None:
        name, _, default = step.text.partition("=")
        self.variables.setdefault(name, default)

    def _do_env(self, step: Step) -> None:
        self.environment |= dict(word.split("=", 1) for word in step.text.split())

    def _do_workdir(self, step: Step) -> None:
        self.place = step.text
        self.inside("").mkdir(parents=True, exist_ok=True)

    def _do_copy(self, step: Step) -> None:
        *sources, target = step.text.split()
        if sources[0].startswith("--from="):
            assert sources[1:] == [target], "a copy to another place is not imitated"
            assert self.inside(target).exists(), target
            self.kept.add(target)
            return
        for source in sources:
            assert is_sent(source), f".dockerignore leaves out {source}"
            here, there = ROOT / source, self.inside(target)
            if here.is_dir():
                shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(here, there / source if there.is_dir() else there)

    def _do_run(self, step: Step) -> None:
        if step.text.startswith("useradd "):
            found = re.search(r"--uid (\d+)", step.text)
            assert found is not None, "the user has no fixed number"
            self.users.add(int(found[1]))
            return
        if step.text.startswith("apt-get "):
            # This system's own packages stand in for these.
            return
        environment = {**os.environ, **self.environment, **self.variables}
        command = re.sub(r"^python\b", self.python, self.placed(step.text))
        subprocess.run(["sh", "-ec", command], cwd=self.inside(""), env=environment, check=True)

    def _do_user(self, step: Step) -> None:
        self.user = int(step.text.partition(":")[0])
        assert self.user in self.users, "the user is root or was not made"

    def _do_expose(self, step: Step) -> None:
        assert step.text == "8000"

    def _do_healthcheck(self, step: Step) -> None:
        self.probe = Step("CMD", step.text.partition(" CMD ")[2]).words()

    def _do_entrypoint(self, step: Step) -> None:
        self.entry = step.words()

    def finish(self) -> None:
        """Keep what the last stage has, and protect it from being written."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            inside = f"/{path.relative_to(self.folder)}"
            if not any(f"{inside}/".startswith(f"{kept}/") or kept.startswith(inside) for kept in self.kept):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        subprocess.run(["chmod", "-R", "a-w,a+rX", str(self.folder)], check=True)

    def program(self, words: Sequence[str]) -> list[str]:
        """A command of the image, whose programs are those on its PATH."""
        found = self.inside("/opt/lexitree/bin") / words[0]
        assert found.exists(), f"the image has no {words[0]}"
        return [str(found), *words[1:]]

    def files(self) -> dict[str, int]:
        """Every file with the time of its last change."""
        return {str(path): path.lstat().st_mtime_ns for path in self.folder.rglob("*")}


def is_sent(source: str) -> bool:
    """Whether .dockerignore, which names what is not ignored, lets a file of the repository through."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    return "*" in lines and f"!{source}" in lines


def as_user(number: int) -> dict[str, object]:
    """Options that start a process as another user, where that is possible."""
    return {"user": number, "group": number, "extra_groups": []} if os.geteuid() == 0 else {}


@contextmanager
def imitated_service(variables: Mapping[str, str], python: str) -> Iterator[str]:
    """The address of the service, started as the image would start it."""
    steps = read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as outer:
        Path(outer).chmod(0o755)
        scratch = Path(outer, "tmp")
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)
        image = Imitation(Path(outer, "image"), python, dict(variables))
        image.folder.mkdir()
        for step in steps:
            image.follow(step)
        image.finish()
        before = image.files()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {name: image.placed(value) for name, value in image.environment.items()}
        environment |= {"LEXITREE_SERVE_PORT": str(port), "HOME": str(scratch), "TMPDIR": str(scratch)}
        environment["PATH"] = environment["PATH"].replace("$PATH", "/usr/bin:/bin")
        run = {"cwd": scratch, "env": environment, **as_user(image.user)}
        try:
            process = subprocess.Popen(image.program(image.entry), **run)
        except PermissionError:
            sys.exit(
                f"user {image.user} may not run {python}: name another one, such as --python /usr/bin/python3"
            )
        try:
            wait_until_ready(f"http://127.0.0.1:{port}", lambda: process.poll() is None)
            owner = Path(f"/proc/{process.pid}").stat().st_uid
            assert owner == image.user or os.geteuid() != 0, "it does not run as its user"
            yield f"http://127.0.0.1:{port}"
            subprocess.run(image.program(image.probe), check=True, **run)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0, "it did not end well after SIGTERM"
        finally:
            process.kill()
            process.wait()
            subprocess.run(["chmod", "-R", "u+w", str(image.folder)], check=True)
        assert image.files() == before, "it has written to its image"
        print(f"ran as user {owner}; the image is unchanged, and it ended with 0 after SIGTERM")


@contextmanager
def docker_service(variables: Mapping[str, str]) -> Iterator[str]:
    """The address of the service in a container that may write to /tmp only."""
    arguments = [word for name, value in variables.items() for word in ("--build-arg", f"{name}={value}")]
    subprocess.run(["docker", "build", "-t", IMAGE, *arguments, str(ROOT)], check=True)
    limits = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    name = docker("run", "-d", *limits, "-p", "127.0.0.1::8000", IMAGE)
    try:
        url = f"http://{docker('port', name, '8000').splitlines()[0]}"
        wait_until_ready(url, lambda: inspect(name, ".State.Running") == "true")
        user = docker("exec", name, "python", "-c", "import os; print(os.getuid())")
        assert user not in ("", "0"), "it runs as root"
        yield url
        while inspect(name, ".State.Health.Status") == "starting":
            time.sleep(1)
        assert inspect(name, ".State.Health.Status") == "healthy"
        docker("stop", "-t", str(STOP_SECONDS), name)
        assert inspect(name, ".State.ExitCode") == "0", "it did not end well after SIGTERM"
        print(f"ran as user {user} with a read-only file system, and ended with 0 after SIGTERM")
    finally:
        print(docker("logs", "--tail", "5", name))
        docker("rm", "-f", name)


def docker(*words: str) -> str:
    done = subprocess.run(
        ["docker", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout.strip()


def inspect(name: str, what: str) -> str:
    return docker("inspect", "--format", f"{{{{{what}}}}}", name)


def has_docker() -> bool:
    try:
        return (
            subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def wait_until_ready(url: str, is_alive: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert is_alive(), "the service has ended"
        try:
            if Service(url).ask("GET", "/ready").status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"not ready after {READY_SECONDS:g} seconds")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build-arg", action="append", default=[], metavar="NAME=VALUE", help="an ARG of the Dockerfile"
    )
    parser.add_argument("--without-docker", action="store_true", help="follow the steps without Docker")
    parser.add_argument(
        "--python",
        default=os.path.realpath(sys.executable),
        help="without Docker, what stands for the image's Python; its user must be allowed to run it",
    )
    arguments = parser.parse_args()
    variables = dict(each.split("=", 1) for each in arguments.build_arg)
    with_docker = not arguments.without_docker and has_docker()
    print(f"{'with' if with_docker else 'without'} Docker", flush=True)
    with docker_service(variables) if with_docker else imitated_service(variables, arguments.python) as url:
        failed = run_checks(Service(url))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
