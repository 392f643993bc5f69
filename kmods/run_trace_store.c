// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: records are kept in chunks until they are read.
 *
 * A chunk is only taken when the one before is full, so a trace of little costs little. When the
 * limit is reached, or memory is, one last record says so, and nothing follows: a trace has no
 * gaps. Each chunk has room for that record, so that it needs no memory.
 */

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "run_trace.h"

#define RUN_TRACE_CHUNK_ORDER	3
#define RUN_TRACE_CHUNK_BYTES	((PAGE_SIZE << RUN_TRACE_CHUNK_ORDER) - \
				 sizeof(struct run_trace_chunk) - sizeof(struct run_trace_head))

struct run_trace_chunk {
	struct list_head list;
	u32 used;
	u32 taken;
	u8 bytes[];
};

static LIST_HEAD(run_trace_chunks);
static DEFINE_RAW_SPINLOCK(run_trace_store_lock);
static u64 run_trace_kept_bytes, run_trace_limit_bytes;
static bool run_trace_full;

static struct run_trace_chunk *run_trace_last_chunk(void)
{
	return list_last_entry(&run_trace_chunks, struct run_trace_chunk, list);
}

static struct run_trace_chunk *run_trace_new_chunk(gfp_t flags)
{
	struct run_trace_chunk *chunk;

	chunk = (void *)__get_free_pages(flags | __GFP_NOWARN, RUN_TRACE_CHUNK_ORDER);
	if (!chunk)
		return NULL;
	chunk->used = 0;
	chunk->taken = 0;
	list_add_tail(&chunk->list, &run_trace_chunks);
	return chunk;
}

static void run_trace_free_chunk(struct run_trace_chunk *chunk)
{
	list_del(&chunk->list);
	free_pages((unsigned long)chunk, RUN_TRACE_CHUNK_ORDER);
}

static void *run_trace_put(struct run_trace_chunk *chunk, const struct run_trace_head *head)
{
	void *record = chunk->bytes + chunk->used;

	memset(record, 0, head->bytes);
	memcpy(record, head, sizeof(*head));
	chunk->used += head->bytes;
	run_trace_kept_bytes += head->bytes;
	return record;
}

/* Return a new record, NULL when it would be beyond the limit or there is no memory. */
static void *run_trace_put_within_limit(const struct run_trace_head *head)
{
	struct run_trace_chunk *chunk = run_trace_last_chunk();

	if (run_trace_kept_bytes + head->bytes + sizeof(*head) > run_trace_limit_bytes)
		return NULL;
	if (chunk->used + head->bytes > RUN_TRACE_CHUNK_BYTES)
		chunk = run_trace_new_chunk(GFP_ATOMIC);
	return chunk ? run_trace_put(chunk, head) : NULL;
}

/*
 * Return a new record to be filled, NULL when there is no more. The caller is a probe and fills it
 * without the lock. Records are read when all probes have returned.
 */
void *run_trace_add(u8 kind, u8 what, u32 of, u64 time_ns, size_t bytes)
{
	struct run_trace_head head = {
		.time_ns = time_ns, .bytes = ALIGN(bytes, 8), .kind = kind, .what = what, .of = of,
	};
	struct run_trace_head last = {
		.time_ns = time_ns, .bytes = sizeof(last), .kind = RUN_TRACE_FULL,
	};
	unsigned long flags;
	void *record = NULL;

	raw_spin_lock_irqsave(&run_trace_store_lock, flags);
	if (!run_trace_full) {
		record = run_trace_put_within_limit(&head);
		if (!record) {
			run_trace_full = true;
			run_trace_put(run_trace_last_chunk(), &last);
		}
	}
	raw_spin_unlock_irqrestore(&run_trace_store_lock, flags);
	return record;
}

/*
 * Copy records to user space and forget them; return how many bytes, 0 when none is left. The
 * caller has stopped the trace, and lets one process read at a time.
 */
ssize_t run_trace_take(char __user *to, size_t count)
{
	struct run_trace_chunk *chunk;
	size_t copied = 0, part;

	while (copied < count && !list_empty(&run_trace_chunks)) {
		chunk = list_first_entry(&run_trace_chunks, struct run_trace_chunk, list);
		part = min_t(size_t, count - copied, chunk->used - chunk->taken);
		if (copy_to_user(to + copied, chunk->bytes + chunk->taken, part))
			return copied ? copied : -EFAULT;
		copied += part;
		chunk->taken += part;
		if (chunk->taken < chunk->used)
			break;
		run_trace_free_chunk(chunk);
	}
	return copied;
}

/* Forget all records. No trace runs. */
void run_trace_clear(void)
{
	struct run_trace_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &run_trace_chunks, list)
		run_trace_free_chunk(chunk);
	run_trace_kept_bytes = 0;
	run_trace_full = false;
}

/* Get ready for the records of a trace, which has not begun. */
int run_trace_begin_store(u64 limit_bytes)
{
	run_trace_clear();
	run_trace_limit_bytes = limit_bytes;
	return run_trace_new_chunk(GFP_KERNEL) ? 0 : -ENOMEM;
}
