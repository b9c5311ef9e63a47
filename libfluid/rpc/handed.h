/*
 * What is given to gRPC and comes back in another thread is ordered by gRPC's queues, which
 * ThreadSanitizer does not see, as libgrpc is not instrumented. These two tell it; without the
 * sanitizer they are nothing.
 */
#ifndef FL_RPC_HANDED_H
#define FL_RPC_HANDED_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FL_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define FL_TSAN 1
#endif

#ifdef FL_TSAN
void __tsan_acquire(void *p);
void __tsan_release(void *p);
#define fl_handed_over(p) __tsan_release(p)
#define fl_got_back(p)    __tsan_acquire(p)
#else
#define fl_handed_over(p) ((void)(p))
#define fl_got_back(p)    ((void)(p))
#endif

#endif
