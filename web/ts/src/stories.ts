// What limited each flow and what cost it most, in the words of `orchestrator explain`; loaded when it is opened.

import { fetchJson, type Stories } from "./api";
import { element } from "./chart";
import type { Look } from "./series";
import { amount, digits, rate } from "./style";
import { swatch } from "./swatch";

type Story = Stories["flows"][number];

/** Start the table of the page, if it has one. */
export function startStories(look: Look): void {
  const place = document.getElementById("stories");
  const rows = place?.querySelector("tbody");
  if (!place || !rows) return;
  place.addEventListener("toggle", () => void load(), { once: true });

  async function load(): Promise<void> {
    try {
      const { flows } = await fetchJson<Stories>(place?.dataset.api ?? "");
      rows?.replaceChildren(...flows.map(row));
    } catch (error) {
      rows?.replaceChildren(element("tr", {}, element("td", { colSpan: 3, textContent: `cannot be shown: ${(error as Error).message}` })));
    }
  }

  function row({ flow, limited_by, costliest }: Story): HTMLTableRowElement {
    const shares = Object.entries(limited_by ?? {}).map(([what, share]) => element("div", { textContent: `${what} ${digits(100 * share, 3)}%` }));
    return element("tr", {}, element("th", { scope: "row" }, swatch(look(flow)), ` ${flow}`),
      element("td", {}, ...(limited_by ? shares : ["–"])),
      element("td", { className: "wrap" }, ...costliest.map((one) => element("div", { textContent: sentence(one) }))));
  }
}

function sentence({ time_s, until_s, is_back, cost_bytes, level_bps, kinds }: Story["costliest"][number]): string {
  return `At ${time_s.toFixed(6)} s ${kinds.join(", ")}: ${amount(cost_bytes)} less than at the ${rate(level_bps)} before, `
    + `until ${until_s.toFixed(6)} s${is_back ? "" : ", when it was not yet back"}.`;
}
