"""What a program prints: counted, with its begin and its end."""

from __future__ import annotations

from orchestrator.protocol.programs import KEPT_OUTPUT_BYTES

_HALF = KEPT_OUTPUT_BYTES // 2


class Output:
    """What a program prints on one stream.

    Args:
        whole: keep all of it in ``parts``.
    """

    def __init__(self, whole: bool = False) -> None:
        self.size_bytes = 0
        self.parts: list[bytes] = []
        self._whole = whole
        self._begin, self._end = b"", b""

    def take(self, data: bytes) -> None:
        """Take what the program has printed next."""
        self.size_bytes += len(data)
        if self._whole:
            self.parts.append(data)
        room = _HALF - len(self._begin)
        self._begin += data[:room]
        self._end = (self._end + data[room:])[-_HALF:]

    def text(self) -> str:
        """Return what was kept; bytes that are no UTF-8 are escaped, as in ``\\xff``."""
        left_out = self.size_bytes - len(self._begin) - len(self._end)
        between = f"\n[... {left_out} bytes ...]\n".encode() if left_out else b""
        return (self._begin + between + self._end).decode("utf-8", "backslashreplace")
