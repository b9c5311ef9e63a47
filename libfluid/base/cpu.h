/* How many processors there are for us. */
#ifndef FL_BASE_CPU_H
#define FL_BASE_CPU_H

/* Cores that this process may use (its affinity), at least 1. */
int fl_cpu_count(void);

#endif
