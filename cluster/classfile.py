"""The string constants of Java class files, read straight from their constant pools.

A configuration key that a release of BookKeeper reads is a string constant in one of its classes;
names of variables and methods are not string constants. Has no list of keys and starts no JVM.
Source: The Java Virtual Machine Specification, section 4.4.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path

MAGIC = 0xCAFEBABE
_UTF8, _STRING = 1, 8
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_SLOTS = {5, 6}  # a long or a double takes two indices
_HEADER_BYTES = 10


def strings(data: bytes) -> set[str]:
    """The string constants of one class file; ``ValueError`` when it is no class file."""
    if len(data) < _HEADER_BYTES or struct.unpack_from(">I", data)[0] != MAGIC:
        raise ValueError("not a class file: the magic number is missing")
    count = struct.unpack_from(">H", data, 8)[0]
    texts: dict[int, bytes] = {}
    wanted: list[int] = []
    index, at = 1, _HEADER_BYTES
    while index < count:
        tag = data[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[index] = data[at + 3 : at + 3 + length]
            at += 3 + length
        elif tag == _STRING:
            wanted.append(struct.unpack_from(">H", data, at + 1)[0])
            at += 3
        elif tag in _SIZES:
            at += 1 + _SIZES[tag]
        else:
            raise ValueError(f"constant {index} has the unknown tag {tag}")
        index += 2 if tag in _TWO_SLOTS else 1
    return {texts[number].decode("utf-8", "replace") for number in wanted}


def strings_of_jars(jars: Iterable[Path]) -> set[str]:
    """The string constants of every class in these jars."""
    found: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class"):
                    found |= strings(archive.read(name))
    return found
