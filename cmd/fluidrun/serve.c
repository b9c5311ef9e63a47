#include "serve.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "pserver/pserver.h"
#include "signals.h"

#define PEM_LIMIT (1u << 20)

static enum fl_code read_pem(const char *path, struct fl_buf *b, struct fl_err *err)
{
	return path ? fl_file_read(path, PEM_LIMIT, b, err) : FL_OK;
}

enum fl_code tls_read(struct tls *t, const struct options *o, struct fl_err *err)
{
	FL_TRY(read_pem(o->tls_cert, &t->cert, err));
	FL_TRY(read_pem(o->tls_key, &t->key, err));
	return read_pem(o->tls_ca, &t->ca, err);
}

void tls_release(struct tls *t)
{
	fl_buf_release(&t->cert);
	fl_buf_release(&t->key);
	fl_buf_release(&t->ca);
}

static const char *text(const struct fl_buf *b)
{
	return b->len ? fl_buf_str(b) : NULL;
}

/* What the serve callback needs. */
struct server {
	struct run *r;
	const struct tls *tls;
};

static enum fl_code serve(void *arg, const fl_pb_op *op, struct fl_err *err)
{
	const struct server *s = arg;
	struct run *r = s->r;
	struct fl_pserver_opts o = { .port_file = r->opt->port_file,
		.ready_file = r->opt->ready_file,
		.continue_on_lost = !strcmp(r->opt->on_lost_trainer, "continue"),
		.threads = r->threads, .insecure = r->opt->insecure, .tls_cert = text(&s->tls->cert),
		.tls_key = text(&s->tls->key), .tls_ca = text(&s->tls->ca), .log = r->env.log,
		.stop_fd = r->stop_fd };

	return fl_pserver_run(r->main, op, r->root, &r->env, &o, err);
}

static bool stopped(void)
{
	return signals_got() != 0;
}

static enum fl_code connect_client(struct run *r, const struct tls *tls, const char *const *servers,
	size_t n, struct fl_err *err)
{
	struct fl_client_opts o = { .trainer_id = r->trainer < 0 ? 0 : r->trainer,
		.fingerprint = r->fingerprint,
		.deadline_ms = (int)r->opt->rpc_deadline,
		.retry_times = (int)r->opt->rpc_retry_times,
		.wait_servers_s = r->opt->wait_servers, .log = r->env.log,
		.tls_cert = text(&tls->cert), .tls_key = text(&tls->key), .tls_ca = text(&tls->ca),
		.stopped = stopped };

	r->client = fl_client_new(&o);
	fl_client_host(r->client, &r->host);
	return fl_client_wait(r->client, servers, n, err);
}

enum fl_code run_connect(struct run *r, const struct tls *tls, struct fl_err *err)
{
	enum fl_code code = FL_OK;
	const char **servers;
	size_t n;

	if (r->serves) {
		struct server *s = FL_NEW(struct server);

		*s = (struct server){ r, tls };
		r->server = s;
		r->host.arg = s;
		r->host.serve = serve;
		return FL_OK;
	}
	n = run_servers(r, &servers);
	r->sends = n > 0;
	/* Where nothing is run, nobody is asked. */
	if (n && (r->startup || r->opt->steps != 0))
		code = connect_client(r, tls, servers, n, err);
	fl_free(servers);
	return code;
}
