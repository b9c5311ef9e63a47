/*
 * The set of peers seen, and the thread that compares it with channelz's list of sockets. The
 * list is JSON: {"socketRef":[{"socketId":"7","name":"chttp2 ipv4:127.0.0.1:4711"}],"end":true},
 * at most so many sockets a page; the name ends with what grpc_call_get_peer says.
 */
#include "rpc/conns.h"

#include <cjson/cJSON.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

enum { LOOK_EVERY_MS = 200 };

struct fl_conns {
	void (*closed)(void *arg, const char *peer);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t wake;
	bool stop;
	struct fl_map peers; /* seen and not yet closed; values unused */
};

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Parses and frees what channelz gave; NULL when it gave nothing. */
static cJSON *parse(char *json)
{
	cJSON *tree = json ? cJSON_Parse(json) : NULL;

	gpr_free(json);
	return tree;
}

/* Puts the peers of one server's connections into *open. */
static void list_sockets(intptr_t server_id, struct fl_map *open)
{
	intptr_t from = 0;
	bool more = true;

	while (more) {
		cJSON *page = parse(grpc_channelz_get_server_sockets(server_id, from, 0));
		const cJSON *socket;

		if (!page)
			return;
		more = false;
		cJSON_ArrayForEach(socket, cJSON_GetObjectItemCaseSensitive(page, "socketRef"))
		{
			const char *id = text_of(socket, "socketId"),
				   *name = text_of(socket, "name");
			const char *space = name ? strrchr(name, ' ') : NULL;

			if (!id || !name)
				continue;
			from = strtoll(id, NULL, 10) + 1;
			more = !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(page, "end"));
			fl_map_put(open, space ? space + 1 : name, NULL);
		}
		cJSON_Delete(page);
	}
}

/* The same of all servers of the process: which of them is ours cannot be told (a listener on port
 * 0 is named so), and a peer's address and port are no other's. */
static bool list_open(struct fl_map *open)
{
	intptr_t from = 0;
	bool more = true, ok = true;

	while (more && ok) {
		cJSON *page = parse(grpc_channelz_get_servers(from));
		const cJSON *server;

		ok = page != NULL;
		more = false;
		cJSON_ArrayForEach(server, cJSON_GetObjectItemCaseSensitive(page, "server"))
		{
			const char *id = text_of(
				cJSON_GetObjectItemCaseSensitive(server, "ref"), "serverId");

			if (!id)
				continue;
			from = strtoll(id, NULL, 10) + 1;
			more = !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(page, "end"));
			/* A server that ended since the page was made has no list and no
			 * connections. */
			list_sockets(from - 1, open);
		}
		cJSON_Delete(page);
	}
	return ok;
}

/* Moves the peers that are not open any more to *gone. `before` was taken before the list was made:
 * a connection that came in between is not in the list, and not gone. */
static void compare(struct fl_conns *conns, const struct fl_map *before, const struct fl_map *open,
	struct fl_map *gone)
{
	pthread_mutex_lock(&conns->lock);
	FL_MAP_EACH (e, before) {
		if (fl_map_has(open, e->key))
			continue;
		fl_map_remove(&conns->peers, e->key);
		fl_map_put(gone, e->key, NULL);
	}
	pthread_mutex_unlock(&conns->lock);
}

static void look(struct fl_conns *conns)
{
	struct fl_map before = FL_MAP_INIT, open = FL_MAP_INIT, gone = FL_MAP_INIT;

	pthread_mutex_lock(&conns->lock);
	FL_MAP_EACH (e, &conns->peers)
		fl_map_put(&before, e->key, NULL);
	pthread_mutex_unlock(&conns->lock);
	if (before.live && list_open(&open))
		compare(conns, &before, &open, &gone);
	FL_MAP_EACH (e, &gone)
		conns->closed(conns->arg, e->key);
	fl_map_release(&before);
	fl_map_release(&open);
	fl_map_release(&gone);
}

static void *watch(void *arg)
{
	struct fl_conns *conns = arg;
	struct timespec at;

	pthread_mutex_lock(&conns->lock);
	while (!conns->stop) {
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += LOOK_EVERY_MS * 1000000L;
		at.tv_sec += at.tv_nsec / 1000000000L;
		at.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&conns->wake, &conns->lock, &at);
		if (conns->stop)
			break;
		pthread_mutex_unlock(&conns->lock);
		look(conns);
		pthread_mutex_lock(&conns->lock);
	}
	pthread_mutex_unlock(&conns->lock);
	return NULL;
}

struct fl_conns *fl_conns_new(void (*closed)(void *arg, const char *peer), void *arg)
{
	struct fl_conns *conns = FL_NEW(struct fl_conns);

	conns->closed = closed;
	conns->arg = arg;
	fl_map_init(&conns->peers);
	pthread_mutex_init(&conns->lock, NULL);
	pthread_cond_init(&conns->wake, NULL);
	if (pthread_create(&conns->thread, NULL, watch, conns))
		FL_BUG("no thread can be made");
	return conns;
}

void fl_conns_free(struct fl_conns *conns)
{
	if (!conns)
		return;
	pthread_mutex_lock(&conns->lock);
	conns->stop = true;
	pthread_cond_signal(&conns->wake);
	pthread_mutex_unlock(&conns->lock);
	pthread_join(conns->thread, NULL);
	fl_map_release(&conns->peers);
	pthread_mutex_destroy(&conns->lock);
	pthread_cond_destroy(&conns->wake);
	fl_free(conns);
}

void fl_conns_seen(struct fl_conns *conns, const char *peer)
{
	pthread_mutex_lock(&conns->lock);
	if (!fl_map_has(&conns->peers, peer))
		fl_map_put(&conns->peers, peer, NULL);
	pthread_mutex_unlock(&conns->lock);
}
