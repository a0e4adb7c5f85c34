"""Copy what the simulator shows its client of /sys/class into a folder: snapshot.py FOLDER, with umad2sim preloaded and a host chosen.

The files exist while a client has its port open, below the folder it runs in. A client that is killed instead of ending keeps its place in
the simulator, which has ten: this one ends.
"""

import ctypes
import glob
import os
import shutil
import sys
import tempfile

library = ctypes.CDLL("libibumad.so.3")
folder = tempfile.mkdtemp()
os.chdir(folder)
library.umad_init()
port = library.umad_open_port(None, 0)
found = glob.glob("sys-*/sys/class")
if port < 0 or not found:
    sys.exit("snapshot: the simulator gives no port")
shutil.copytree(found[0], sys.argv[1], dirs_exist_ok=True)
library.umad_close_port(port)
library.umad_done()
shutil.rmtree(folder, ignore_errors=True)
