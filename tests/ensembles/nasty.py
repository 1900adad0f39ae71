"""A simulator that fails in every way. Its first argument names the way; see tests/test_ensemble.py."""

import os
import signal
import socket
import subprocess
import sys
import time


def detach(seconds: float, then: str = "") -> None:
    """A grandchild in a session of its own. It writes later than its parents end."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(seconds)
            if then:
                with open("out.txt", "w") as file:
                    file.write(then)
        os._exit(0)


def write(text: str) -> None:
    with open("out.txt", "w") as file:
        file.write(text)


way, value = sys.argv[1], sys.argv[2]
print(f"way {way}")
sys.stdout.flush()
if way == "exit":
    print("the matrix is singular", file=sys.stderr)
    sys.exit(3)
elif way == "signal":
    os.kill(os.getpid(), signal.SIGSEGV)
elif way == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    time.sleep(1000)
elif way == "missing":
    pass
elif way == "empty":
    write("")
elif way == "half":
    write("result: ")
elif way == "stars":
    write("result: *******\n")
elif way == "late":  # half of it now, the right result from a grandchild
    write("result: -1\n")
    detach(0.4, f"result: {value}\n")
elif way == "daemon":
    write(f"result: {value}\n")
    detach(1000)
elif way == "memory":
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; x = b'1' * (120 << 20); time.sleep(1000)"])
    child.wait()
elif way == "late memory":  # the command ends, and what it has started takes the memory
    write(f"result: {value}\n")
    subprocess.Popen([sys.executable, "-S", "-c", "import time; x = b'1' * (120 << 20); time.sleep(1000)"])
elif way == "input":
    with open("large.bin", "r+b") as large:
        large.write(b"changed")
    write(f"result: {value}\n")
elif way == "many":
    for number in range(200):
        with open(f"scratch{number}.tmp", "w") as file:
            file.write("x" * 100)
    write(f"result: {value}\n")
elif way == "stdin":
    write(f"result: {value}\n" if sys.stdin.read() == "" else "read something")
elif way == "modes":
    os.mkdir("locked")
    write(f"result: {value}\n")
    os.chmod("locked", 0)
elif way == "passed":  # gives the open output to a process outside of the member
    descriptor = os.open("out.txt", os.O_WRONLY | os.O_CREAT)
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(os.environ["HOLDER"])
        socket.send_fds(end, [b"x"], [descriptor])
        end.recv(1)
    os.write(descriptor, b"result: -1\n")
elif way == "full":
    with open("out.txt", "w") as file:
        file.write("x" * (4 << 20))
elif way == "flaky":
    count = len(os.listdir(os.environ["COUNTS"]))
    open(os.path.join(os.environ["COUNTS"], str(count)), "w").close()
    if count < 2:
        sys.exit(1)
    write(f"result: {value}\n")
else:
    write(f"result: {value}\n")
