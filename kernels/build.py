#!/usr/bin/env python3
"""Compiles kernels/*.cu to the PTX beside them, and checks what is committed.

    kernels/build.py [--tools DIR]            writes kernels/*.ptx
    kernels/build.py [--tools DIR] --check    fails if they are not what the sources give, or if an
                                              architecture's assembler spills or needs many registers

The compiler and the assembler are pinned wheels (kernels/compiler.txt), installed with pip into DIR
(default target/kernel-tools); no CUDA installation is needed or used.
"""
import argparse
import ctypes
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CLASSES = ["int8", "int32", "int64", "half", "bfloat16", "float", "double", "f8e4m3", "f8e5m2"]
COLLECTIVES = ["copies", *(f"reduce_{name}" for name in CLASSES)]
SOURCES = ["check", *COLLECTIVES]
HEADERS = ["gen.h", "comm.h", "elements.h", "reduce.h"]
BASE = "compute_70"  # the oldest that the compiler takes and today's drivers run
PTX_VERSION = "7.0"  # what a driver of 2020 (R450) understands; ptxas proves that nothing newer is used
ASSEMBLE = ["sm_70", "sm_80", "sm_90", "sm_100", "sm_120"]
MAX_REGISTERS = 64  # four blocks of 256 threads on every multiprocessor
MAX_COLLECTIVE_REGISTERS = 128  # one of 512: what bounds a collective is the memory, not the blocks
# From here on launches may be made ready early; src/ffi/kernels/ptx.rs makes the same replacements.
EARLY = ["sm_90", "sm_100", "sm_120"]
EARLY_MARKS = [
    (".version 7.0", ".version 7.8"),
    (".target sm_70", ".target sm_90"),
    ("// await earlier launches", "griddepcontrol.wait;"),
    ("// admit the next launch", "griddepcontrol.launch_dependents;"),
]


def main():
    parser = argparse.ArgumentParser(description="Compiles kernels/*.cu to PTX.")
    parser.add_argument("--tools", type=pathlib.Path, default=HERE.parent / "target" / "kernel-tools")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; assemble")
    args = parser.parse_args()
    install(args.tools)
    stale = False
    for name in SOURCES:
        ptx, path = compile_ptx(args.tools, name), HERE / f"{name}.ptx"
        if args.check:
            stale |= differs(path, ptx)
            assemble(args.tools, name, ptx, ASSEMBLE)
            if name in COLLECTIVES:
                assemble(args.tools, f"{name} (early)", early(ptx), EARLY)
        else:
            path.write_text(ptx)
    if stale:
        sys.exit("error: committed PTX is not what the sources give\n\nhint: run `kernels/build.py`")


def install(tools):
    """Installs the pinned wheels, once for each state of the pins."""
    pins, done = HERE / "compiler.txt", tools / "done"
    if done.is_file() and done.read_text() == pins.read_text():
        return
    shutil.rmtree(tools, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", tools, "-r", pins], check=True)
    shutil.copy(pins, done)


def compile_ptx(tools, name):
    lib = load(tools)
    program = ctypes.c_void_p()
    source = (HERE / f"{name}.cu").read_bytes()
    count = len(HEADERS)
    names = (ctypes.c_char_p * count)(*(header.encode() for header in HEADERS))
    texts = (ctypes.c_char_p * count)(*((HERE / header).read_bytes() for header in HEADERS))
    need(lib, lib.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), count, texts, names))
    options = [f"--gpu-architecture={BASE}".encode(), b"--std=c++17"]
    code = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = [line for line in text_of(lib, program, "ProgramLog").splitlines() if line.strip()]
    # That old architectures will go is known: the pinned compiler has them.
    print(*(line for line in log if "may be removed in a future release" not in line), sep="\n", end="", file=sys.stderr)
    need(lib, code)
    ptx, lowered = re.subn(r"^\.version .*$", f".version {PTX_VERSION}", text_of(lib, program, "PTX"), flags=re.M)
    if lowered != 1:
        sys.exit("error: expected one .version line in the PTX")
    return ptx.rstrip("\n") + "\n"


def load(tools):
    folder = tools / "nvidia" / "cuda_nvrtc" / "lib"
    # The compiler looks for its builtins by name only; loaded first, they are found.
    for builtins in folder.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))
    lib.nvrtcGetErrorString.restype = ctypes.c_char_p
    return lib


def text_of(lib, program, what):
    size = ctypes.c_size_t()
    need(lib, getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    need(lib, getattr(lib, f"nvrtcGet{what}")(program, buffer))
    return buffer.value.decode()


def need(lib, code):
    if code != 0:
        sys.exit(f"error: NVRTC: {lib.nvrtcGetErrorString(code).decode()} ({code})")


def differs(path, ptx):
    committed = path.read_text() if path.is_file() else ""
    lines = difflib.unified_diff(committed.splitlines(), ptx.splitlines(), str(path.name), "from source", lineterm="")
    shown = list(lines)[:40]
    print("\n".join(shown), end="\n" if shown else "")
    return bool(shown)


def early(ptx):
    for mark, instruction in EARLY_MARKS:
        if mark not in ptx:
            sys.exit(f"error: no `{mark}` in the PTX")
        ptx = ptx.replace(mark, instruction)
    return ptx


def assemble(tools, name, ptx, architectures):
    """Fails on a spill, a stack frame, or more registers than the ceiling."""
    ptxas = tools / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"
    os.chmod(ptxas, 0o755)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernels.ptx"
        source.write_text(ptx)
        for arch in architectures:
            command = [ptxas, "-v", f"-arch={arch}", source, "-o", pathlib.Path(folder) / "kernels.cubin"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"error: ptxas -arch={arch}: {done.stderr}")
            report(name, arch, done.stderr)


def report(name, arch, log):
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    stack = [int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", log)]
    if not registers or not stack:
        sys.exit(f"error: ptxas -arch={arch} said nothing about registers or spills:\n{log}")
    if any(stack):
        sys.exit(f"error: {name} spills on {arch}:\n{log}")
    ceiling = MAX_REGISTERS if name == "check" else MAX_COLLECTIVE_REGISTERS
    if max(registers) > ceiling:
        sys.exit(f"error: {name} needs {max(registers)} registers on {arch}, more than {ceiling}:\n{log}")
    print(f"{name} {arch}: {len(registers)} kernels, at most {max(registers)} registers, no spills")


if __name__ == "__main__":
    main()
