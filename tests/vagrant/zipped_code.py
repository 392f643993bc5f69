"""Cache compiled code of modules in zip files; make-box puts this file into the box.

Ansible sends each task's module as a zip file of sources, dozens of them its own library. Python
compiles them for each task. That is a third of a task's work, seconds on an emulated processor.
Here compiled code is found by the hash of its source. Nothing else changes, and the project's
environment does not see it.
"""

import _imp
import marshal
import os
import zipimport
from types import CodeType

_FOLDER = "/var/cache/zipped-code"  # root's: nobody else can put code there
_compile = zipimport._compile_source  # type: ignore[attr-defined]


def _compile_once(path: str, source: bytes) -> CodeType:
    name = f"{_FOLDER}/{_imp.source_hash(0, source).hex()}"
    try:
        with open(name, "rb") as file:
            code: CodeType = marshal.load(file)
            return code
    except OSError:
        code = _compile(path, source)
    if os.geteuid() == 0:
        own = f"{name}.{os.getpid()}"
        with open(own, "wb") as file:
            marshal.dump(code, file)
        os.rename(own, name)
    return code


zipimport._compile_source = _compile_once  # type: ignore[attr-defined]
