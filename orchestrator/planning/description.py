"""Describes a plan for people and other programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from orchestrator.errors import Fault
from orchestrator.network import Hop
from orchestrator.planning import chosen_losses
from orchestrator.planning.estimate import bottleneck_hops
from orchestrator.planning.learning import Estimate, Estimator
from orchestrator.planning.runspec import PlannedFlow, RunSpec


@dataclass(frozen=True)
class Plan:
    """The runs of a scenario, variant by variant and repetition by repetition.

    A joined plan has those of several scenarios. ``experiment`` is None if each run's experiment is
    that of its scenario's name. ``warnings`` name values that are valid but probably mistakes.
    """

    experiment: str | None
    runs: list[RunSpec]
    warnings: list[Fault] = field(default_factory=list)

    @classmethod
    def joined(cls, plans: Iterable[Self]) -> Self:
        """Return one plan of the runs of several, whose experiments have their scenarios' names."""
        every = list(plans)
        return cls(
            None,
            [run for each in every for run in each.runs],
            [warning for each in every for warning in each.warnings],
        )

    def describe(self, estimator: Estimator | None = None) -> dict[str, Any]:
        """Return the plan, JSON-ready, with estimates of wall time and disk space.

        The wall time is that of the guest, by the constants alone without an estimator. In real
        time, a run takes ``duration_s`` plus the time to build and probe the network.
        """
        estimates = [(estimator or Estimator())(run) for run in self.runs]
        return {
            "schema": 1,
            "experiment": self.experiment or self.runs[0].scenario_name,
            "scenario": self.runs[0].scenario_name,
            "repetition_rule": self.runs[0].repetition_rule,
            "duration_s": sum(run.duration_s for run in self.runs),
            "estimated_wall_s": round(sum(each.wall_s for each in estimates), 1),
            "estimated_disk_bytes": sum(run.estimated_disk_bytes for run in self.runs),
            "runs": [
                _describe_run(run, each) for run, each in zip(self.runs, estimates, strict=True)
            ],
            "warnings": [
                {"where": f"{each.file}:{each.line}:{each.column}", "message": each.message}
                for each in self.warnings
            ],
        }


def _describe_run(run: RunSpec, estimate: Estimate) -> dict[str, Any]:
    return {
        "variant": run.variant,
        "repetition": run.repetition,
        "seed": run.seed,
        "duration_s": run.duration_s,
        "warmup_s": run.warmup_s,
        "estimated_wall_s": round(estimate.wall_s, 1),
        "estimated_from": estimate.origin,
        "estimated_disk_bytes": run.estimated_disk_bytes,
        "flows": [_describe_flow(flow, run.network.live) for flow in run.flows],
        "events": [{"time_s": event.time_ns / 1e9, **event.requested} for event in run.events],
        "bottlenecks": [
            _describe_bottleneck(hop, run.flows) for hop in bottleneck_hops(run.network)
        ],
        "chosen_losses": chosen_losses.described(run.network),
        "policers": [
            {"name": hop.name, **vars(hop.channel.policer)}
            for link in run.network.links
            for hop in link.hops
            if hop.channel.policer is not None
        ],
    }


def _describe_flow(flow: PlannedFlow, live: bool) -> dict[str, Any]:
    return {
        "name": flow.name,
        "group": flow.group,
        "source": flow.source,
        "sink": flow.sink,
        "congestion": flow.congestion,
        "parameters": {**flow.parameters, **flow.settings},
        "module": None if flow.module is None else str(flow.module.path),
        "traffic": flow.traffic,
        "transport": flow.transport,
        "rate_bps": flow.traffic_parameters.get("rate_bps"),
        "engine": flow.engine,
        "start_s": flow.start_s,
        "stop_s": flow.stop_s,
        "bytes": flow.bytes,
        "propagation_rtt_s": None if live else flow.propagation_rtt_s,
        "base_rtt_s": None if live else flow.base_rtt_s,
        "segment_rtt_s": None if live else flow.segment_rtt_s,
        "path": list(flow.path),
    }


def _describe_bottleneck(hop: Hop, flows: tuple[PlannedFlow, ...]) -> dict[str, Any]:
    """Return a bottleneck's rate, delay, loss, BDP (at the largest propagation RTT) and queue.

    BDP and queue are at the initial rate. "rate_changes" is None when a trace or a model changes
    the rate.
    """
    channel = hop.channel
    rate_bps, queue = channel.rate_bps, channel.queue
    rates_bps = [] if rate_bps is None else [rate_bps, *channel.later_rates]
    rtts_s = [flow.propagation_rtt_s for flow in flows if hop.name in (*flow.path, *flow.ack_path)]
    summary: dict[str, Any] = {
        "name": hop.name,
        "rate_bps": rate_bps,
        "rate_min_bps": min(rates_bps, default=None),
        "rate_max_bps": max(rates_bps, default=None),
        "rate_end_bps": rates_bps[-1] if rates_bps else None,
        "rate_changes": None if channel.rate_varies else len(channel.later_rates),
        "delay_s": channel.delay_s,
        "loss": channel.mean_loss,
        "bdp_bytes": None,
        "queue_kind": None,
        "queue_packets": None,
        "queue_bytes": None,
        "queue_ms": None,
    }
    if rate_bps and rtts_s:
        summary["bdp_bytes"] = int(rate_bps * max(rtts_s) / 8)
    if rate_bps and queue:
        packets = queue.limit_packets or (queue.limit_bytes or 0) / channel.frame_bytes
        size_bytes = queue.limit_bytes or packets * channel.frame_bytes
        summary["queue_kind"] = queue.kind
        summary["queue_packets"] = round(packets, 1)
        summary["queue_bytes"] = int(size_bytes)
        summary["queue_ms"] = round(8000 * size_bytes / rate_bps, 3)
    return summary
