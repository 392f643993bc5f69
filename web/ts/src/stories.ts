// What limited each flow and what cost it most, in the words of `orchestrator explain`; loaded when it is opened.

import { fetchJson, type Stories } from "./api";
import { element } from "./chart";
import type { Look } from "./series";
import { digits, rate } from "./style";
import { swatch } from "./swatch";

type Story = Stories["flows"][number];

/** Start the table of the page, if it has one. What fails is tried again when the table is opened again. */
export function startStories(look: Look): void {
  const place = document.getElementById("stories");
  const [rows, said] = [place?.querySelector("tbody"), place?.querySelector("[role=status]")];
  if (!(place instanceof HTMLDetailsElement) || !rows || !said) return;
  let state: "closed" | "loading" | "shown" = "closed";
  place.addEventListener("toggle", () => void (place.open && state === "closed" && load()));
  if (place.open) void load();

  async function load(): Promise<void> {
    if (!place || !rows || !said) return;
    state = "loading";
    place.setAttribute("aria-busy", "true");
    said.textContent = "The trace is read.";
    try {
      const { flows } = await fetchJson<Stories>(place.dataset.api ?? "");
      rows.replaceChildren(...flows.map(row));
      said.textContent = flows.length === 1 ? "1 flow" : `${flows.length} flows`;
      state = "shown";
    } catch (error) {
      said.textContent = `Cannot be shown: ${(error as Error).message}`;
      state = "closed";
    }
    place.removeAttribute("aria-busy");
  }

  function row({ flow, limited_by, costliest }: Story): HTMLTableRowElement {
    const shares = Object.entries(limited_by ?? {}).map(([what, share]) => element("div", { textContent: `${what} ${digits(100 * share, 3)}%` }));
    return element("tr", {}, element("th", { scope: "row" }, swatch(look(flow)), ` ${flow}`),
      element("td", {}, ...(limited_by ? shares : ["–"])),
      element("td", { className: "wrap" }, ...costliest.map((one) => element("div", { textContent: sentence(one) }))));
  }
}

function sentence({ time_s, until_s, is_back, cost_bytes, level_bps, kinds, events }: Story["costliest"][number]): string {
  // Two digits: the cost hangs on the rate in one RTT.
  const cost = rate(Number(cost_bytes.toPrecision(2)), "B", 2);
  const [what, begin, end] = [kinds.join(", "), `${time_s.toFixed(6)} s`, `${until_s.toFixed(6)} s`];
  const back = is_back ? "" : ", when it was not yet back";
  if (events > 1) return `From ${begin} a chain of ${events} events (${what}), ${rate(level_bps)} before it: ${cost} less in all, until ${end}${back}.`;
  if (kinds.includes("handshake")) return `At ${begin} ${what}: ${cost} less than at the mean rate of ${rate(level_bps)} after it, until ${end}.`;
  return `At ${begin} ${what}: ${cost} less than at the ${rate(level_bps)} before, until ${end}${back}.`;
}
