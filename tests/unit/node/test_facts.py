"""Reading modules: modules in a zip are found where Python itself finds them, without being compiled for it."""

from __future__ import annotations

import subprocess
import sys
import zipfile

CODE = """
import builtins, sys, zipimport
own = zipimport.zipimporter.get_filename
sys.path.insert(0, {root!r})
import accept_node.facts
assert zipimport.zipimporter.get_filename is not own
loader = zipimport.zipimporter({archive!r} + "/sub")
for name, package in (("alone", False), ("folder", True)):
    found = zipimport.zipimporter.get_filename(loader, name)
    assert found == own(loader, name), (found, own(loader, name))
    assert loader.is_package(name) is package
sys.path.insert(0, {archive!r} + "/sub")
import alone, folder.inner
assert (alone.VALUE, folder.inner.VALUE, folder.inner.__file__) == (1, 2, {archive!r} + "/sub/folder/inner.py")
"""


def test_a_module_in_a_zip_is_where_python_finds_it(tmp_path, pytestconfig):
    archive = tmp_path / "modules.zip"
    with zipfile.ZipFile(archive, "w") as handle:
        handle.writestr("sub/alone.py", "VALUE = 1\n")
        handle.writestr("sub/folder/__init__.py", "")
        handle.writestr("sub/folder/inner.py", "VALUE = 2\n")
    code = CODE.format(root=str(pytestconfig.rootpath / "module_utils"), archive=str(archive))
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
