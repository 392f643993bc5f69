import { startCharts } from "./charts";
import { startComparison } from "./compare";
import { addCopyButtons, startFilter, startPolling } from "./live";
import { startNetwork } from "./network";
import { startRunning } from "./running";
import { startTrace } from "./trace";

/** Start the charts and the drawing of a run that has ended. */
function startRun(): void {
  const section = document.getElementById("charts");
  startNetwork(section ? startCharts(section) : () => {});
}

startFilter();
startPolling(startRun);
addCopyButtons();
startRun();
const compared = document.getElementById("compared");
if (compared) startComparison(compared);
const running = document.getElementById("running");
if (running) startRunning(running);
const traced = document.getElementById("traced");
if (traced) startTrace(traced);
