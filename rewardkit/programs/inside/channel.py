"""Messages between a program's process and its caller: four bytes that say how long, then JSON."""

from __future__ import annotations

import socket
import struct
from typing import Any, Final

from rewardkit.programs.inside.plain import dumps, loads

HEADER: Final = struct.Struct(">I")
HELLO: Final = b"+"
"""What a process sends first, before anything of a program runs in it."""


def framed(message: Any) -> bytes:
    """The bytes of a message."""
    text = dumps(message)
    return HEADER.pack(len(text)) + text


class Channel:
    """The end that a program's process holds."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, message: Any) -> None:
        """Send a message whole."""
        self._connection.sendall(framed(message))

    def receive(self) -> Any:
        """The next message; waits for it."""
        return loads(self._read(HEADER.unpack(self._read(HEADER.size))[0]))

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            part = self._connection.recv(min(length, 1 << 20))
            if not part:
                raise EOFError("the caller is gone")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)
