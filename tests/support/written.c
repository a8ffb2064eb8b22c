/* Appends a record of each call that writes, truncates, syncs or unlinks a file below WRITTEN_FOLDER to WRITTEN_LOG.

   A record is a head, the path and the data. A sync is recorded after it, with the size of the log before it: what
   was recorded until then is on the disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
    int64_t kind, path, place, length;
};

static const char *path_of(int fd, char *path) {
    char link[64];
    const char *folder = getenv("WRITTEN_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0 || !folder) return NULL;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) ? NULL : path;
}

static int log_of(int flags) {
    return (int) syscall(SYS_openat, AT_FDCWD, getenv("WRITTEN_LOG"), flags | O_CREAT | O_CLOEXEC, 0600);
}

static int64_t size_of_log(void) {
    struct stat status = {0};
    stat(getenv("WRITTEN_LOG"), &status);
    return status.st_size;
}

static void record(char kind, const char *path, int64_t place, const void *data, int64_t length) {
    int saved = errno, log = log_of(O_WRONLY | O_APPEND);
    struct head head = {kind, (int64_t) strlen(path), place, length};
    struct iovec parts[] = {{&head, sizeof head}, {(void *) path, strlen(path)}, {(void *) data, data ? length : 0}};
    syscall(SYS_writev, log, parts, 3);
    syscall(SYS_close, log);
    errno = saved;
}

#define NEXT(type, name, parameters) \
    static type (*next) parameters; \
    if (!next) next = (type (*) parameters) dlsym(RTLD_NEXT, #name); \
    char path[PATH_MAX]

ssize_t write(int fd, const void *data, size_t length) {
    NEXT(ssize_t, write, (int, const void *, size_t));
    if (path_of(fd, path)) record('W', path, lseek(fd, 0, SEEK_CUR), data, length);
    return next(fd, data, length);
}

#define PWRITE(name, offset) \
    ssize_t name(int fd, const void *data, size_t length, offset at) { \
        NEXT(ssize_t, name, (int, const void *, size_t, offset)); \
        if (path_of(fd, path)) record('W', path, at, data, length); \
        return next(fd, data, length, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, offset) \
    int name(int fd, offset length) { \
        NEXT(int, name, (int, offset)); \
        if (path_of(fd, path)) record('T', path, length, NULL, 0); \
        return next(fd, length); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
    int name(int fd) { \
        NEXT(int, name, (int)); \
        int64_t until = size_of_log(); \
        int result = next(fd); \
        if (!result && path_of(fd, path)) record('S', path, until, NULL, 0); \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *name) {
    static int (*next)(const char *);
    if (!next) next = (int (*)(const char *)) dlsym(RTLD_NEXT, "unlink");
    const char *folder = getenv("WRITTEN_FOLDER");
    if (folder && !strncmp(name, folder, strlen(folder))) record('U', name, 0, NULL, 0);
    return next(name);
}
