/* Preloaded into a process, adds the seconds in the file CLOCK_OFFSET_FILE (a signed 64-bit number) to its wall clock.
   Time that passes, the monotonic clock and sleeping stay as they are. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Waits until a time of the wall clock are looked at again so often. */
#define SLICE_NS 100000000L
#define SECOND_NS 1000000000L
/* No monotonic clock, which begins when the machine does, has come so far; every wall clock has. */
#define WALL_CLOCK_S 1000000000L

static const volatile int64_t nothing = 0, *offset_s = &nothing;

__attribute__((constructor)) static void open_offset(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
        offset_s = mapped;
    if (file >= 0)
        close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *offset_s;
    return (int)failed;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (seconds)
        *seconds = precise.tv_sec;
    return precise.tv_sec;
}

static int before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec : one->tv_nsec < other->tv_nsec;
}

/* The kernel would end the wait by its own clock. So it is cut in slices, each woken as if for no reason, which every
   caller has to expect: whoever waits until a time sees a jump, in either direction, as on a machine that is wrong. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec slice, end = *until;
    if (!wait)
        wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (until->tv_sec < WALL_CLOCK_S)
        return wait(condition, mutex, until);
    end.tv_sec -= *offset_s;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &slice);
    slice.tv_nsec += SLICE_NS;
    slice.tv_sec += slice.tv_nsec / SECOND_NS;
    slice.tv_nsec %= SECOND_NS;
    if (!before(&slice, &end))
        return wait(condition, mutex, &end);
    int ended = wait(condition, mutex, &slice);
    return ended == ETIMEDOUT ? 0 : ended;
}
