"""Attacks from inside a sandbox, executed by the sandbox's Python; see test_hardening.

Each attack returns if it succeeds and raises ``OSError`` if it is refused. Successful attacks do no
harm: files are rewritten with their own content.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

Attack = Callable[[], object]
ATTACKS: dict[str, Attack] = {}
_libc = ctypes.CDLL(None, use_errno=True)
_ARM = platform.machine() == "aarch64"
# x86_64, aarch64
_NUMBERS = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282), "kexec_load": (246, 104), "init_module": (175, 105),
    "delete_module": (176, 106), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "quotactl": (179, 60), "swapon": (167, 224), "acct": (163, 89), "reboot": (169, 142),
    "syslog": (103, 116), "pivot_root": (155, 41), "fsopen": (430, 430), "unshare": (272, 97),
    "setns": (308, 268), "clone3": (435, 435), "ptrace": (101, 117), "capset": (126, 91),
    "mount": (165, 40), "umount2": (166, 39), "sethostname": (170, 161),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "vhangup": (153, 58),
    "open_tree": (428, 428), "personality": (135, 92), "fallocate": (285, 47),
    "process_vm_readv": (310, 270),
}  # fmt: skip


def syscall(name: str, *arguments: object) -> int:
    """Make a system call by its number; raises ``OSError`` if it fails."""
    ctypes.set_errno(0)
    c_arguments = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = _libc.syscall(ctypes.c_long(_NUMBERS[name][_ARM]), *c_arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def expect_permitted(refused_errno: int, name: str, *arguments: object) -> None:
    """Make a system call; succeeds unless the kernel denies permission for it."""
    try:
        syscall(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, refused_errno):
            raise


def attack(name: str) -> Callable[[Attack], Attack]:
    def register(function: Attack) -> Attack:
        ATTACKS[name] = function
        return function

    return register


def rewrite(path: str) -> None:
    """Write a file's own content to it."""
    file = Path(path)
    file.write_bytes(file.read_bytes() or b"\n")


def create_device(kind: int, major: int, minor: int) -> None:
    os.mknod("/tmp/device", 0o600 | kind, os.makedev(major, minor))
    Path("/tmp/device").unlink()


def read_start(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read(4)


def read_unless_masked(read: Callable[[], object]) -> None:
    """Read something; what is masked is empty."""
    if not read():
        raise OSError(errno.EACCES, "masked")


# Capabilities


ATTACKS["create a block device"] = lambda: create_device(0o060000, 8, 0)
ATTACKS["create a memory device"] = lambda: create_device(0o020000, 1, 1)
ATTACKS["open a raw socket"] = lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
ATTACKS["open a packet socket"] = lambda: socket.socket(17, socket.SOCK_RAW)
ATTACKS["open a socket of the kernel's crypto API"] = lambda: socket.socket(38, 5)
ATTACKS["open a vsock to the hypervisor"] = lambda: socket.socket(40, socket.SOCK_STREAM)
ATTACKS["chroot"] = lambda: os.chroot("/tmp")
ATTACKS["pivot_root"] = lambda: expect_permitted(-1, "pivot_root", b"/nowhere", b"/nowhere")
ATTACKS["set the host name"] = lambda: syscall("sethostname", b"sandbox", 7)
ATTACKS["reboot"] = lambda: expect_permitted(-1, "reboot", 1, 2, 3, 0)
ATTACKS["read the kernel log"] = lambda: syscall("syslog", 3, ctypes.create_string_buffer(99), 99)
ATTACKS["enable process accounting"] = lambda: expect_permitted(-1, "acct", b"/nowhere")
ATTACKS["add swap"] = lambda: expect_permitted(-1, "swapon", b"/nowhere", 0)
ATTACKS["set a disk quota"] = lambda: expect_permitted(-1, "quotactl", 0x800007, b"/nowhere", 0, 0)
ATTACKS["load another kernel"] = lambda: expect_permitted(-1, "kexec_load", 0, 99, 0, 0)
ATTACKS["load a kernel module"] = lambda: expect_permitted(-1, "init_module", b"x", 1, b"")
ATTACKS["remove a kernel module"] = lambda: expect_permitted(
    -1, "delete_module", b"no_such_module", 0
)
ATTACKS["slow the clock"] = lambda: syscall(
    "adjtimex", ctypes.create_string_buffer(struct.pack("I", 0x8000), 256)
)
ATTACKS["raise the file size limit"] = lambda: resource.setrlimit(
    resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
)
ATTACKS["lower the OOM score"] = lambda: Path("/proc/self/oom_score_adj").write_text("-1000")
ATTACKS["raise the priority"] = lambda: os.setpriority(os.PRIO_PROCESS, 0, -10)
ATTACKS["use real-time scheduling"] = lambda: os.sched_setscheduler(
    0, os.SCHED_FIFO, os.sched_param(1)
)


@attack("set the clock")
def _() -> None:
    now = time.time()
    syscall("clock_settime", 0, struct.pack("qq", int(now), int(now % 1 * 1e9)))


@attack("regain capabilities")
def _() -> None:
    everything = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF, 0xFFFFFFFF, 0, 0x1FF, 0x1FF, 0])
    syscall("capset", (ctypes.c_uint32 * 2)(0x20080522, 0), everything)


@attack("set file capabilities")
def _() -> None:
    Path("/tmp/capable").touch()
    grant = struct.pack("<IIIII", 0x02000001, 1 << 21, 0, 0, 0)
    os.setxattr("/tmp/capable", "security.capability", grant)


@attack("raise the open files limit")
def _() -> None:
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit + 1, hard_limit + 1))


# Mounts


ATTACKS["mount a file system"] = lambda: syscall("mount", b"t", b"/mnt", b"tmpfs", 0, 0)
ATTACKS["mount a cgroup hierarchy"] = lambda: syscall(
    "mount", b"c", b"/mnt", b"cgroup", 0, b"none,name=attack"
)
ATTACKS["mount debugfs"] = lambda: syscall("mount", b"d", b"/mnt", b"debugfs", 0, 0)
ATTACKS["bind mount a folder"] = lambda: syscall("mount", b"/etc", b"/mnt", 0, 4096, 0)
ATTACKS["remount a file system writable"] = lambda: syscall(
    "mount", 0, b"/proc/sys", 0, 32 | 4096, 0
)
ATTACKS["remount a file system with devices"] = lambda: syscall(
    "mount", 0, b"/tmp", 0, 32 | 4096, 0
)
ATTACKS["unmount a masked path"] = lambda: syscall("umount2", b"/proc/kcore", 2)
ATTACKS["open a file system with fsopen"] = lambda: syscall("fsopen", b"tmpfs", 0)
ATTACKS["clone a mount tree"] = lambda: syscall("open_tree", -100, b"/etc", 1)


# Devices


_DEVICES = (
    "mem", "kmem", "port", "kmsg", "fuse", "kvm", "loop-control", "net/tun", "sda", "vda",
    "nvme0n1", "mapper/control", "vhost-net", "uinput", "hwrng",
)  # fmt: skip
for _device in _DEVICES:
    ATTACKS[f"open /dev/{_device}"] = lambda device=_device: os.open(  # type: ignore[misc]
        f"/dev/{device}", os.O_RDONLY | os.O_NONBLOCK
    )


@attack("find an unneeded device")
def _() -> None:
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
    folders = [Path("/dev"), Path("/dev/shm"), Path("/dev/mqueue")]
    found = {each.name for folder in folders for each in folder.iterdir() if is_device(each)}
    if found <= harmless:
        raise OSError(errno.ENODEV, "nothing else")


def is_device(path: Path) -> bool:
    return not path.is_symlink() and (path.is_block_device() or path.is_char_device())


# /proc and /sys


for _path in (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/randomize_va_space", "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/net/ipv4/ip_forward", "/proc/irq/default_smp_affinity",
    "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_helper",
    "/sys/power/state", "/sys/module/kernel/parameters/consoleblank",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max",
    "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/devices/devices.allow",
    "/sys/kernel/security/apparmor/.replace",
):  # fmt: skip
    ATTACKS[f"write {_path}"] = lambda path=_path: rewrite(path)  # type: ignore[misc]


ATTACKS["write /proc/sysrq-trigger"] = lambda: Path("/proc/sysrq-trigger").write_text("h")
ATTACKS["read kernel memory"] = lambda: read_unless_masked(lambda: read_start("/proc/kcore"))
ATTACKS["list /sys/firmware"] = lambda: read_unless_masked(
    lambda: list(Path("/sys/firmware").iterdir())
)
ATTACKS["list keys of others"] = lambda: read_unless_masked(Path("/proc/keys").read_bytes)


# Namespaces and other processes


for _name, _flag in {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "network": 0x40000000,
                     "cgroup": 0x2000000}.items():  # fmt: skip
    ATTACKS[f"create a {_name} namespace with unshare"] = lambda flag=_flag: syscall(  # type: ignore[misc]
        "unshare", flag
    )


@attack("create a user namespace with clone3")
def _() -> None:
    arguments = struct.pack("11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
    if syscall("clone3", arguments, len(arguments)) == 0:
        os._exit(0)


ATTACKS["enter a namespace"] = lambda: syscall("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)
ATTACKS["trace a host process"] = lambda: syscall("ptrace", 16, int(sys.argv[1]), 0, 0)
ATTACKS["signal a host process"] = lambda: os.kill(int(sys.argv[1]), 0)
ATTACKS["read the memory of a host process"] = lambda: read_start(f"/proc/{sys.argv[1]}/mem")
ATTACKS["see the application's files"] = lambda: Path(sys.argv[2]).stat()


@attack("list host processes")
def _() -> None:
    commands = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline")]
    if len(commands) < 20 and not any(b"dockerd" in each or b"pytest" in each for each in commands):
        raise OSError(errno.ESRCH, "only its own")


@attack("find the application's key in a process")
def _() -> None:
    own = str(os.getpid())
    for path in Path("/proc").glob("[0-9]*/*"):
        readable = path.name in ("environ", "cmdline") and path.parent.name != own
        if readable and b"sk-of-the-host" in path.read_bytes():
            return
    raise OSError(errno.ENOENT, "nowhere")


@attack("see the application's files through a process root")
def _() -> None:
    for root in Path("/proc").glob("[0-9]*/root"):
        if Path(f"{root}{sys.argv[2]}").exists():
            return
    raise OSError(errno.ENOENT, "nowhere")


@attack("open a file by its handle")
def _() -> None:
    handle = struct.pack("IiQ", 8, 1, 2)  # the root of the file system
    expect_permitted(errno.ESTALE, "open_by_handle_at", os.open("/", os.O_RDONLY), handle, 0)


@attack("connect to the engine's socket")
def _() -> None:
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock",
                  "/run/podman/podman.sock", "\0/containerd-shim/"):  # fmt: skip
        try:
            socket.socket(socket.AF_UNIX).connect(path)
        except OSError:
            continue
        return
    raise OSError(errno.ENOENT, "nowhere")


# Unneeded parts of the kernel


ATTACKS["add a kernel key"] = lambda: syscall("add_key", b"user", b"k", b"v", 1, -3)
ATTACKS["request a kernel key"] = lambda: expect_permitted(126, "request_key", b"user", b"k", 0, -3)
ATTACKS["join the session keyring"] = lambda: syscall("keyctl", 1, 0, 0, 0, 0)
ATTACKS["load a BPF program"] = lambda: syscall(
    "bpf", 0, struct.pack("IIIII", 2, 4, 4, 1, 0) + bytes(100), 120
)
ATTACKS["open performance counters"] = lambda: syscall(
    "perf_event_open", struct.pack("IIQQQQ", 1, 64, 0, 0, 0, 0) + bytes(24), -1, 0, -1, 0
)
ATTACKS["io_uring"] = lambda: syscall("io_uring_setup", 1, ctypes.create_string_buffer(120))
ATTACKS["userfaultfd"] = lambda: syscall("userfaultfd", 0)
ATTACKS["watch all files with fanotify"] = lambda: syscall("fanotify_init", 0, 0)
ATTACKS["disable address randomization"] = lambda: syscall("personality", 0x0040000)
ATTACKS["hang up the terminal"] = lambda: syscall("vhangup")


@attack("allocate disk space with fallocate")
def _() -> None:
    file = os.open("/tmp/filled", os.O_RDWR | os.O_CREAT)
    syscall("fallocate", file, 0, 0, 1 << 20)


@attack("set the immutable flag")
def _() -> None:
    file = os.open("/tmp/immutable", os.O_RDWR | os.O_CREAT)
    fcntl.ioctl(file, 0x40086602, struct.pack("L", 0x10))
    fcntl.ioctl(file, 0x40086602, struct.pack("L", 0))


def run_in_child(attempt: Attack) -> int:
    """Run an attack in a child process; returns 0 if it succeeded, or its error number."""
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        try:
            attempt()
        except OSError as error:
            os._exit(error.errno or 255)
        except ValueError:  # Python's error for a limit that may not be raised
            os._exit(errno.EPERM)
        os._exit(0)
    return abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def main() -> None:
    """Run all attacks; prints JSON, name → error, or an empty text for a success."""
    codes = {name: run_in_child(attempt) for name, attempt in ATTACKS.items()}
    errors = {name: errno.errorcode.get(code, str(code)) for name, code in codes.items()}
    print(json.dumps({name: errors[name] if code else "" for name, code in codes.items()}))


if __name__ == "__main__":
    main()
