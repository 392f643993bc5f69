// Updates the changing part of a page. The server writes the markup.

const PERIOD_MS = 1000;
const RETRY_MS = 5000;
const SHARE = 4; // of the time, at most a fifth goes to the server's answers
const LINGER_MS = 120_000; // between two runs of a sweep none is running

const live = (): HTMLElement | null => document.getElementById("live");

let shown = "";

/** The element #live of a page, or why the server refused it; neither when it cannot be fetched. */
type Fetched = { fresh?: HTMLElement; problem?: string };

async function fetchLive(url: string, signal?: AbortSignal): Promise<Fetched> {
  try {
    const response = await fetch(url, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.ok) return { fresh: page.getElementById("live") ?? undefined };
    return { problem: page.querySelector(".message")?.textContent ?? response.statusText };
  } catch {
    return {}; // the server is gone, or a newer request took this one's place
  }
}

/** Put the fresh part in place of the old one. What the user ticked, opened or focused stays so. */
function show(fresh: HTMLElement): void {
  const now = live();
  if (!now || fresh.outerHTML === shown) return;
  shown = fresh.outerHTML;
  const ticked = new Set(ticks(now).filter((box) => box.checked).map((box) => box.value));
  const open = new Set(openDetails(now).filter((one) => one.open).map(nameOf));
  const focus = keyOf(document.activeElement);
  const places = new Map(regions(now).map((one) => [keyOf(one), [one.scrollLeft, one.scrollTop] as const]));
  // The charts of a run in progress have a stream of their own.
  const charts = now.querySelector("#running");
  const space = fresh.querySelector("#running");
  if (charts && space) space.replaceWith(charts);
  now.replaceWith(fresh);
  for (const one of regions(fresh)) one.scrollTo(...(places.get(keyOf(one)) ?? [0, 0]));
  for (const box of ticks(fresh)) box.checked = ticked.has(box.value);
  for (const one of openDetails(fresh)) one.open ||= open.has(nameOf(one));
  if (focus && now.contains(document.activeElement) !== true) {
    const same = [...fresh.querySelectorAll<HTMLElement>("a, input, button, summary, [tabindex]")];
    same.find((one) => keyOf(one) === focus)?.focus({ preventScroll: true });
  }
  addCopyButtons(fresh);
}

const ticks = (root: HTMLElement) => [
  ...root.querySelectorAll<HTMLInputElement>("input[type=checkbox]:is([name=run], [name=variant])"),
];
const regions = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>(".scroll")];
const openDetails = (root: HTMLElement) => [...root.querySelectorAll("details")];
const nameOf = (one: HTMLDetailsElement) => one.querySelector("summary")?.textContent ?? "";

function keyOf(element: Element | null): string {
  if (element instanceof HTMLAnchorElement) return `a ${element.href}`;
  if (element instanceof HTMLInputElement) return `input ${element.name} ${element.value}`;
  if (element instanceof HTMLButtonElement) return `button ${element.textContent}`;
  if (element?.hasAttribute("aria-label")) return `named ${element.getAttribute("aria-label")}`;
  return element?.tagName === "SUMMARY" ? `summary ${element.textContent}` : "";
}

/** Add a button to each command that copies it. */
export function addCopyButtons(root: ParentNode = document): void {
  for (const command of root.querySelectorAll<HTMLElement>("pre.command")) {
    const text = command.textContent ?? "";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${command.getAttribute("aria-label") ?? "command"}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    });
    command.before(button);
  }
}

/**
 * Fetch the page again every second, while a run is running and the page is visible.
 * A list goes on for a while after that, because another run of a sweep may begin. `ended` is
 * called when a run's own page shows its end.
 */
export function startPolling(ended: () => void): void {
  shown = live()?.outerHTML ?? "";
  let until = live()?.hasAttribute("data-poll") ? Infinity : 0;
  let timer = 0;
  const wait = (ms: number) => {
    clearTimeout(timer);
    timer = window.setTimeout(poll, ms);
  };
  async function poll(): Promise<void> {
    if (performance.now() > until) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    const [requested, began] = [location.href, performance.now()];
    const { fresh } = await fetchLive(requested);
    if (!fresh) return wait(RETRY_MS);
    const took = performance.now() - began;
    const [running, isRun] = [fresh.hasAttribute("data-poll"), fresh.hasAttribute("data-run")];
    if (requested === location.href) show(fresh);
    if (isRun && !running) return ended();
    if (running) until = Infinity;
    else if (until === Infinity) until = performance.now() + LINGER_MS;
    wait(running ? Math.max(PERIOD_MS, SHARE * took) : RETRY_MS);
  }
  if (until) wait(PERIOD_MS);
}

/** Tell whether the form chooses the usual columns, which the address then leaves out. */
function isUsual(form: HTMLFormElement): boolean {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("input[name=column]")];
  return boxes.every((box) => box.checked === box.hasAttribute("data-usual"));
}

/** Apply the form of choices at once; without scripts the form's button does the same. */
export function startFilter(): void {
  const form = document.getElementById("filter");
  if (!(form instanceof HTMLFormElement)) return;
  form.querySelector("button")?.remove();
  const problem = document.createElement("output");
  problem.className = "problem";
  form.append(problem);
  let timer = 0;
  let running: AbortController | undefined;
  async function apply(): Promise<void> {
    running?.abort();
    running = new AbortController();
    const usual = isUsual(form as HTMLFormElement);
    const fields = [...new FormData(form as HTMLFormElement)]
      .filter(([name, value]) => value !== "" && !(usual && name === "column"));
    const query = new URLSearchParams(fields as [string, string][]).toString();
    const url = location.pathname + (query && `?${query}`);
    const { signal } = running;
    const fetched = await fetchLive(url, signal);
    if (signal.aborted) return;
    problem.textContent = fetched.problem ?? "";
    if (!fetched.fresh) return;
    history.replaceState(null, "", url);
    show(fetched.fresh);
  }
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(apply, 150);
  };
  // A condition is complete when it is left or sent, not while it is typed.
  const isWhole = (event: Event) => (event.target as Element).hasAttribute("data-whole");
  form.addEventListener("input", (event) => isWhole(event) || soon());
  form.addEventListener("change", (event) => isWhole(event) && soon());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    soon();
  });
}
