"""Flame graphs of queries: where the processor's time goes, as an SVG.

    python tools/flamegraph.py docs/results/flame-complex-3.svg -- \\
        target/release/telar bench snb --data snb/sf0.1-gen.tar.zst --mixed 0 --rounds 1 --turn 3000 --only complex-3

(`telar bench` needs `telar-bench` beside it.) Runs the command under `perf record` (stacks by DWARF, so that no build of its own is needed), keeps the
samples below `--root`, and draws them: a frame is as wide as the share of samples in which it was on the
stack, callers below, callees above, sorted by name. Colours tell the crates apart. Point at a frame for its
full name and share. Frames below `--least` percent are left out.
"""

import argparse
import collections
import html
import os
import re
import subprocess
import tempfile

WIDTH, ROW, CHAR = 1200, 16, 6.6
COLOURS = [("telar_engine", "#e8a04c"), ("telar_query", "#e06c5c"), ("telar_graph", "#d8c050"),
           ("telar", "#c88ac8"), ("core", "#9cb4cc"), ("alloc", "#9cb4cc"), ("std", "#9cb4cc")]
OTHER = "#b8b8b8"


def record(command, frequency):
    """Stacks of the command, from the innermost frame outwards."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        subprocess.run(["perf", "record", "-q", "-o", data, "-F", str(frequency), "--call-graph", "dwarf,32768",
                        "--", *command], check=True, stdout=subprocess.DEVNULL)
        said = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for block in said.stdout.split("\n\n"):
        frames = [line.split(None, 1) for line in block.split("\n")[1:] if line.strip()]
        yield [frame[1] if len(frame) > 1 else "[unknown]" for frame in frames]


def short(name):
    """`<telar_query::exec::project::Keep as telar_query::exec::Operator>::next` is `exec::project::Keep::next`."""
    name = re.sub(r"::h[0-9a-f]{16}$|\.llvm\.\d+$|\.cold$", "", name)
    name = re.sub(r"<(.*?) as .*?>(::|$)", r"\1\2", name)
    while (plain := re.sub(r"(::)?<[^<>]*>", "", name)) != name:
        name = plain
    return name.strip("<>") or "[unknown]"


class Frame:
    def __init__(self):
        self.samples, self.inner = 0, collections.defaultdict(Frame)


def fold(stacks, root):
    """The tree of frames from `root` outwards in, and how many samples have it."""
    tree = Frame()
    for stack in stacks:
        names = [short(name) for name in reversed(stack)]
        at = next((at for at, name in enumerate(names) if root in name), None)
        if at is None:
            continue
        tree.samples += 1
        frame, before = tree, None
        for name in names[at:]:
            if name == before:
                continue  # A function that calls itself is one frame.
            frame, before = frame.inner[name], name
            frame.samples += 1
    return tree


def depth(frame, least):
    return 1 + max((depth(inner, least) for inner in frame.inner.values() if inner.samples >= least), default=0)


def draw(frame, x, level, scale, least, height, total, lines):
    for name, inner in sorted(frame.inner.items()):
        width = inner.samples * scale
        if inner.samples >= least:
            colour = next((colour for crate, colour in COLOURS if name.startswith(crate)), OTHER)
            y = height - (level + 1) * ROW
            label = re.sub(r"^telar_\w+::", "", name)
            label = label[-int(width / CHAR) + 1:] if len(label) * CHAR > width else label
            title = html.escape(f"{name}: {inner.samples / total:.1%}")
            text = html.escape(label) if width > 4 * CHAR else ""
            lines.append(f'<g><title>{title}</title><rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" '
                         f'height="{ROW - 1}" fill="{colour}"/>'
                         + (f'<text x="{x + 2:.1f}" y="{y + 11}">{text}</text>' if text else "") + "</g>")
            draw(inner, x, level + 1, scale, least, height, total, lines)
        x += width


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("svg")
    parser.add_argument("--root", default="Session::run_with", help="samples outside of this function are left out")
    parser.add_argument("--least", type=float, default=0.4, help="percent of the samples that a frame needs")
    parser.add_argument("--frequency", type=int, default=997, help="samples per second")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    tree = fold(record(options.command, options.frequency), options.root)
    if not tree.samples:
        raise SystemExit(f"no sample is in {options.root}")
    least = max(1, tree.samples * options.least / 100)
    height = (depth(tree, least) + 1) * ROW
    title = html.escape(f"{os.path.basename(options.svg)}: {tree.samples} samples in {options.root}")
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             'font-family="monospace" font-size="11">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/><text x="4" y="12">{title}</text>']
    draw(tree, 0, 0, WIDTH / tree.samples, least, height, tree.samples, lines)
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>\n"]))
    # The functions that take most themselves.
    own = collections.Counter()

    def walk(frame):
        for name, inner in frame.inner.items():
            own[name] += inner.samples - sum(i.samples for i in inner.inner.values())
            walk(inner)

    walk(tree)
    for name, samples in own.most_common(12):
        print(f"{samples / tree.samples:6.1%}  {name}")


if __name__ == "__main__":
    main()
