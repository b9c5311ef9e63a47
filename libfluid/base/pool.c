#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/mem.h"

struct task {
	struct task *next;
	void (*fn)(void *arg);
	void *arg;
};

struct fl_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct task *head, **tail, *spare; /* guarded by lock */
	bool stop;			   /* guarded by lock */
	int threads;
	pthread_t *ids;
};

static void *worker(void *p)
{
	struct fl_pool *pool = p;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct task *t = pool->head;
		void (*fn)(void *);
		void *arg;

		if (!t) {
			if (pool->stop)
				break;
			pthread_cond_wait(&pool->wake, &pool->lock);
			continue;
		}
		pool->head = t->next;
		if (!pool->head)
			pool->tail = &pool->head;
		fn = t->fn;
		arg = t->arg;
		t->next = pool->spare;
		pool->spare = t;
		pthread_mutex_unlock(&pool->lock);
		fn(arg);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct fl_pool *fl_pool_new(int threads)
{
	struct fl_pool *pool = FL_NEW(struct fl_pool);

	pool->threads = threads < 1 ? 1 : threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->tail = &pool->head;
	pool->ids = FL_NEW_N(pthread_t, (size_t)pool->threads);
	for (int i = 0; i < pool->threads; i++) {
		if (pthread_create(&pool->ids[i], NULL, worker, pool)) {
			pool->threads = i;
			break;
		}
	}
	return pool;
}

void fl_pool_free(struct fl_pool *pool)
{
	struct task *t;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->threads; i++)
		pthread_join(pool->ids[i], NULL);
	/* Without a single thread (none could be made) the queue is run here. */
	while ((t = pool->head)) {
		pool->head = t->next;
		t->fn(t->arg);
		fl_free(t);
	}
	while ((t = pool->spare)) {
		pool->spare = t->next;
		fl_free(t);
	}
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	fl_free(pool->ids);
	fl_free(pool);
}

int fl_pool_threads(const struct fl_pool *pool)
{
	return pool ? pool->threads : 1;
}

void fl_pool_submit(struct fl_pool *pool, void (*fn)(void *arg), void *arg)
{
	struct task *t;

	pthread_mutex_lock(&pool->lock);
	t = pool->spare;
	if (t)
		pool->spare = t->next;
	else
		t = FL_NEW(struct task);
	t->next = NULL;
	t->fn = fn;
	t->arg = arg;
	*pool->tail = t;
	pool->tail = &t->next;
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

/* A parallel loop. It lives on the caller's stack until no helper holds it any more. */
struct loop {
	void (*fn)(void *arg, size_t begin, size_t end);
	void *arg;
	size_t n, piece;
	pthread_mutex_t lock;
	pthread_cond_t done;
	size_t next;	/* guarded by lock: first item not yet taken */
	size_t helpers; /* guarded by lock: tasks submitted that have not returned */
};

static void run_pieces(struct loop *l)
{
	for (;;) {
		size_t begin, end;

		pthread_mutex_lock(&l->lock);
		begin = l->next;
		end = begin + l->piece < l->n ? begin + l->piece : l->n;
		l->next = end;
		pthread_mutex_unlock(&l->lock);
		if (begin >= end)
			return;
		l->fn(l->arg, begin, end);
	}
}

static void help(void *p)
{
	struct loop *l = p;

	run_pieces(l);
	pthread_mutex_lock(&l->lock);
	if (--l->helpers == 0)
		pthread_cond_signal(&l->done);
	pthread_mutex_unlock(&l->lock);
}

/* Takes back the helpers that no worker has started: the caller must not wait for a busy pool. */
static size_t withdraw(struct fl_pool *pool, struct loop *l)
{
	struct task **p, *t;
	size_t n = 0;

	pthread_mutex_lock(&pool->lock);
	for (p = &pool->head; (t = *p);) {
		if (t->fn == help && t->arg == l) {
			*p = t->next;
			t->next = pool->spare;
			pool->spare = t;
			n++;
		} else {
			p = &t->next;
		}
	}
	pool->tail = p;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

void fl_pool_for(struct fl_pool *pool, size_t n, size_t grain,
	void (*fn)(void *arg, size_t begin, size_t end), void *arg)
{
	size_t threads = (size_t)fl_pool_threads(pool), pieces;
	struct loop l = { .fn = fn, .arg = arg, .n = n };

	if (!n)
		return;
	pieces = grain ? n / grain : n;
	if (pieces > threads)
		pieces = threads;
	if (pieces <= 1) {
		fn(arg, 0, n);
		return;
	}
	l.piece = (n + pieces - 1) / pieces;
	l.helpers = pieces - 1;
	pthread_mutex_init(&l.lock, NULL);
	pthread_cond_init(&l.done, NULL);
	for (size_t i = 0; i + 1 < pieces; i++)
		fl_pool_submit(pool, help, &l);
	run_pieces(&l);
	n = withdraw(pool, &l);
	pthread_mutex_lock(&l.lock);
	l.helpers -= n;
	while (l.helpers)
		pthread_cond_wait(&l.done, &l.lock);
	pthread_mutex_unlock(&l.lock);
	pthread_cond_destroy(&l.done);
	pthread_mutex_destroy(&l.lock);
}
