"""Pages of the dashboard in a browser."""

from __future__ import annotations

PAGES = ("/", "/runs", "/papers", "/cards")
"""Addresses of all pages that need no parameter, which a browser tries for accessibility."""

PIXELS = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Map();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 200) continue;
    const colour = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    seen.set(colour, (seen.get(colour) ?? 0) + 1);
  }
  return Object.fromEntries([...seen].filter(([, count]) => count > 100));
}"""
