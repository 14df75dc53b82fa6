// Makes the k-th call on a file fail, once or from then on, in a program that preloads this library
// (LD_PRELOAD).
//
// Only calls on files under the directory passed to faults_begin() count, by path or by descriptor.
// A program finds the functions that begin with faults_ with dlsym; unless it calls them, nothing
// fails. Linux only.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The bits of `kinds`.
enum kind {
    OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, CUT = 16, NAME = 32, LOCK = 64, LOOK = 128, CLOSE = 256, MAP = 512,
    DIRECTORY = 1024,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char directory[4096];
static size_t directory_length;
static long calls, first_failure, failures;
static int is_forever, failure_errno;
static unsigned wanted_kinds;
static char first_failed[64];
// Which descriptors belong to files under the directory.
static unsigned char is_ours[1 << 16];

void faults_begin(const char *path, long call, int forever, int error, unsigned kinds) {
    pthread_mutex_lock(&lock);
    snprintf(directory, sizeof directory, "%s", path);
    directory_length = strlen(directory);
    calls = failures = 0;
    first_failure = call;
    is_forever = forever;
    failure_errno = error;
    wanted_kinds = kinds;
    first_failed[0] = 0;
    pthread_mutex_unlock(&lock);
}

// Ends the failures and returns how many calls have failed.
long faults_end(void) {
    pthread_mutex_lock(&lock);
    first_failure = 0;
    long count = failures;
    pthread_mutex_unlock(&lock);
    return count;
}

// Returns the name of the function that failed first.
const char *faults_first(void) { return first_failed; }

// Returns how many calls were counted.
long faults_calls(void) { return calls; }

static int is_under(const char *path) {
    if (directory_length == 0 || path == NULL) return 0;
    return strncmp(path, directory, directory_length) == 0
        && (path[directory_length] == 0 || path[directory_length] == '/');
}

static int is_open_under(int file) {
    return file >= 0 && file < (int)sizeof is_ours && is_ours[file];
}

static void note(int file, int ours) {
    if (file >= 0 && file < (int)sizeof is_ours) is_ours[file] = ours != 0;
}

/// Returns whether the call fails, and sets errno if it does.
static int fails(const char *name, unsigned kind) {
    int result = 0;
    pthread_mutex_lock(&lock);
    if (first_failure > 0 && (wanted_kinds & kind)) {
        calls++;
        result = is_forever ? calls >= first_failure : calls == first_failure;
        if (result) {
            if (failures++ == 0) snprintf(first_failed, sizeof first_failed, "%s", name);
        }
    }
    int error = failure_errno;
    pthread_mutex_unlock(&lock);
    // Kill the process in place of the call: the effect of a kill between two calls.
    if (result && error < 0) kill(getpid(), SIGKILL);
    if (result) errno = error;
    return result;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

// MARK: - Opening

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        int ours = is_under(path); \
        if (ours && fails(#name, OPEN)) return -1; \
        int file = real(path, flags, mode); \
        note(file, ours); \
        return file; \
    }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name) \
    int name(int place, const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        int ours = is_under(path) || (path[0] != '/' && is_open_under(place)); \
        if (ours && fails(#name, OPEN)) return -1; \
        int file = real(place, path, flags, mode); \
        note(file, ours); \
        return file; \
    }
OPENING_AT(openat)
OPENING_AT(openat64)

int close(int file) {
    REAL(close);
    int ours = is_open_under(file);
    note(file, 0);
    // As on Linux, the descriptor is closed even if an error is returned.
    int result = real(file);
    if (ours && fails("close", CLOSE)) return -1;
    return result;
}

// MARK: - By descriptor

#define BY_FILE(type, name, kind, parameters, ...) \
    type name parameters { \
        REAL(name); \
        if (is_open_under(file) && fails(#name, kind)) return -1; \
        return real(__VA_ARGS__); \
    }
BY_FILE(ssize_t, read, READ, (int file, void *bytes, size_t count), file, bytes, count)
BY_FILE(ssize_t, pread, READ, (int file, void *bytes, size_t count, off_t at), file, bytes, count, at)
BY_FILE(ssize_t, pread64, READ, (int file, void *bytes, size_t count, off64_t at), file, bytes, count, at)
BY_FILE(ssize_t, write, WRITE, (int file, const void *bytes, size_t count), file, bytes, count)
BY_FILE(ssize_t, pwrite, WRITE, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
BY_FILE(ssize_t, pwrite64, WRITE, (int file, const void *bytes, size_t count, off64_t at), file, bytes, count, at)
BY_FILE(int, fsync, SYNC, (int file), file)
BY_FILE(int, fdatasync, SYNC, (int file), file)
BY_FILE(int, ftruncate, CUT, (int file, off_t size), file, size)
BY_FILE(int, ftruncate64, CUT, (int file, off64_t size), file, size)
BY_FILE(int, flock, LOCK, (int file, int operation), file, operation)
BY_FILE(int, fchmod, NAME, (int file, mode_t mode), file, mode)
BY_FILE(int, fstat, LOOK, (int file, struct stat *status), file, status)
BY_FILE(int, fstat64, LOOK, (int file, struct stat64 *status), file, status)

#define CONTROLLING(name) \
    int name(int file, int command, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK; \
        if (locks && is_open_under(file) && fails(#name, LOCK)) return -1; \
        int result = real(file, command, argument); \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) note(result, is_open_under(file)); \
        return result; \
    }
CONTROLLING(fcntl)
CONTROLLING(fcntl64)

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    REAL(mmap);
    if (is_open_under(file) && fails("mmap", MAP)) return MAP_FAILED;
    return real(at, length, protection, flags, file, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off64_t offset) {
    REAL(mmap64);
    if (is_open_under(file) && fails("mmap64", MAP)) return MAP_FAILED;
    return real(at, length, protection, flags, file, offset);
}

// MARK: - By path

#define BY_PATH(name, kind, parameters, ...) \
    int name parameters { \
        REAL(name); \
        if (is_under(path) && fails(#name, kind)) return -1; \
        return real(__VA_ARGS__); \
    }
BY_PATH(stat, LOOK, (const char *path, struct stat *status), path, status)
BY_PATH(stat64, LOOK, (const char *path, struct stat64 *status), path, status)
BY_PATH(lstat, LOOK, (const char *path, struct stat *status), path, status)
BY_PATH(lstat64, LOOK, (const char *path, struct stat64 *status), path, status)
BY_PATH(access, LOOK, (const char *path, int mode), path, mode)
BY_PATH(unlink, NAME, (const char *path), path)
BY_PATH(rename, NAME, (const char *path, const char *to), path, to)
BY_PATH(link, NAME, (const char *path, const char *to), path, to)
BY_PATH(mkdir, DIRECTORY, (const char *path, mode_t mode), path, mode)
BY_PATH(rmdir, DIRECTORY, (const char *path), path)

int fstatat(int place, const char *path, struct stat *status, int flags) {
    REAL(fstatat);
    if ((is_under(path) || (path[0] != '/' && is_open_under(place))) && fails("fstatat", LOOK)) return -1;
    return real(place, path, status, flags);
}

int renameat2(int place, const char *path, int other, const char *to, unsigned flags) {
    REAL(renameat2);
    if (is_under(path) && fails("renameat2", NAME)) return -1;
    return real(place, path, other, to, flags);
}

int linkat(int place, const char *path, int other, const char *to, int flags) {
    REAL(linkat);
    if (is_under(to) && fails("linkat", NAME)) return -1;
    return real(place, path, other, to, flags);
}

int unlinkat(int place, const char *path, int flags) {
    REAL(unlinkat);
    if ((is_under(path) || (path[0] != '/' && is_open_under(place))) && fails("unlinkat", NAME)) return -1;
    return real(place, path, flags);
}

char *realpath(const char *path, char *result) {
    REAL(realpath);
    if (is_under(path) && fails("realpath", LOOK)) return NULL;
    return real(path, result);
}

ssize_t readlink(const char *path, char *bytes, size_t count) {
    REAL(readlink);
    if (is_under(path) && fails("readlink", LOOK)) return -1;
    return real(path, bytes, count);
}

// MARK: - Time

// SQLite waits ten seconds for a lock left by a failed call, which no one will release.
static int passes_quickly(void) {
    pthread_mutex_lock(&lock);
    int result = first_failure > 0;
    pthread_mutex_unlock(&lock);
    return result;
}

int nanosleep(const struct timespec *time, struct timespec *rest) {
    REAL(nanosleep);
    return passes_quickly() ? sched_yield() : real(time, rest);
}

int usleep(useconds_t time) {
    REAL(usleep);
    return passes_quickly() ? sched_yield() : real(time);
}
