// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: causes, from the host's SNMP counters.
 *
 * The kernel counts what it does for a whole host: which undo, which recovery, which exit of slow
 * start. Between the begin and the end of the work for a segment or a timer, what the CPU's share
 * of the counters gains is of that connection. So causes need no patch of the kernel.
 */

#include <net/snmp.h>
#include <net/tcp.h>

#include "run_trace_tcp.h"

static const struct run_trace_counter {
	const char *name;
	int index;
} run_trace_counters[] = {
	{ "TCPTimeouts", LINUX_MIB_TCPTIMEOUTS },
	{ "TCPSpuriousRTOs", LINUX_MIB_TCPSPURIOUSRTOS },
	{ "TCPLossProbes", LINUX_MIB_TCPLOSSPROBES },
	{ "TCPLossProbeRecovery", LINUX_MIB_TCPLOSSPROBERECOVERY },
	{ "TCPRenoRecovery", LINUX_MIB_TCPRENORECOVERY },
	{ "TCPSackRecovery", LINUX_MIB_TCPSACKRECOVERY },
	{ "TCPRenoRecoveryFail", LINUX_MIB_TCPRENORECOVERYFAIL },
	{ "TCPSackRecoveryFail", LINUX_MIB_TCPSACKRECOVERYFAIL },
	{ "TCPLossFailures", LINUX_MIB_TCPLOSSFAILURES },
	{ "TCPFullUndo", LINUX_MIB_TCPFULLUNDO },
	{ "TCPPartialUndo", LINUX_MIB_TCPPARTIALUNDO },
	{ "TCPDSACKUndo", LINUX_MIB_TCPDSACKUNDO },
	{ "TCPLossUndo", LINUX_MIB_TCPLOSSUNDO },
	{ "TCPSACKReneging", LINUX_MIB_TCPSACKRENEGING },
	{ "TCPSACKReorder", LINUX_MIB_TCPSACKREORDER },
	{ "TCPRenoReorder", LINUX_MIB_TCPRENOREORDER },
	{ "TCPTSReorder", LINUX_MIB_TCPTSREORDER },
	{ "TCPLostRetransmit", LINUX_MIB_TCPLOSTRETRANSMIT },
	{ "TCPFastRetrans", LINUX_MIB_TCPFASTRETRANS },
	{ "TCPSlowStartRetrans", LINUX_MIB_TCPSLOWSTARTRETRANS },
	{ "TCPRetransFail", LINUX_MIB_TCPRETRANSFAIL },
	{ "TCPSpuriousRtxHostQueues", LINUX_MIB_TCPSPURIOUS_RTX_HOSTQUEUES },
	{ "TCPDSACKRecv", LINUX_MIB_TCPDSACKRECV },
	{ "TCPDSACKOfoRecv", LINUX_MIB_TCPDSACKOFORECV },
	{ "TCPDSACKOldSent", LINUX_MIB_TCPDSACKOLDSENT },
	{ "TCPDSACKOfoSent", LINUX_MIB_TCPDSACKOFOSENT },
	{ "TCPHystartTrainDetect", LINUX_MIB_TCPHYSTARTTRAINDETECT },
	{ "TCPHystartTrainCwnd", LINUX_MIB_TCPHYSTARTTRAINCWND },
	{ "TCPHystartDelayDetect", LINUX_MIB_TCPHYSTARTDELAYDETECT },
	{ "TCPHystartDelayCwnd", LINUX_MIB_TCPHYSTARTDELAYCWND },
	{ "PAWSEstab", LINUX_MIB_PAWSESTABREJECTED },
	{ "TCPRcvQDrop", LINUX_MIB_TCPRCVQDROP },
	{ "TCPBacklogDrop", LINUX_MIB_TCPBACKLOGDROP },
	{ "TCPZeroWindowDrop", LINUX_MIB_TCPZEROWINDOWDROP },
	{ "TCPOFODrop", LINUX_MIB_TCPOFODROP },
	{ "TCPToZeroWindowAdv", LINUX_MIB_TCPTOZEROWINDOWADV },
	{ "TCPFromZeroWindowAdv", LINUX_MIB_TCPFROMZEROWINDOWADV },
	{ "TCPKeepAlive", LINUX_MIB_TCPKEEPALIVE },
	{ "TCPSynRetrans", LINUX_MIB_TCPSYNRETRANS },
	{ "TCPAbortOnTimeout", LINUX_MIB_TCPABORTONTIMEOUT },
	{ "TCPDeliveredCE", LINUX_MIB_TCPDELIVEREDCE },
};

#define RUN_TRACE_COUNTERS ARRAY_SIZE(run_trace_counters)

/* Return how many bytes the counters of a host take. */
size_t run_trace_counters_bytes(void)
{
	return nr_cpu_ids * RUN_TRACE_COUNTERS * sizeof(unsigned long);
}

/* Look at a counter; return by how much it has grown on a CPU since the last look. */
static unsigned long run_trace_gained(struct run_trace_host *host, int cpu, int i)
{
	unsigned long *counted = &host->counted[cpu * RUN_TRACE_COUNTERS + i];
	const struct linux_mib *mib = per_cpu_ptr(host->net->mib.net_statistics, cpu);
	unsigned long before = *counted;

	*counted = READ_ONCE(mib->mibs[run_trace_counters[i].index]);
	return *counted - before;
}

/* Begin to look at the counters of a host. */
void run_trace_begin_counters(struct run_trace_host *host)
{
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < RUN_TRACE_COUNTERS; i++)
			run_trace_gained(host, cpu, i);
}

/*
 * Pass over what this CPU has counted since the last look, without the work of a connection whose
 * end is known. A host with one such end has counted it for that one.
 */
void run_trace_skip_counters(struct run_trace_host *host)
{
	int i;

	if (host->ends < 2)
		return;
	for (i = 0; i < RUN_TRACE_COUNTERS; i++)
		run_trace_gained(host, smp_processor_id(), i);
}

/* Tell what this CPU has counted since the last look; it is of this end. */
void run_trace_tell_counters(const struct run_trace_end *end, u64 now_ns)
{
	struct run_trace_event *record;
	unsigned long gained;
	int i;

	for (i = 0; i < RUN_TRACE_COUNTERS; i++) {
		gained = run_trace_gained(end->host, smp_processor_id(), i);
		record = gained ? run_trace_new_event(end, RUN_TRACE_COUNTER, now_ns) : NULL;
		if (record) {
			record->value = gained;
			strscpy(record->name, run_trace_counters[i].name, RUN_TRACE_NAME);
		}
	}
}
