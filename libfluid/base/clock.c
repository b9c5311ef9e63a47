#include "base/clock.h"

#include <time.h>

int64_t fl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

double fl_now(void)
{
	return (double)fl_now_ns() * 1e-9;
}
