/*
 * Which connections of a server have been closed. gRPC core tells nothing of connections; but it
 * keeps count of them for its channelz service, and that can be asked from inside. A thread looks
 * there a few times a second for those over which calls came.
 */
#ifndef FL_RPC_CONNS_H
#define FL_RPC_CONNS_H

struct fl_conns;

/* `closed` is called once for each connection seen that has ended, from the watching thread. */
struct fl_conns *fl_conns_new(void (*closed)(void *arg, const char *peer), void *arg);
/* Ends the thread. NULL is allowed. */
void fl_conns_free(struct fl_conns *conns);
/* A call came over this connection. */
void fl_conns_seen(struct fl_conns *conns, const char *peer);

#endif
