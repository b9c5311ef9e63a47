/*
 * Threads that run tasks from one queue, and a parallel loop. A pool of one thread runs parallel
 * loops in the caller. No task may wait for another task of the same pool, except by fl_pool_for,
 * in which the caller takes part: so it may be nested and never waits for a free thread.
 */
#ifndef FL_BASE_POOL_H
#define FL_BASE_POOL_H

#include <stddef.h>

struct fl_pool;

/* A pool of `threads` workers (at least 1), owned by the caller. */
struct fl_pool *fl_pool_new(int threads);
/* Runs what is queued, then joins the threads. NULL is allowed. */
void fl_pool_free(struct fl_pool *pool);
int fl_pool_threads(const struct fl_pool *pool);

/* Queues fn(arg); first in, first out. */
void fl_pool_submit(struct fl_pool *pool, void (*fn)(void *arg), void *arg);

/* Calls fn(arg, begin, end) for pieces of [0, n) of at least `grain` items, in parallel, and
 * returns when all are done. The pieces depend on n, grain and the thread count only. `pool` may
 * be NULL: one piece, in the caller. */
void fl_pool_for(struct fl_pool *pool, size_t n, size_t grain,
	void (*fn)(void *arg, size_t begin, size_t end), void *arg);

#endif
