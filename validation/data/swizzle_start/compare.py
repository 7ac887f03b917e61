#!/usr/bin/env python3
"""compare.py TCSIM: tiles that start inside the swizzle pattern, result bits against an H200's (README.md beside this file)."""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ALIGNED = "\tand.b32 %r7, %r7, -1024;\n"
DESCRIPTOR = 0x4000004000010000


def result(program, row, folder):
    """Bytes of C of the kernel, its tiles moved and its descriptors given a base offset."""
    text = (HERE / "kernel.ptx").read_text()
    assert ALIGNED in text and hex(DESCRIPTOR) in text
    text = text.replace(ALIGNED, ALIGNED + f"\tadd.s32 %r7, %r7, {row['offset']};\n").replace(hex(DESCRIPTOR), hex(DESCRIPTOR | row["base_offset"] << 49))
    (folder / "k.ptx").write_text(text)
    command = [program, "run", folder / "k.ptx", "--launch", HERE / "launch.toml", "--arch", "h200", "--mode", "functional", "--quiet", "--dump", f"C={folder / 'c.bin'}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # warns of each start inside the pattern
    return (folder / "c.bin").read_bytes()


def main():
    rows, bad = json.loads((HERE / "h200.json").read_text()), 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            same = hashlib.sha256(result(sys.argv[1], row, pathlib.Path(folder))).hexdigest()[:16] == row["sha256_16"]
            bad += not same
            print(f"offset {row['offset']:>3} base offset {row['base_offset']}: {'equal' if same else 'DIFFERS'}")
    print(f"{len(rows) - bad} of {len(rows)} equal an H200's bits")
    return bad != 0 or not rows


if __name__ == "__main__":
    sys.exit(main())
