"""Programs of Slurm on a node: whose they are is looked at before any is opened, and nothing else of slurm.conf is kept."""

from __future__ import annotations

import json

import pytest
from accept_node.collectors import health_slurm
from accept_node.envelope import Gather
from accept_node.node import RecordingNode, ReplayNode
from accept_node.parsers import health_script

CONF, PROGRAM = "/etc/slurm/slurm.conf", "/opt/fleet/bin/check"
DRAINS = "#!/bin/bash\nFATAL_XIDS='45'\ndmesg | grep Xid && scontrol update nodename=x state=drain\n"
ABOVE = {"/etc": "755 0 0 root root 1 directory", "/etc/slurm": "755 0 0 root root 1 directory", "/opt": "755 0 0 root root 1 directory"}
ABOVE.update({"/opt/fleet": ABOVE["/opt"], "/opt/fleet/bin": ABOVE["/opt"], CONF: "644 0 0 root root 9 regular file"})


def said(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": argv, "stdout": stdout, "rc": None if reason else rc, "stderr": stderr, "reason": reason, "duration_s": 0.01}


class Node(ReplayNode):
    """Answers as the tools would, whatever paths are asked for."""

    def __init__(self, conf, files=None, texts=None, names=()):
        super().__init__({"listings": [{"path": path, "names": found, "reason": ""} for path, found in dict(names).items()]})
        self.conf, self.files, self.texts = conf, {**ABOVE, **(files or {})}, texts or {}
        self.asked = []

    def run(self, argv, timeout_s=30.0):
        self.asked.append(list(argv))
        self.records[("commands", tuple(argv))] = [self.answer(list(argv))]
        return super().run(argv, timeout_s)

    def answer(self, argv):
        if argv[0] == "grep":
            paths = argv[3:]
            lines = [f"{path}:{line}\n" for path in paths for line in self.conf.get(path, "").splitlines()]
            lost = [f"grep: {path}: No such file or directory\n" for path in paths if path not in self.conf]
            return said(argv, "".join(lines), 2 if lost else 0, "".join(lost))
        if argv[0] == "stat":
            paths = argv[4:]
            lost = [f"stat: cannot statx '{path}': No such file or directory\n" for path in paths if path not in self.files]
            return said(
                argv, "".join(f"{self.files[path]} {path}\n" for path in paths if path in self.files), 1 if lost else 0, "".join(lost)
            )
        if argv[0] == "head":
            return said(argv, "\n".join(f"==> {path} <==\n{self.texts.get(path, '')}" for path in argv[4:]))
        return said(argv, reason="missing")


def look(conf=f"HealthCheckProgram={PROGRAM} HealthCheckInterval=60", files=None, texts=None, **rest):
    node = Node({CONF: conf} if isinstance(conf, str) else conf, files, {PROGRAM: DRAINS, **(texts or {})}, **rest)
    gather = Gather(node)
    found = health_slurm.read(gather)
    return found, node, gather


def program(found, path=PROGRAM):
    return next(one for one in found["programs"] if one["path"] == path)


def opened(node):
    return [path for argv in node.asked if argv[0] == "head" for path in argv[4:]]


ROOTS = {PROGRAM: "755 0 0 root root 99 regular file"}


def test_a_program_of_roots_is_read_as_text():
    found, node, gather = look(files=ROOTS)
    one = program(found)
    assert (one["state"], one["writable_by"], one["data"]["xids"]["acts"], one["data"]["actions"]) == ("there", "root", [45], ["drain"])
    assert (found["interval_s"], found["states"], found["conf"]) == (60, "ANY", CONF)
    assert [argv[0] for argv in node.asked] == ["grep", "stat", "head"]
    assert gather.errors == []


@pytest.mark.parametrize(
    ("files", "who", "where"),
    [
        ({PROGRAM: "777 0 0 root root 9 regular file"}, "everyone", PROGRAM),
        ({PROGRAM: "755 1001 1001 ann ann 9 regular file"}, "uid 1001", PROGRAM),
        ({PROGRAM: "775 0 50 root staff 9 regular file"}, "group 50", PROGRAM),
        ({**ROOTS, "/opt/fleet": "777 0 0 root root 1 directory"}, "everyone", "/opt/fleet"),
        ({**ROOTS, CONF: "666 0 0 root root 9 regular file"}, "root", None),  # what names it cannot be believed
    ],
)
def test_what_others_may_change_is_not_opened(files, who, where):
    found, node, _ = look(files=files)
    one = program(found)
    assert (one["writable_by"], one["open_path"], one["data"], opened(node)) == (who, where, None, [])
    assert one["reason"]


@pytest.mark.parametrize(
    "files",
    [
        {PROGRAM: "750 64030 64030 slurm slurm 9 regular file"},
        {PROGRAM: "775 0 64030 root slurm 9 regular file"},
        {**ROOTS, "/opt/fleet": "1777 0 0 root root 1 directory"},  # sticky: what is in it is its owner's alone
        {PROGRAM: "775 0 0 root root 9 regular file"},
    ],
)
def test_near_misses_are_opened(files):
    found, node, _ = look(f"SlurmUser=slurm\nHealthCheckProgram={PROGRAM}\nHealthCheckInterval=60", files)
    assert program(found)["writable_by"] in ("root", "slurm")
    assert opened(node) == [PROGRAM]


@pytest.mark.parametrize(
    ("path", "kind", "state"),
    [
        ("/dev/sda", "660 0 0 root root 0 block special file", "not a regular file"),
        ("/opt/gone", "", "missing"),
        ("/opt/shut", "644 0 0 root root 4 regular file", "not executable"),
    ],
)
def test_what_is_no_program(path, kind, state):
    files = {"/dev": ABOVE["/opt"], **({path: kind} if kind else {})}
    found, node, _ = look(f"Epilog={path}", files)
    assert program(found, path)["state"] == state
    assert state == "not executable" or opened(node) == []


@pytest.mark.parametrize("path", ["relative/check", "/opt/../etc/shadow", "/opt/" + "x" * 300, "/opt/%h/check"])
def test_paths_that_are_not_plain_are_not_even_looked_at(path):
    found, node, _ = look(f"HealthCheckProgram={path}")
    assert found["programs"][-1]["data"] is None
    assert found["programs"][-1]["reason"]
    assert not [argv for argv in node.asked if path in argv]


def test_patterns_and_their_folder():
    folder = "/etc/slurm/prolog.d"
    files = {folder: "777 0 0 root root 1 directory", f"{folder}/10-a.sh": "755 0 0 root root 9 regular file"}
    found, node, _ = look(f"Prolog={folder}/*.sh", files, names=[(folder, ["10-a.sh", ".hidden.sh", "README"])])
    assert [(one["path"], one["writable_by"]) for one in found["programs"][1:]] == [
        (folder + "/", "everyone"),
        (f"{folder}/10-a.sh", "everyone"),
    ]
    assert opened(node) == []


def test_what_the_controller_sent_goes_first_and_relative_prologs_lie_beside_it():
    sent = "/run/slurm/conf/slurm.conf"
    found, _, _ = look({sent: "Prolog=prolog.sh", CONF: "Prolog=/old"})
    assert [one["path"] for one in found["programs"]] == [sent, "/run/slurm/conf/prolog.sh"]


def test_included_files_and_those_that_are_not_there():
    beside = {CONF: "include health.conf", "/etc/slurm/health.conf": f"HealthCheckProgram={PROGRAM}"}
    assert program(look(beside, ROOTS)[0])["state"] == "there"
    found, _, gather = look({CONF: "include gone.conf"})
    assert (found, len(gather.errors)) == (None, 1)


def test_no_slurm_and_a_controller_that_tells():
    assert look({})[0] == "none"
    told = "Configuration data as of now\nClusterName = c\nHealthCheckProgram = /opt/fleet/bin/check\nHealthCheckInterval = 60 sec\n"

    class Asked(Node):
        def answer(self, argv):
            return said(argv, told + "SlurmUser = slurm(64030)\n") if argv[0] == "scontrol" else super().answer(argv)

    found = health_slurm.read(Gather(Asked({}, ROOTS, {PROGRAM: DRAINS})))
    assert (found["conf"], found["interval_s"], found["programs"][0]["data"]["actions"]) == ("scontrol show config", 60, ["drain"])


def test_nothing_but_the_programs_is_kept_of_slurm_conf():
    conf = f"JobCompPass=hunter22\nHealthCheckProgram={PROGRAM} StoragePass=hunter22 # for hunter22\n"
    node = RecordingNode(Node({CONF: conf}, ROOTS, {PROGRAM: DRAINS}))
    found = health_slurm.read(Gather(node))
    assert "hunter22" not in json.dumps([found, node.capture])
    again = health_slurm.read(Gather(ReplayNode(node.capture)))
    assert again == found


def test_texts_side_by_side_even_where_one_holds_anothers_header():
    text = "==> /a <==\nx\n==> /b <==\ny\n\n==> /c <==\n"
    assert health_script.split(text, ["/a", "/b", "/c"]) == {"/a": "x", "/b": "y\n", "/c": ""}
    assert health_script.split("==> /b <==\ny\n", ["/a", "/b"]) == {"/b": "y\n"}
    assert health_script.split("==> /a <==\n\n==> /b <==\ny", ["/a", "/b"]) == {"/a": "", "/b": "y"}
    assert health_script.split("head: no such option", ["/a"]) == {}
