import { startCharts } from "./charts";
import { addCopyButtons, startFilter, startPolling } from "./live";

startFilter();
startPolling();
addCopyButtons();
const section = document.getElementById("charts");
if (section) startCharts(section);
