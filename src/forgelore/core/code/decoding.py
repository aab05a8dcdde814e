"""Bytes of a file as text; None for what is no text.

A NUL among the first 8,000 bytes makes a file binary, as for git, unless a mark at its beginning says that it is
UTF-16. What is not UTF-8 is read as Latin-1, which every byte is, unless it is full of control characters. CRLF becomes
LF: a line ends where the forge's page ends it.
"""

import codecs

from forgelore.core.text import storable

SNIFFED = 8_000  # bytes, as git
_MAX_CONTROLS = 0.02  # of what is sniffed
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))


def decode_text(data: bytes) -> str | None:
    r"""Return the text of a file, with LF at the end of its lines.

    b"a\r\nb" -> "a\nb"    b"caf\xe9" -> "caf\u00e9"    b"\x00\x01" -> None
    """
    text = _decode(data)
    if text is None:
        return None
    return storable(text.replace("\r\n", "\n") if "\r" in text else text)


def _decode(data: bytes) -> str | None:
    head = data[:SNIFFED]
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                break
    if b"\x00" in head:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        controls = len(head) - len(head.translate(None, _CONTROLS))
        return None if controls > _MAX_CONTROLS * len(head) else data.decode("latin-1")
