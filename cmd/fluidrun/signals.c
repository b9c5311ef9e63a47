#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Written by the handler alone. */
static volatile sig_atomic_t got;
static struct timespec first;
static int pipe_ends[2] = { -1, -1 };

/* Whoever asks again after a second wants no order. Sooner it is the same wish: timeout(1) signals
 * its child and then the group that the child is in. */
static bool asked_again(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!got)
		first = now;
	return now.tv_sec - first.tv_sec > 1;
}

static void handler(int sig)
{
	int saved = errno;

	if (asked_again()) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	if (!got)
		got = sig;
	if (write(pipe_ends[1], "", 1) < 0)
		errno = 0; /* full: it is readable already */
	errno = saved;
}

int signals_init(void)
{
	static const int asked[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	if (!pipe(pipe_ends)) {
		for (int i = 0; i < 2; i++) {
			fcntl(pipe_ends[i], F_SETFD, FD_CLOEXEC);
			fcntl(pipe_ends[i], F_SETFL, O_NONBLOCK);
		}
		sa.sa_handler = handler;
		sa.sa_flags = SA_RESTART;
		for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
			sigaction(asked[i], &sa, NULL);
	}
	sa.sa_handler = SIG_IGN;
	sa.sa_flags = 0;
	sigaction(SIGPIPE, &sa, NULL);
	return pipe_ends[0];
}

int signals_got(void)
{
	return got;
}
