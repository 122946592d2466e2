"""The server: on this machine's own address only, with a private folder that is deleted at its end."""

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread, Timer
from typing import Any

from ..errors import ParameterError, required

HOST = "127.0.0.1"
_PREFIX = "dpols-app-"
_FIRST_PAGE = 0.5  # seconds that the first page has to itself


def serve(
    folder: Path,
    *,
    port: int | None = None,
    ledger: Path | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the projects of a folder until Ctrl-C; a fit that runs then is waited for, since it is paid for."""
    check_locks()
    uvicorn = required("uvicorn", "app")
    required("starlette", "app")
    required("multipart", "app")
    with _listening(port) as listener, private_folder() as private:
        from .site import Site, application

        token, place = secrets.token_urlsafe(32), listener.getsockname()[1]
        site = Site.of(folder, private.path, ledger, keep=(private.lock,))
        address = f"http://{HOST}:{place}/?token={token}"
        config = uvicorn.Config(
            application(site, token=token, port=place),
            log_level="error",
            access_log=False,  # addresses have no business in a log
            server_header=False,
            lifespan="off",
        )
        link: contextlib.AbstractContextManager[Path | None] = contextlib.nullcontext()
        if browser:
            link = _link_page(folder, address)
        with link as page:
            server = _server_class(uvicorn)(config, on_start=lambda: _started(address, folder, page, say))
            with contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
        if site.runner.reap():
            say("A fit is running, and is waited for, since it is paid for.")
            site.runner.wait()


def check_locks() -> None:
    """Refuse to start where a process cannot inherit a lock on a file: fits could then be made twice."""
    if find_spec("fcntl") is None:
        raise ParameterError(
            "dpols app needs file locks of POSIX, which this system does not have. Nothing was started or spent; "
            'use the command "dpols fit", or Python.'
        )


def _server_class(uvicorn: Any) -> Any:
    class Announced(uvicorn.Server):  # type: ignore[misc]
        """A server that says when it can be reached."""

        def __init__(self, config: Any, on_start: Callable[[], None]) -> None:
            super().__init__(config)
            self._on_start = on_start

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            self._on_start()

    return Announced


def _started(address: str, folder: Path, page: Path | None, say: Callable[[str], None]) -> None:
    say(f"dpols app: {address}\nProjects are in {folder}. Ctrl-C ends it.")
    later = Timer(_FIRST_PAGE, _load)
    later.daemon = True
    later.start()
    if page is not None:
        Thread(target=webbrowser.open, args=(page.absolute().as_uri(),), daemon=True).start()


@contextlib.contextmanager
def _link_page(folder: Path, address: str) -> Iterator[Path]:
    """Write a page, for this user only, that leads to an address: programs are started where all users see with what.

    It lies beside the projects, since some browsers may not read folders for temporary files.
    """
    from .guard import leading_to

    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix="open-", suffix=".html")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(leading_to(address))
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _load() -> None:
    """Import what later pages need, while the person looks at the first one."""
    from .. import estimators, planning  # noqa: F401
    from ..data import files  # noqa: F401


@contextlib.contextmanager
def _listening(port: int | None) -> Iterator[socket.socket]:
    """Listen on this machine's own address, at a port or at any that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, 0 if port is None else port))
        except OSError as error:
            raise ParameterError(
                f"port {port} cannot be used ({error.strerror}); choose another, or leave it out for one that is free."
            ) from None
        listener.listen(128)
        yield listener


@dataclass(frozen=True)
class PrivateFolder:
    """A folder that only this user can read, and the lock that says that it is in use."""

    path: Path
    lock: int


@contextlib.contextmanager
def private_folder() -> Iterator[PrivateFolder]:
    """Make a folder for tables that are sent, and delete it at the end.

    Folders of apps that were killed are deleted, too, unless a fit still reads them.
    """
    _sweep(Path(tempfile.gettempdir()))
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    before = tempfile.tempdir
    lock = _hold(path / ".lock")
    tempfile.tempdir = str(path)  # also for parts of a table that is being sent
    try:
        yield PrivateFolder(path, lock)
    finally:
        tempfile.tempdir = before
        os.close(lock)
        shutil.rmtree(path, ignore_errors=True)


def _hold(path: Path) -> int:
    """Lock a file; fits inherit the lock, and it ends with the last process that has it."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _sweep(folder: Path) -> None:
    import fcntl

    for path in folder.glob(f"{_PREFIX}*"):
        try:
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            with (path / ".lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # in use, or none of ours
            continue
