/* SIGINT, SIGTERM and SIGHUP ask for an orderly end; a second one of the same kind ends at once. */
#ifndef CMD_FLUIDRUN_SIGNALS_H
#define CMD_FLUIDRUN_SIGNALS_H

/* Catches them; SIGPIPE is ignored. Returns a descriptor that becomes readable when one came. */
int signals_init(void);
/* The signal that came first, or 0. */
int signals_got(void);

#endif
