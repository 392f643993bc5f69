// The drawing of the network: a flow's path is marked, and links lead to their queues over time.

const read = (element: Element, name: string) => JSON.parse(element.getAttribute(name) ?? "[]") as string[];

export function startNetwork(showQueues: (names: string[]) => void): void {
  const drawing = document.querySelector("svg.network");
  if (!drawing) return;
  const parts = [...drawing.querySelectorAll("[data-links]")].map((part) =>
    ({ part, links: new Set(read(part, "data-links")) }));

  /** Mark the links of the channels, such as `bottleneck:forward`, and no others. */
  function mark(channels: string[]): void {
    const links = channels.map((name) => name.slice(0, name.lastIndexOf(":")));
    for (const { part, links: own } of parts) part.classList.toggle("marked", links.some((name) => own.has(name)));
  }

  for (const box of document.querySelectorAll<HTMLElement>("#flows [data-path]")) {
    const row = box.closest("tr");
    const show = () => mark(read(box, "data-path"));
    row?.addEventListener("mouseenter", show);
    row?.addEventListener("focusin", show);
    row?.addEventListener("mouseleave", () => mark([]));
    row?.addEventListener("focusout", () => mark([]));
  }
  for (const anchor of drawing.querySelectorAll("a[data-queues]")) {
    anchor.addEventListener("click", (event) => {
      event.preventDefault(); // the address keeps the part of the time
      showQueues(read(anchor, "data-queues"));
    });
  }
}
