import { startCharts } from "./charts";
import { addCopyButtons, startFilter, startPolling } from "./live";
import { startNetwork } from "./network";
import { startRunning } from "./running";

startFilter();
startPolling();
addCopyButtons();
const section = document.getElementById("charts");
const showQueues = section ? startCharts(section) : () => {};
startNetwork(showQueues);
const running = document.getElementById("running");
if (running) startRunning(running);
