/* SIGINT, SIGTERM and SIGHUP ask for an orderly end; asked again more than a second later, the
 * process ends at once. */
#ifndef CMD_FLUIDRUN_SIGNALS_H
#define CMD_FLUIDRUN_SIGNALS_H

/* Catches them; SIGPIPE is ignored. Returns a descriptor that becomes readable when one came. */
int signals_init(void);
/* The signal that came first, or 0. */
int signals_got(void);

#endif
