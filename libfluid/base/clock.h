/* Time that only goes forward. */
#ifndef FL_BASE_CLOCK_H
#define FL_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
int64_t fl_now_ns(void);
/* Seconds since the same moment. */
double fl_now(void);

#endif
