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
	int port;
	void (*closed)(void *arg, const char *peer);
	void *arg;
	pthread_t thread;
	intptr_t server_id; /* of channelz; 0: not found yet; the thread's own */
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

static bool ends_with(const char *s, const char *end)
{
	size_t n = s ? strlen(s) : 0, m = strlen(end);

	return n >= m && memcmp(s + n - m, end, m) == 0;
}

static bool listens_on(const cJSON *server, const char *port)
{
	const cJSON *socket;

	cJSON_ArrayForEach(socket, cJSON_GetObjectItemCaseSensitive(server, "listenSocket"))
		if (ends_with(text_of(socket, "name"), port))
			return true;
	return false;
}

/* The number of our server among all of the process: it alone listens on our port. */
static intptr_t find_server(int port)
{
	char *suffix = fl_xstrfmt(":%d", port);
	intptr_t from = 0, found = 0;
	bool more = true;

	while (more && !found) {
		cJSON *page = parse(grpc_channelz_get_servers(from));
		const cJSON *server;

		more = page && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(page, "end"));
		cJSON_ArrayForEach(server, cJSON_GetObjectItemCaseSensitive(page, "server")) {
			const char *id = text_of(cJSON_GetObjectItemCaseSensitive(server, "ref"), "serverId");

			from = (id ? strtoll(id, NULL, 10) : from) + 1;
			if (id && listens_on(server, suffix))
				found = from - 1;
		}
		cJSON_Delete(page);
	}
	fl_free(suffix);
	return found;
}

/* Puts the names of the open connections into *open; false when they cannot be had. */
static bool list_open(intptr_t server_id, struct fl_map *open)
{
	intptr_t from = 0;
	bool more = true;

	while (more) {
		cJSON *page = parse(grpc_channelz_get_server_sockets(server_id, from, 0));
		const cJSON *socket;

		if (!page)
			return false;
		more = !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(page, "end"));
		cJSON_ArrayForEach(socket, cJSON_GetObjectItemCaseSensitive(page, "socketRef")) {
			const char *id = text_of(socket, "socketId"), *name = text_of(socket, "name");
			const char *peer = name ? strrchr(name, ' ') : NULL;

			from = (id ? strtoll(id, NULL, 10) : from) + 1;
			if (name)
				fl_map_put(open, peer ? peer + 1 : name, NULL);
		}
		more = more && from > 0;
		cJSON_Delete(page);
	}
	return true;
}

/* Moves the peers that are not open any more to *gone. A peer counts as gone only when it was seen
 * before the list was made; so the caller has taken `peers` first. */
static void compare(struct fl_conns *conns, const struct fl_map *before, const struct fl_map *open,
	struct fl_map *gone)
{
	pthread_mutex_lock(&conns->lock);
	FL_MAP_EACH(e, before) {
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
	FL_MAP_EACH(e, &conns->peers)
		fl_map_put(&before, e->key, NULL);
	pthread_mutex_unlock(&conns->lock);
	if (!conns->server_id)
		conns->server_id = find_server(conns->port);
	if (before.live && conns->server_id && list_open(conns->server_id, &open))
		compare(conns, &before, &open, &gone);
	FL_MAP_EACH(e, &gone)
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

struct fl_conns *fl_conns_new(int port, void (*closed)(void *arg, const char *peer), void *arg)
{
	struct fl_conns *conns = FL_NEW(struct fl_conns);

	conns->port = port;
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
