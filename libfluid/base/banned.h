/* Functions whose use is an error here, with what to use instead. Included on the command line. */
#ifndef FL_BASE_BANNED_H
#define FL_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FL_BANNED(fn, instead) fl_##fn##_is_banned_use_##instead

#undef strcpy
#define strcpy(a, b) FL_BANNED(strcpy, fl_xstrdup_or_memcpy)
#undef strcat
#define strcat(a, b) FL_BANNED(strcat, fl_buf)
#undef strncpy
#define strncpy(a, b, n) FL_BANNED(strncpy, memcpy)
#undef sprintf
#define sprintf(...) FL_BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) FL_BANNED(vsprintf, vsnprintf)
#undef strtok
#define strtok(a, b) FL_BANNED(strtok, strchr)
#undef atoi
#define atoi(a) FL_BANNED(atoi, strtol)
#undef atof
#define atof(a) FL_BANNED(atof, strtod)
#undef gets
#define gets(a) FL_BANNED(gets, fgets)

#endif
