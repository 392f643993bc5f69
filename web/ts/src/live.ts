// Updates the changing part of a page. The server writes the markup.

const PERIOD_MS = 1000;
const RETRY_MS = 5000;

const live = (): HTMLElement | null => document.getElementById("live");

/** Return the element #live of the page at that address, null when it cannot be fetched. */
async function fetchLive(url: string, signal?: AbortSignal): Promise<HTMLElement | null> {
  try {
    const response = await fetch(url, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.ok ? page.getElementById("live") : null;
  } catch {
    return null; // the server is gone, or a newer request took this one's place
  }
}

function show(fresh: HTMLElement): void {
  const now = live();
  if (now && now.outerHTML !== fresh.outerHTML) now.replaceWith(fresh);
}

/** Fetch the page again every second, while a run is running and the page is visible. */
export function startPolling(): void {
  const wait = (ms: number) => setTimeout(poll, ms);
  async function poll(): Promise<void> {
    if (!live()?.hasAttribute("data-poll")) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    const requested = location.href;
    const fresh = await fetchLive(requested);
    if (fresh && requested === location.href) {
      const ended = !fresh.hasAttribute("data-poll") && !document.getElementById("filter");
      if (ended) return location.reload(); // a run's charts appear when it has ended
      show(fresh);
    }
    wait(fresh ? PERIOD_MS : RETRY_MS);
  }
  wait(PERIOD_MS);
}

/** Filter the list while typing; without scripts the form's button does the same. */
export function startFilter(): void {
  const form = document.getElementById("filter");
  if (!(form instanceof HTMLFormElement)) return;
  form.querySelector("button")?.remove();
  let timer = 0;
  let running: AbortController | undefined;
  async function apply(): Promise<void> {
    running?.abort();
    running = new AbortController();
    const fields = [...new FormData(form as HTMLFormElement)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(fields as [string, string][]).toString();
    const url = location.pathname + (query && `?${query}`);
    const { signal } = running;
    const fresh = await fetchLive(url, signal);
    if (!fresh || signal.aborted) return;
    history.replaceState(null, "", url);
    show(fresh);
  }
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(apply, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void apply();
  });
}
