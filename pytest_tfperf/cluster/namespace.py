"""A network namespace that holds nothing but a loopback device.

TensorFlow's gRPC server listens on every interface, whatever address the cluster spec names. Only in a namespace of
its own is a test cluster out of reach of the network, and are its ports out of reach of other programs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_IFREQ = struct.Struct("16sH14x")


def enter() -> None:
    """Move this process into a new network namespace and bring its loopback up.

    Without root it makes a user namespace too, which the kernel allows to a process of one thread only: call it
    before TensorFlow is imported. Raises OSError where the kernel gives no right for it; the process may then be in
    a namespace without network, so try `available` first.
    """
    try:
        _unshare(_CLONE_NEWNET)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        uid, gid = os.geteuid(), os.getegid()
        _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        # The kernel takes a gid map from an unprivileged process only once it can no longer drop groups.
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    _bring_loopback_up()


def create() -> int:
    """Move this thread on into another new network namespace, with its loopback up, and give a descriptor of it.

    It lives as long as a process is in it or holds a descriptor. Needs the rights that `enter` has brought.
    """
    _unshare(_CLONE_NEWNET)
    _bring_loopback_up()
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def join(descriptor: int) -> None:
    """Move this thread into the network namespace of a descriptor."""
    _check(ctypes.CDLL(None, use_errno=True).setns(ctypes.c_int(descriptor), ctypes.c_int(_CLONE_NEWNET)))


def available() -> bool:
    """Whether `enter` would work, found out in a forked child: some systems fail it half way through."""
    if not sys.platform.startswith("linux"):
        return False
    child = os.fork()
    if child == 0:
        try:
            enter()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _unshare(flags: int) -> None:
    _check(ctypes.CDLL(None, use_errno=True).unshare(ctypes.c_int(flags)))


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, _SIOCGIFFLAGS, _IFREQ.pack(b"lo", 0))
        flags = _IFREQ.unpack(answer)[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", flags | _IFF_UP))
