/* Counts the calls that change files below a folder, and makes one of them fail or kills the process there.
 *
 * Loaded with LD_PRELOAD, it sees what all libraries in the process do, also those that are not written in Python;
 * system calls that do not go through the C library, as a rename within safetensors, are all that it misses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault {
    NONE, /* only count */
    FAIL, /* the call fails with EIO, once */
    FILL, /* the disk is full from this call on: half of a write is done, and then nothing can be added any more */
    KILL, /* the process is killed before the call */
    TEAR, /* the process is killed after half of a write */
};

static char root[PATH_MAX];
static long fault_at, num_calls;
static enum fault fault;
static bool is_full;
static char trace[1 << 20];
static size_t trace_length;

/* Count the calls below a folder from here on; the fault happens at the call of this number, counted from 1. */
void arm(const char *folder, long number, int kind) {
    snprintf(root, sizeof root, "%s", folder);
    fault_at = number;
    fault = kind;
    num_calls = trace_length = trace[0] = is_full = 0;
}

void disarm(void) { root[0] = 0; }

/* The calls so far, one per line, separated by tabs: name, path, the new path of a rename, the number of an open file
 * (which, unlike its path, stays the same if it is renamed). */
const char *calls(void) { return trace; }

/* Make a path absolute that is relative to an open folder; without a path, find that of the open file itself. */
static void resolve(int dir, const char *path, char *full) {
    char link[64] = "/proc/self/cwd", base[PATH_MAX / 2];
    if (path && path[0] == '/') {
        snprintf(full, PATH_MAX, "%s", path);
        return;
    }
    if (dir != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t length = readlink(link, base, sizeof base - 1);
    base[length < 0 ? 0 : length] = 0;
    snprintf(full, PATH_MAX, path ? "%s/%s" : "%s", base, path);
}

static bool is_below(const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

enum place { ELSEWHERE, BELOW, HIT };

static enum place count(const char *name, int dir, const char *path, int new_dir, const char *new_path) {
    char full[PATH_MAX], new_full[PATH_MAX] = "";
    if (!root[0]) return ELSEWHERE;
    int before = errno;
    resolve(dir, path, full);
    if (new_path) resolve(new_dir, new_path, new_full);
    errno = before;
    if (!is_below(full) && !is_below(new_full)) return ELSEWHERE;
    size_t space = sizeof trace - trace_length;
    struct stat file = {0};
    if (!path) fstat(dir, &file);
    unsigned long number = file.st_ino;
    size_t length = snprintf(trace + trace_length, space, "%s\t%s\t%s\t%lu\n", name, full, new_full, number);
    if (length < space) trace_length += length;
    if (++num_calls != fault_at) return BELOW;
    if (fault == KILL) kill(getpid(), SIGKILL);
    if (fault == FILL) is_full = true;
    return HIT;
}

/* Whether a call must fail, with errno set. */
static bool fails_at(enum place place, bool needs_space) {
    bool is_failure = place == HIT && fault == FAIL;
    if (!is_failure && !(place != ELSEWHERE && is_full && needs_space)) return false;
    errno = is_failure ? EIO : ENOSPC;
    return true;
}

/* How many bytes (or, for writev, buffers) of a write may be written; -1, with errno set, if it must fail. */
static ssize_t allow(int file, size_t size) {
    enum place place = count("write", file, NULL, 0, NULL);
    if (place == HIT && (fault == TEAR || fault == FILL) && size > 1) return size / 2;
    return fails_at(place, true) ? -1 : (ssize_t)size;
}

static ssize_t end_write(ssize_t written) {
    if (root[0] && fault == TEAR && num_calls == fault_at) kill(getpid(), SIGKILL);
    return written;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define CHANGE(name, parameters, arguments, dir, path, needs_space)                                        \
    int name parameters {                                                                                  \
        return fails_at(count(#name, dir, path, 0, NULL), needs_space) ? -1 : REAL(name) arguments;        \
    }

CHANGE(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, true)
CHANGE(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), dir, path, true)
CHANGE(symlink, (const char *old, const char *path), (old, path), AT_FDCWD, path, true)
CHANGE(link, (const char *old, const char *path), (old, path), AT_FDCWD, path, true)
CHANGE(linkat, (int from, const char *old, int dir, const char *path, int flags), (from, old, dir, path, flags),
       dir, path, true)
CHANGE(unlink, (const char *path), (path), AT_FDCWD, path, false)
CHANGE(unlinkat, (int dir, const char *path, int flags), (dir, path, flags), dir, path, false)
CHANGE(rmdir, (const char *path), (path), AT_FDCWD, path, false)
CHANGE(chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, false)
CHANGE(fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags), dir, path, false)
CHANGE(fchmod, (int file, mode_t mode), (file, mode), file, NULL, false)
CHANGE(truncate, (const char *path, off_t size), (path, size), AT_FDCWD, path, false)
CHANGE(truncate64, (const char *path, off64_t size), (path, size), AT_FDCWD, path, false)
CHANGE(ftruncate, (int file, off_t size), (file, size), file, NULL, false)
CHANGE(ftruncate64, (int file, off64_t size), (file, size), file, NULL, false)
CHANGE(fsync, (int file), (file), file, NULL, true)
CHANGE(fdatasync, (int file), (file), file, NULL, true)

#define RENAME(name, parameters, arguments, from, old, to, new)                                            \
    int name parameters {                                                                                  \
        return fails_at(count("rename", from, old, to, new), false) ? -1 : REAL(name) arguments;           \
    }

RENAME(rename, (const char *old, const char *new), (old, new), AT_FDCWD, old, AT_FDCWD, new)
RENAME(renameat, (int from, const char *old, int to, const char *new), (from, old, to, new), from, old, to, new)
RENAME(renameat2, (int from, const char *old, int to, const char *new, unsigned flags),
       (from, old, to, new, flags), from, old, to, new)

/* Opening changes something unless it is for reading; there is a mode only if a file may be created. */
#define OPEN(name, parameters, arguments, dir)                                                             \
    int name parameters {                                                                                  \
        va_list rest;                                                                                      \
        va_start(rest, flags);                                                                             \
        bool has_mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;                               \
        mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;                                                 \
        va_end(rest);                                                                                      \
        bool is_change = flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);                                  \
        enum place place = is_change ? count("open", dir, path, 0, NULL) : ELSEWHERE;                      \
        return fails_at(place, flags & O_CREAT) ? -1 : REAL(name) arguments;                               \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), dir)
OPEN(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), dir)

#define WRITE(name, parameters, file, size, arguments)                                                     \
    ssize_t name parameters {                                                                              \
        ssize_t num_allowed = allow(file, size);                                                           \
        return num_allowed < 0 ? -1 : end_write(REAL(name) arguments);                                     \
    }

WRITE(write, (int file, const void *bytes, size_t size), file, size, (file, bytes, num_allowed))
WRITE(pwrite, (int file, const void *bytes, size_t size, off_t at), file, size, (file, bytes, num_allowed, at))
WRITE(pwrite64, (int file, const void *bytes, size_t size, off64_t at), file, size, (file, bytes, num_allowed, at))
WRITE(writev, (int file, const struct iovec *buffers, int number), file, number, (file, buffers, num_allowed))
WRITE(sendfile, (int file, int from, off_t *at, size_t size), file, size, (file, from, at, num_allowed))
WRITE(sendfile64, (int file, int from, off64_t *at, size_t size), file, size, (file, from, at, num_allowed))
WRITE(copy_file_range, (int from, off64_t *at, int file, off64_t *to, size_t size, unsigned flags), file, size,
      (from, at, file, to, num_allowed, flags))
