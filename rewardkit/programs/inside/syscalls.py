"""The system calls that a Python program needs, and the two architectures' numbers for them.

A program may compute, keep time, use the files and descriptors that it can open, and start threads. All that is not
listed is refused: sockets, new processes, other programs, other processes' memory, modes, owners and times of files,
mounts, namespaces, shared memory that outlives a process, and calls that later kernels bring.
"""

from __future__ import annotations

from typing import Final

_BOTH: Final = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
openat 257 56, close 3 57, close_range 436 436, lseek 8 62, fstat 5 80, newfstatat 262 79, statx 332 291,
statfs 137 43, fstatfs 138 44, faccessat 269 48, faccessat2 439 439, readlinkat 267 78, getcwd 79 17, chdir 80 49,
fchdir 81 50, getdents64 217 61, mkdirat 258 34, unlinkat 263 35, renameat 264 38, renameat2 316 276, symlinkat 266 36,
truncate 76 45, ftruncate 77 46, fallocate 285 47, fadvise64 221 223, fsync 74 82, fdatasync 75 83, sendfile 40 71,
copy_file_range 326 285, umask 95 166, flock 73 32, dup 32 23, dup3 292 24, pipe2 293 59, eventfd2 290 19,
mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216, brk 12 214, madvise 28 233, msync 26 227,
membarrier 324 283, ppoll 271 73, pselect6 270 72, epoll_create1 291 20, epoll_ctl 233 21, epoll_pwait 281 22,
epoll_pwait2 441 441, futex 202 98, futex_waitv 449 449, set_robust_list 273 99, get_robust_list 274 100, rseq 334 293,
set_tid_address 218 96, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigsuspend 130 133, rt_sigtimedwait 128 137, rt_sigpending 127 136,
sigaltstack 131 132, restart_syscall 219 128, setitimer 38 103, getitimer 36 102, nanosleep 35 101,
clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, times 100 153,
getrusage 98 165, getrlimit 97 163, sysinfo 99 179, uname 63 160, getrandom 318 278, getcpu 309 168, getpid 39 172,
gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148,
getresgid 120 150, getgroups 115 158, getpgid 121 155, getsid 124 156, sendto 44 206, recvfrom 45 207, shutdown 48 210,
getsockname 51 204, getpeername 52 205, getsockopt 55 209, wait4 61 260, waitid 247 95, exit 60 93, exit_group 231 94
"""
_X86_ONLY: Final = """
open 2, creat 85, stat 4, lstat 6, access 21, readlink 89, getdents 78, mkdir 83, rmdir 84, unlink 87, rename 82,
symlink 88, dup2 33, pipe 22, poll 7, select 23, epoll_wait 232, pause 34, alarm 37, time 201, arch_prctl 158,
getpgrp 111
"""
_CONDITIONAL: Final = """
clone 56 220, clone3 435 435, openat2 437 437, kill 62 129, tgkill 234 131, socketpair 53 199, fcntl 72 25, ioctl 16 29,
prctl 157 167, prlimit64 302 261
"""


def _columns(table: str) -> dict[str, list[int]]:
    rows = (row.split() for row in table.replace("\n", " ").split(","))
    return {name: [int(number) for number in numbers] for name, *numbers in rows}


X86_64: Final = 0xC000003E
AARCH64: Final = 0xC00000B7
"""How the kernel names them."""
ARCHITECTURES: Final = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}

FREE: Final = {
    X86_64: [numbers[0] for numbers in (_columns(_BOTH) | _columns(_X86_ONLY)).values()],
    AARCH64: [numbers[1] for numbers in _columns(_BOTH).values()],
}
"""Allowed whatever the arguments are."""
CONDITIONAL: Final = {
    X86_64: {name: numbers[0] for name, numbers in _columns(_CONDITIONAL).items()},
    AARCH64: {name: numbers[1] for name, numbers in _columns(_CONDITIONAL).items()},
}
"""Allowed with some arguments, or refused as a kernel does that doesn't know the call."""
