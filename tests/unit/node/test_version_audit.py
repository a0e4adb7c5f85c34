"""The versions that a node is said to have, and how absence is told from not knowing."""

from __future__ import annotations

from accept_node.collectors import version_audit
from accept_node.components import COPIED, DRIVERS, FILES, TOOLS
from accept_node.envelope import collect
from accept_node.installed import MANAGERS
from accept_node.node import ReplayNode

UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'
RHEL = 'ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.7"\n'
SLES = 'ID="sles"\nID_LIKE="suse"\nVERSION_ID="15.7"\n'
ASKED = [list(argv) for component in (*TOOLS, *COPIED) for argv in component.commands]
ASKED += [list(version_audit.DOCKER), ["dockerd", "--version"], ["ofed_info", "-s"], ["ipmitool", "mc", "info"]]
PATHS = ["/proc/driver/nvidia/version", "/run/nvidia/driver/etc/os-release", "/run/reboot-required", *(path for _, path, _ in FILES)]


class Machine:
    """A node on which nothing is installed, until it is said otherwise."""

    def __init__(self, release=UBUNTU, manager="dpkg", packages="ii \tbash\t5.2-1\tbash\n", kernel="6.8.0-137-generic"):
        self.commands = {tuple(argv): {"reason": "missing"} for argv in ASKED}
        self.commands.update({tuple(argv): {"reason": "missing"} for argv, _ in MANAGERS.values()})
        for _, module, _ in DRIVERS:
            self.says(["modinfo", "-F", "version", module], "", rc=1, stderr=f"modinfo: ERROR: Module {module} not found.\n")
        if manager:
            self.says(MANAGERS[manager][0], packages)
        self.says(["uname", "-r"], kernel + "\n")
        self.files = {path: {"text": None, "reason": "missing"} for path in PATHS}
        self.files["/etc/os-release"] = {"text": release, "reason": ""}
        self.trees = {"/sys/module": {}, "/sys/class/dmi/id": {"bios_version": "2.4.4\n", "product_name": "GPU-8000\n"}}
        self.boot = ["vmlinuz-" + kernel]

    def says(self, argv, stdout, rc=0, stderr="", **rest):
        self.commands[tuple(argv)] = {"rc": rc, "stdout": stdout, "stderr": stderr, **rest}

    def has(self, path, text):
        self.files[path] = {"text": text, "reason": ""}

    def audit(self):
        trees = [
            {"root": root, "files": files, "links": {name.split("/")[0]: root for name in files}} for root, files in self.trees.items()
        ]
        trees += [
            {"root": root, "reason": "missing"} for root in ("/opt/nvidia/hpc_sdk", "/sys/class/infiniband") if root not in self.trees
        ]
        capture = {
            "commands": [{"argv": list(argv), **record} for argv, record in self.commands.items()],
            "files": [{"path": path, **record} for path, record in self.files.items()],
            "trees": trees,
            "listings": [{"path": "/boot", "names": self.boot}],
        }
        return collect("version_audit", version_audit.collect, ReplayNode(capture))


def components(machine):
    return machine.audit()["data"]["components"]


def test_nothing_installed_is_measured_absence():
    envelope = Machine().audit()
    told = {name: entry["version"] for name, entry in envelope["data"]["components"].items()}
    assert (told.pop("kernel"), told.pop("bios"), told.pop("bmc")) == ("6.8.0-137-generic", "2.4.4", None)
    assert set(told.values()) == {"none"}
    assert envelope["status"] == "ok"
    assert (envelope["data"]["nics"], envelope["data"]["copies"]["runc"]) == ([], [])


def test_without_a_package_database_nothing_is_said_to_be_absent():
    told = components(Machine(manager=None))
    assert {name for name, entry in told.items() if entry["version"] == "none"} == {"efa"}  # a file that is not there
    assert "no package database" in told["dcgm"]["reason"]


def test_a_database_that_answers_rubbish_is_no_absence():
    machine = Machine()
    machine.says(MANAGERS["dpkg"][0], "dpkg-query: error: broken\n")
    envelope = machine.audit()
    assert envelope["status"] == "partial"
    assert envelope["data"]["package_manager"] is None
    assert envelope["data"]["components"]["dcgm"]["version"] is None


def test_a_hanging_docker_is_judged_by_its_program_and_nothing_runs_for_sure():
    machine = Machine(packages="ii \tdocker-ce\t5:29.7.0-1~ubuntu.24.04~noble\tdocker-ce\n")
    machine.says(version_audit.DOCKER, "", duration_s=99)
    machine.says(["dockerd", "--version"], "Docker version 29.7.0, build a5c7197\n")
    envelope = machine.audit()
    found = envelope["data"]["components"]["docker"]
    assert (found["version"], found["running"], found["source"]) == ("29.7.0", None, "dockerd --version")
    assert "timeout" in envelope["errors"][0]["message"]


def test_a_tool_that_fails_is_judged_by_its_package_and_says_so():
    machine = Machine(packages="ii \tdatacenter-gpu-manager-4-core\t1:4.5.3-1\tdatacenter-gpu-manager-4-core\n")
    machine.says(["dcgmi", "--version"], "Segmentation fault\n", rc=139)
    found = components(machine)["dcgm"]
    assert (found["version"], found["source"]) == ("4.5.3", "package")
    assert "139" in found["reason"]


def test_a_tool_that_fails_without_a_package_is_not_known():
    machine = Machine()
    machine.says(["dcgmi", "--version"], "ERR!\n")
    found = components(machine)["dcgm"]
    assert found["version"] is None
    assert "dcgmi" in found["reason"]


def test_running_and_on_disk_driver_are_both_told():
    machine = Machine(packages="ii \tnvidia-driver-580-open\t580.159.03-0ubuntu1\tnvidia-graphics-drivers-580\n")
    machine.has("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n")
    machine.trees["/sys/module"] = {"nvidia/version": "580.95.05\n"}
    machine.says(["modinfo", "-F", "version", "nvidia"], "580.159.03\n")
    found = components(machine)["nvidia_driver"]
    assert (found["version"], found["running"], found["on_disk"], found["flavour"]) == ("580.95.05", "580.95.05", "580.159.03", "open")
    assert found["package_version"] == "580.159.03-0ubuntu1"


def test_a_driver_that_is_not_loaded():
    machine = Machine()
    machine.says(["modinfo", "-F", "version", "nvidia"], "580.159.03\n")
    found = components(machine)["nvidia_driver"]
    assert (found["running"], found["on_disk"], found["version"]) == ("none", "580.159.03", "580.159.03")


def test_every_copy_of_a_runtime_is_found():
    machine = Machine(packages="ii \trunc\t1.3.3-0ubuntu1~24.04.3\trunc\n")
    machine.says(["/usr/bin/runc", "--version"], "runc version 1.3.3-0ubuntu1~24.04.3\nspec: 1.2.1\n")
    machine.says(["/usr/local/sbin/runc", "--version"], "runc version 1.1.12\n")
    machine.says(["/usr/local/bin/runc", "--version"], "", rc=126, stderr="cannot execute")
    data = machine.audit()["data"]
    assert [(copy["path"], copy["version"]) for copy in data["copies"]["runc"]] == [
        ("/usr/bin/runc", "1.3.3-0ubuntu1~24.04.3"),
        ("/usr/local/bin/runc", None),
        ("/usr/local/sbin/runc", "1.1.12"),
    ]
    assert data["components"]["runc"]["version"] == "1.3.3-0ubuntu1~24.04.3"


def test_doca_is_not_mlnx_ofed():
    machine = Machine(packages="ii \tdoca-ofed\t3.1.0-091000\tdoca-ofed\n")
    machine.says(["ofed_info", "-s"], "OFED-internal-25.07-0.9.7:\n")
    told = components(machine)
    assert (told["mlnx_ofed"]["version"], told["doca_host"]["version"], told["doca_host"]["ofed"]) == (
        "none",
        "3.1.0-091000",
        "25.07-0.9.7",
    )


def test_kernel_packages_of_three_distributions():
    ubuntu = Machine(packages="ii \tlinux-image-6.8.0-137-generic\t6.8.0-137.137\tlinux-signed\n")
    line = "kernel-core\t0:{0}\tx86_64\tkernel-{0}.src.rpm\n"
    rhel = Machine(RHEL, "rpm", line.format("5.14.0-570.58.1.el9_6") + line.format("5.14.0-611.5.1.el9_7"), "5.14.0-570.58.1.el9_6.x86_64")
    sles = Machine(
        SLES, "rpm", "kernel-default\t0:6.4.0-150700.53.22.1\tx86_64\tkernel-default-6.4.0-1.nosrc.rpm\n", "6.4.0-150700.53.22-default"
    )
    found = [components(machine)["kernel"] for machine in (ubuntu, rhel, sles)]
    assert [(entry["package_version"], entry["origin"]) for entry in found] == [
        ("6.8.0-137.137", "linux"),
        ("5.14.0-570.58.1.el9_6", "kernel"),
        ("6.4.0-150700.53.22.1", "kernel-default"),
    ]


def test_other_flavours_keep_their_source_package():
    machine = Machine(packages="ii \tlinux-image-6.8.0-1031-nvidia\t6.8.0-1031.34\tlinux-signed-nvidia-6.8\n", kernel="6.8.0-1031-nvidia")
    assert components(machine)["kernel"]["origin"] == "linux-nvidia-6.8"


def test_rpm_systems_are_asked_with_rpm_and_have_no_flag_for_a_reboot():
    machine = Machine(RHEL, "rpm", "nvidia-fabricmanager\t0:580.159.03-1\tx86_64\tnvidia-fabricmanager-580.159.03-1.src.rpm\n")
    data = machine.audit()["data"]
    assert (data["package_manager"], data["restart_required"]) == ("rpm", "none")
    assert data["components"]["fabric_manager"]["version"] == "580.159.03"


def test_a_half_installed_package_and_a_waiting_reboot():
    machine = Machine(packages="iF \tnvidia-dkms-580-open\t580.159.03-0ubuntu1\tnvidia-graphics-drivers-580\n")
    machine.has("/run/reboot-required", "*** System restart required ***\n")
    data = machine.audit()["data"]
    assert (data["broken_packages"], data["restart_required"]) == (["nvidia-dkms-580-open"], True)


def test_removed_packages_are_not_installed():
    machine = Machine(packages="rc \tdatacenter-gpu-manager\t1:3.3.9\tdatacenter-gpu-manager\nii \tbash\t5.2\tbash\n")
    assert components(machine)["dcgm"]["version"] == "none"


def test_firmware_by_device():
    machine = Machine()
    machine.trees["/sys/class/infiniband"] = {
        "mlx5_0/fw_ver": "28.46.3008\n",
        "mlx5_0/board_id": "MT_0000000838\n",
        "mlx5_0/hca_type": "MT4129\n",
        "bnxt_re0/fw_ver": "231.1.162.0\n",
    }
    assert machine.audit()["data"]["nics"] == [
        {"device": "bnxt_re0", "firmware": "231.1.162.0", "board_id": None, "hca_type": None},
        {"device": "mlx5_0", "firmware": "28.46.3008", "board_id": "MT_0000000838", "hca_type": "MT4129"},
    ]


def test_installed_kernels_are_those_with_an_image():
    machine = Machine()
    machine.boot = ["config-6.8.0-137-generic", "grub", "vmlinuz-6.8.0-124-generic", "vmlinuz-6.8.0-137-generic", "vmlinuz-0-rescue-4f6e"]
    assert machine.audit()["data"]["kernels"] == ["6.8.0-124-generic", "6.8.0-137-generic"]


def test_a_machine_that_answers_nothing():
    envelope = collect("version_audit", version_audit.collect, ReplayNode({}))
    assert envelope["status"] == "partial"
    assert {entry["version"] for entry in envelope["data"]["components"].values()} == {None}
