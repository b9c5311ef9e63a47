#include "core.h"

#include <stdlib.h>
#include <unistd.h>

#include "kernels/blas.h"

#define CORETYPE "OPENBLAS_CORETYPE"

void core_choose(char **argv)
{
	const char *core = getenv(CORETYPE) ? NULL : fl_blas_better_core();

	if (!core || setenv(CORETYPE, core, 1))
		return;
	/* The same process: number, descriptors and arguments stay. Where that fails it goes on as it
	 * is, only slower. */
	execv("/proc/self/exe", argv);
}
