/* Ends the process with SIGKILL before its n-th call that writes, syncs or sends, counted from crash_arm(n) on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long left = -1, counted = 0;

void crash_arm(long n) { counted = 0; left = n; }
long crash_counted(void) { return counted; }

static void count(void) {
    atomic_fetch_add(&counted, 1);
    if (left > 0 && atomic_fetch_sub(&left, 1) == 1) kill(getpid(), SIGKILL);
}

#define CALL(type, name, parameters, arguments) \
    type name parameters { \
        static type (*next) parameters; \
        if (!next) next = (type (*) parameters) dlsym(RTLD_NEXT, #name); \
        count(); \
        return next arguments; \
    }

CALL(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
CALL(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
CALL(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
CALL(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
CALL(ssize_t, send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags))
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
CALL(ssize_t, sendto, (int fd, const void *b, size_t n, int flags, const struct sockaddr *a, socklen_t l), (fd, b, n, flags, a, l))
CALL(int, fsync, (int fd), (fd))
CALL(int, fdatasync, (int fd), (fd))
CALL(int, ftruncate, (int fd, off_t n), (fd, n))
CALL(int, ftruncate64, (int fd, off64_t n), (fd, n))
CALL(int, unlink, (const char *path), (path))
