"""Fits of the app in forks of a process that has imported what they need, as imports take longer than small fits."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from subprocess import DEVNULL as DEVNULL

_START = ["-P", "-m", "dpols"]


class Popen:
    """What the app needs of a process of ``python -P -m dpols``, in a session of its own."""

    def __init__(self, command, *, cwd, env, stdin, stdout, stderr, start_new_session, pass_fds):
        assert command[1:4] == _START
        assert stdin == DEVNULL
        assert start_new_session
        asked = {"arguments": command[4:], "cwd": str(cwd), "env": env}
        self.pid = _server().fork(asked, [stdout.fileno(), stderr.fileno(), *pass_fds])
        self._handle = os.pidfd_open(self.pid)

    def poll(self):
        return 0 if select.select([self._handle], [], [], 0.0)[0] else None

    def wait(self):
        select.select([self._handle], [], [])


class _Server:
    """The process that forks, which ends when this one does."""

    def __init__(self):
        self._end, other = socket.socketpair()
        self._lock = threading.Lock()
        code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import forked_fits as f; f.serve()"
        with other:
            subprocess.Popen([sys.executable, "-c", code], stdin=other)

    def fork(self, asked, fds):
        with self._lock:
            socket.send_fds(self._end, [json.dumps(asked).encode()], fds)
            return int(self._end.recv(32))


_SERVERS = []


def _server():
    if not _SERVERS:
        _SERVERS.append(_Server())
    return _SERVERS[0]


def serve():
    """Fork for each request on standard input, and answer with the number of the process."""
    import dpols.cli.app
    import dpols.cli.fit_results
    import dpols.estimators
    import dpols.report  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    end = socket.socket(fileno=os.dup(0))
    while True:
        request, fds, _, _ = socket.recv_fds(end, 1 << 20, 16)
        if not request:
            return
        child = os.fork()
        if child == 0:
            _run(json.loads(request), fds)
        for fd in fds:
            os.close(fd)
        end.sendall(str(child).encode())


def _run(asked, fds):
    from dpols.cli import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(fds[0], 1)
    os.dup2(fds[1], 2)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = ["dpols", *asked["arguments"]]
    try:
        main(asked["arguments"])
    except SystemExit as error:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(error.code or 0))
