/* The one file that needs more than POSIX: the Makefile gives it _GNU_SOURCE. */
#include "base/cpu.h"

#include <sched.h>

int fl_cpu_count(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof set, &set))
		return 1;
	n = CPU_COUNT(&set);
	return n > 0 ? n : 1;
}
