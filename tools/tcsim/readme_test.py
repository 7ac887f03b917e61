#!/usr/bin/env python3
"""readme_test.py TCSIM [--quick] [--only WORD] FILE.md...: the documents say what the program does.

Takes every command of the code blocks that begins with build/release/bin/tcsim, with or without "$ " before it, and runs it with TCSIM in an
empty folder that has the source tree's files. Below a "$ command" of a fenced block stands what it prints: these lines must come in this
order and without a gap; [...] stands for any lines that were left out or, inside a line, for any text. "# exits with N" after a command says
that it fails. A difference is printed: mend the document, or the program. Options and links are checked in every mode; --quick runs
only the verbs that simulate nothing.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = "build/release/bin/tcsim"
ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTANT = {"layout", "swizzle", "banks", "descriptor", "tensormap", "tmem", "arch", "disasm", "help"}
HOURS = {"validate"}  # every measured kernel: has tests of its own
LEFT_OUT = "[...]"


class Command:
    def __init__(self, path, line, text):
        self.where, self.text, self.shown = f"{path.name}:{line}", text, []
        exits = re.search(r"# exits with (\d+)", text)
        self.exit_code = int(exits.group(1)) if exits else 0
        words = shlex.split(text, comments=True)
        self.of_program = words[0] == PROGRAM
        self.verb = words[1] if self.of_program and len(words) > 1 else ""
        self.options = [word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)] if self.of_program else []


def code_lines(path):
    """(line number, text, fenced) of the code blocks; None between two blocks."""
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            yield None
        elif fenced:
            yield number, line, True
        elif line.startswith("    "):
            yield number, line[4:], False
        else:
            yield None


def commands_of(path):
    found, open_command = [], None
    for entry in code_lines(path):
        if entry is None:
            open_command = None
            continue
        number, line, fenced = entry
        if line.startswith("$ "):
            open_command = Command(path, number, line[2:])
            found.append(open_command)
        elif line.startswith(PROGRAM):
            found.append(Command(path, number, line))
        elif fenced and open_command:
            open_command.shown.append(line.rstrip())
    return found


def pattern_of(line):
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\s*\[\.\.\.\]\s*", line)) + r"\s*")


def pieces(shown):
    """The lines shown, cut where whole lines were left out; empty lines at the ends do not count."""
    piece, all_pieces = [], []
    for line in shown + [LEFT_OUT]:
        if line.strip() != LEFT_OUT:
            piece.append(line)
            continue
        while piece and not piece[0]:
            piece.pop(0)
        while piece and not piece[-1]:
            piece.pop()
        if piece:
            all_pieces.append(piece)
        piece = []
    return all_pieces


def difference(shown, printed):
    """'' or what does not agree."""
    at = 0
    for piece in pieces(shown):
        patterns = [pattern_of(line) for line in piece]
        fits = (start for start in range(at, len(printed) - len(piece) + 1)
                if all(pattern.fullmatch(line) for pattern, line in zip(patterns, printed[start:])))
        start = next(fits, None)
        if start is None:
            rest = printed[at:]
            close = difflib.get_close_matches(piece[0], rest, 1, 0.5)
            near = rest[rest.index(close[0]):][:len(piece)] if close else rest[:len(piece)]
            return "\n".join(["  the document shows"] + ["    - " + line for line in piece] + ["  the program prints"] + ["    + " + line for line in near])
        at = start + len(piece)
    return ""


def run(command, folder):
    done = subprocess.run(["bash", "-c", command.text], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != command.exit_code:
        return f"  exit code {done.returncode}, expected {command.exit_code}\n{done.stdout[-2000:]}"
    return difference(command.shown, [line.rstrip() for line in done.stdout.splitlines()])


def unknown_options(command, helps, tcsim):
    if command.verb not in helps:
        asked = subprocess.run([tcsim, "help", command.verb], stdout=subprocess.PIPE, text=True)
        helps[command.verb] = asked.stdout if asked.returncode == 0 else None
    text = helps[command.verb]
    if text is None:
        return f"  tcsim has no verb '{command.verb}'"
    return "\n".join(f"  tcsim {command.verb} has no option {option}" for option in command.options
                     if not re.search(rf"(^|[\s,]){re.escape(option)}($|[\s,=])", text, re.M))


def dead_links(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if "://" not in target and not (path.parent / target).exists():
            yield f"{path.name}: nothing is at {target}"


def sandbox(folder, tcsim):
    """The tree's files by the names that the documents use, and the program under test."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", ".git"):
            os.symlink(entry, folder / entry.name)
    (folder / PROGRAM).parent.mkdir(parents=True)
    os.symlink(tcsim, folder / PROGRAM)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcsim", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="commands with this word")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    tcsim, helps, faults, runs, lines = args.tcsim.resolve(), {}, [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        sandbox(pathlib.Path(folder), tcsim)
        for path in args.files:
            for fault in dead_links(path):
                faults.append(fault)
                print(fault, flush=True)
            for command in commands_of(path):
                if args.only not in command.text:
                    continue
                fault = unknown_options(command, helps, tcsim) if command.of_program else ""
                if not fault and command.verb not in HOURS and (not args.quick or command.verb in INSTANT):
                    fault = run(command, folder)
                    runs, lines = runs + 1, lines + sum(len(piece) for piece in pieces(command.shown))
                if fault:
                    faults.append(f"{command.where}: {command.text}\n{fault}")
                    print(faults[-1], flush=True)
    print(f"{runs} commands run, {lines} lines of output compared, {len(faults)} faults")
    if not runs:
        faults.append("no command was found")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
