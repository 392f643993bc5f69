import { startCharts } from "./charts";
import { addCopyButtons, startFilter, startPolling } from "./live";
import { startRunning } from "./running";

startFilter();
startPolling();
addCopyButtons();
const section = document.getElementById("charts");
if (section) startCharts(section);
const running = document.getElementById("running");
if (running) startRunning(running);
