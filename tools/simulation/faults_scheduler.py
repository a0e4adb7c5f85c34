"""Named faults of a cluster's scheduler. Each public function puts one into a node's place, or into its whole cluster's scheduler.

`tools/simulate --faults` prints their docstrings. Near misses, which must stay green, are here too.
"""

from __future__ import annotations


def scheduler_missing(node, rng):
    """The head has no scheduler's tools at all"""
    node.control.kind, node.control.second = "none", False


def scheduler_down(node, rng, *, says=""):
    """The scheduler's server does not answer"""
    usual = {
        "slurm": "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)",
        "kubernetes": "The connection to the server 10.30.0.2:6443 was refused - did you specify the right host or port?",
    }
    node.control.down = says or usual.get(node.control.kind, "connection refused")


def scheduler_slow(node, rng):
    """The scheduler's server takes longer than anybody waits"""
    node.control.slow = True


def two_schedulers(node, rng):
    """Slurm and Kubernetes both place jobs on the same nodes, and neither knows of the other"""
    node.control.second = True


def rbac_denied(node, rng, *, path="/apis/apps"):
    """Kubernetes denies a part of what is asked"""
    node.control.denied.add(path)


def node_unknown(node, rng):
    """A node that the scheduler does not have"""
    node.place.known = False


def node_drained(node, rng, *, reason="bad cable on rail 3", by="root"):
    """A node drained by somebody, with a reason"""
    node.place.flags, node.place.reason, node.place.reason_by = ["DRAIN"], reason, by


def node_down(node, rng, *, reason="Not responding"):
    """A node that Slurm has given up"""
    node.place.base, node.place.flags, node.place.reason, node.place.reason_by = "DOWN", ["NOT_RESPONDING"], reason, "slurm"


def drained_without_reason(node, rng):
    """A node drained, and nobody says why"""
    node.place.flags, node.place.reason = ["DRAIN"], ""


def node_silent(node, rng):
    """A node that does not respond to the controller, and is not given up yet"""
    node.place.flags = ["NOT_RESPONDING"]


def node_cordoned(node, rng):
    """A node that somebody cordoned"""
    node.place.cordoned = True


def node_not_ready(node, rng, *, ready="False"):
    """A node whose kubelet is not ready (False), or no longer heard of (Unknown)"""
    node.place.ready = ready


def stale_heartbeat(node, rng, *, seconds=9000.0):
    """A node that is called ready, and was last heard of hours ago"""
    node.place.heartbeat_s = seconds


def node_condition(node, rng, *, type="SysLogsXIDError", status="True", reason="SysLogsXIDErrorIsNotHealthy", message="ErrorCode:79"):
    """A condition that a health agent set on a node, which takes jobs all the same"""
    node.place.conditions.append((type, status, reason, message))


def unexplained_taint(node, rng, *, key="example.com/do-not-use"):
    """A taint that no GPU job tolerates and no known agent sets"""
    node.place.taints.append((key, "true", "NoSchedule"))


def gres_missing(node, rng, *, gpus=7):
    """Fewer GPUs configured for a node than it has"""
    node.place.gpus = gpus


def allocatable_below_capacity(node, rng, *, gpus=1):
    """GPUs that the device plugin has taken out: allocatable is below capacity"""
    node.place.lost_gpus = gpus


def device_plugin_missing(node, rng):
    """A node on which no device plugin runs"""
    node.place.device_plugin = False


def device_plugin_blind(node, rng):
    """The device plugin's health checks are switched off: allocatable can never fall"""
    node.control.agents["nvidia_device_plugin"]["env"] = {"DP_DISABLE_HEALTHCHECKS": "all"}


def agent_not_ready(node, rng, *, purpose="dcgm_exporter", missing=1):
    """An agent that does not run on all nodes"""
    node.control.agents[purpose]["missing"] = missing


def policy_not_ready(node, rng, *, state="notReady"):
    """The operators' policies are not applied"""
    node.control.policy_state = state


def no_rdma_resource(node, rng):
    """No resource by which a pod could ask for RDMA"""
    node.control.rdma = ""


def imex_undocumented(node, rng):
    """No ComputeDomain, and nothing says how a job gets its NVLink domain"""
    node.control.compute_domain = False
    node.control.config["SwitchType"] = "(null)"


def no_clique_label(node, rng):
    """A tray whose NVLink domain the scheduler does not know"""
    node.place.clique = node.place.in_topology = False


def no_topology(node, rng):
    """The scheduler knows nothing of the network"""
    node.control.topology = "none"
    for one in node.control.nodes:
        one.place.in_topology = False


def topology_lacks_node(node, rng):
    """A node that the topology does not name"""
    node.place.in_topology = False


def partition_lacks_node(node, rng):
    """A node in a partition of its own: no job can have all of them"""
    node.place.partitions = ["spare"]


def accounting_off(node, rng):
    """No accounting"""
    node.control.accounting = "none"


def accounting_unregistered(node, rng):
    """The accounting database does not know this cluster"""
    node.control.accounting = "unregistered"


def gpus_not_accounted(node, rng):
    """Accounting that counts no GPUs"""
    node.control.config["AccountingStorageTRES"] = "cpu,mem,energy,node,billing,fs/disk,vmem,pages"


def slurm_setting(node, rng, *, key="RebootProgram", value="(null)"):
    """Another value in Slurm's configuration"""
    node.control.config[key] = value


def no_prolog(node, rng):
    """Neither prolog nor epilog"""
    node.control.config.update({"Prolog[0]": "(null)", "Epilog[0]": "(null)"})


def health_program_never_runs(node, rng):
    """A health program that is named, at an interval of 0: it never runs"""
    node.control.config["HealthCheckInterval"] = "0 sec"


def unchecked_return(node, rng):
    """Any node that registers is back in service, and no health program looks at it"""
    node.control.config.update({"ReturnToService": "2", "HealthCheckProgram": "(null)", "HealthCheckInterval": "0 sec"})


def no_backup_controller(node, rng):
    """A single controller"""
    node.control.backup = False


def dead_controller(node, rng, *, role="backup"):
    """A controller that is down"""
    node.control.dead_controllers.add(role)


def devices_not_constrained(node, rng):
    """A job sees GPUs that are not its own"""
    node.control.config["ConstrainDevices"] = "no"


def odd_agent_version(node, rng, *, version="24.05.1"):
    """A node whose slurmd or kubelet is of another release"""
    node.place.version = version


def node_busy(node, rng):
    """Near miss: a node with jobs on half of it"""
    node.place.base = "MIXED"


def node_planned(node, rng):
    """Near miss: an idle node that the backfill scheduler holds for a job to come"""
    node.place.flags = ["PLANNED"]


def reboot_when_idle(node, rng):
    """Near miss: a busy node that is to be rebooted once it is idle; it still takes jobs"""
    node.place.base, node.place.flags = "MIXED", ["REBOOT_REQUESTED"]


def no_gpu_agent(node, rng):
    """Neither a device plugin nor a driver of claims anywhere"""
    for purpose in ("nvidia_device_plugin", "gpu_dra_driver"):
        node.control.agents.pop(purpose, None)
    for one in node.control.nodes:
        one.place.device_plugin = False
