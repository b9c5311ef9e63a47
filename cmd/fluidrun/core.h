/* Which kernels OpenBLAS uses: chosen before it computes anything. */
#ifndef CMD_FLUIDRUN_CORE_H
#define CMD_FLUIDRUN_CORE_H

/* Starts the process anew, with OPENBLAS_CORETYPE set, where OpenBLAS did not recognize the
 * processor (fl_blas_better_core): matrix products are then 1.5 to 2 times as fast. The variable, set
 * by whoever starts us, to anything, is obeyed. Returns where there is nothing to do. */
void core_choose(char **argv);

#endif
