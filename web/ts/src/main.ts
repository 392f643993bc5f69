import { startCharts } from "./charts";
import { startFilter, startPolling } from "./live";

startFilter();
startPolling();
const section = document.getElementById("charts");
if (section) startCharts(section);
