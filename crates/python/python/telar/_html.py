"""How notebooks show a result: a drawing of a small graph, a table of anything else."""

from html import escape as _escape

from . import _telar

ROWS_MAX = 20
NODES_MAX = 120
CELL_MAX = 80
# Colours of labels, in turn: dark enough for white text.
COLOURS = ("#35608f", "#a3503f", "#4c7a4c", "#7b5a93", "#8a6d1f", "#2f7a7a", "#97476f", "#5b5f66")


def _short(text, longest=CELL_MAX):
    text = str(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def result(result):
    """HTML of a result."""
    nodes, relationships = result.graph()
    drawing = ""
    if nodes and len(nodes) <= NODES_MAX:
        drawing = graph(nodes, relationships)
    return f'<div class="telar">{drawing}{table(result)}</div>'


def table(result):
    """The first rows as a table."""
    head = "".join(f"<th>{_escape(name)}</th>" for name in result.columns)
    shown = min(len(result), ROWS_MAX)
    rows = []
    for row in range(shown):
        cells = "".join(f"<td>{_escape(_short(value))}</td>" for value in result[row])
        rows.append(f"<tr>{cells}</tr>")
    counted = f"{len(result):,} row" + "s" * (len(result) != 1)
    more = f", the first {shown}" if shown < len(result) else ""
    changed = ", ".join(f"{name.replace('_', ' ')}: {n:,}" for name, n in result.counters.items())
    foot = counted + more + (f" · {changed}" if changed else "")
    if not result.columns:
        return f"<p>{_escape(changed or 'no changes')}</p>"
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"<p><small>{_escape(foot)}</small></p>"
    )


def caption(node):
    """What is written in a node: a name if it has one, else its number."""
    for key in ("name", "title", "label", "id"):
        if isinstance(node.get(key), (str, int)):
            return str(node[key])
    for key in sorted(node.keys()):
        if isinstance(node[key], str):
            return node[key]
    return str(node.id)


def graph(nodes, relationships):
    """A drawing as SVG: nodes by their first label in a colour, relationships with their type."""
    position = {node.id: at for at, node in enumerate(nodes)}
    edges = [r for r in relationships if r.start_id in position and r.end_id in position]
    places = _telar._layout(
        len(nodes), [(position[r.start_id], position[r.end_id]) for r in edges]
    )
    width = height = max(260, min(760, 150 + 55 * int(len(nodes) ** 0.5 + 1)))
    radius = 22 if len(nodes) <= 40 else 14
    margin = radius + 12
    points = [
        (margin + x * (width - 2 * margin), margin + y * (height - 2 * margin)) for x, y in places
    ]
    labels = sorted({min(node.labels) for node in nodes if node.labels})
    colours = {label: COLOURS[at % len(COLOURS)] for at, label in enumerate(labels)}

    lines = []
    seen = {}
    for relationship in edges:
        start, end = position[relationship.start_id], position[relationship.end_id]
        pair = (min(start, end), max(start, end))
        bend = seen[pair] = seen.get(pair, -1) + 1
        lines.append(_line(relationship, points[start], points[end], radius, bend))
    circles = []
    for node, (x, y) in zip(nodes, points):
        label = min(node.labels) if node.labels else None
        colour = colours.get(label, "#777777")
        title = f":{':'.join(sorted(node.labels))} {_short(node.properties, 300)}"
        circles.append(
            f'<g><title>{_escape(title)}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="middle" fill="#fff" '
            f'font-size="10">{_escape(_short(caption(node), 9))}</text></g>'
        )
    legend = "".join(
        f'<span style="color:{colours[label]}">●</span> {_escape(label)} &nbsp;' for label in labels
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" role="img" '
        f'aria-label="{len(nodes)} nodes, {len(edges)} relationships">'
        '<defs><marker id="telar-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" '
        'markerHeight="6" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#888"/>'
        f"</marker></defs>{''.join(lines)}{''.join(circles)}</svg><p><small>{legend}</small></p>"
    )


def _line(relationship, start, end, radius, bend):
    """A relationship: straight if it is the first of its pair, else bent aside; a loop to itself."""
    (x1, y1), (x2, y2) = start, end
    if relationship.start_id == relationship.end_id:
        size = radius * (1.6 + 0.5 * bend)
        path = f"M{x1 - radius * 0.6:.1f} {y1 - radius * 0.8:.1f}C{x1 - size:.1f} "
        path += f"{y1 - size * 2:.1f} {x1 + size:.1f} {y1 - size * 2:.1f} "
        path += f"{x1 + radius * 0.6:.1f} {y1 - radius * 0.8:.1f}"
        middle = (x1, y1 - size * 1.75)
    else:
        dx, dy = x2 - x1, y2 - y1
        length = max((dx * dx + dy * dy) ** 0.5, 1e-6)
        ux, uy = dx / length, dy / length
        aside = ((bend + 1) // 2) * (1 if bend % 2 else -1) * 26
        # The side is that of the pair, not of the direction.
        if relationship.start_id > relationship.end_id:
            aside = -aside
        middle = ((x1 + x2) / 2 - uy * aside, (y1 + y2) / 2 + ux * aside)
        x1, y1 = x1 + ux * radius, y1 + uy * radius
        x2, y2 = x2 - ux * (radius + 2), y2 - uy * (radius + 2)
        path = f"M{x1:.1f} {y1:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {x2:.1f} {y2:.1f}"
    title = f":{relationship.type} {_short(relationship.properties, 300)}"
    return (
        f'<g><title>{_escape(title)}</title>'
        f'<path d="{path}" fill="none" stroke="#888" stroke-width="1.2" '
        'marker-end="url(#telar-arrow)"/>'
        f'<text x="{middle[0]:.1f}" y="{middle[1]:.1f}" dy="-3" text-anchor="middle" fill="#666" '
        f'font-size="9">{_escape(_short(relationship.type, 18))}</text></g>'
    )
