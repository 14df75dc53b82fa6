#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#include "CSecureStoragePlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__)
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

int cplatform_rename_exclusive(const char *from, const char *to) {
#if defined(__APPLE__)
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#elif defined(__linux__) && defined(RENAME_NOREPLACE)
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
    // Without an exclusive rename, use link(2): as exclusive, but in two steps.
    if (link(from, to) != 0) return -1;
    (void)unlink(from);  // a caller that finds both names removes this one
    return 0;
}

int cplatform_sync(int descriptor) {
#if defined(__APPLE__)
    // fsync(2) leaves the bytes in the disk's cache here; not every file system can do better.
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(descriptor);
}

int cplatform_open_untraced(const char *path, int flags) {
#ifdef O_NOATIME
    // Only for the owner and root.
    int descriptor = open(path, flags | O_NOATIME);
    if (descriptor >= 0 || errno != EPERM) return descriptor;
#endif
    return open(path, flags);
}

int cplatform_open_name(const char *path) {
#ifdef O_PATH
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
#else
    errno = ENOTSUP;
    return -1;
#endif
}

int cplatform_open_unnamed(const char *directory, unsigned int mode) {
#ifdef O_TMPFILE
    return open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
#else
    errno = ENOTSUP;
    return -1;
#endif
}

long long cplatform_next_data(int descriptor, long long offset) {
    return lseek(descriptor, (off_t)offset, SEEK_DATA);
}

long long cplatform_next_hole(int descriptor, long long offset) {
    return lseek(descriptor, (off_t)offset, SEEK_HOLE);
}

void cplatform_modified(const void *status, long long *parts) {
#if defined(__APPLE__)
    struct timespec time = ((const struct stat *)status)->st_mtimespec;
#else
    struct timespec time = ((const struct stat *)status)->st_mtim;
#endif
    parts[0] = time.tv_sec;
    parts[1] = time.tv_nsec;
}

long long cplatform_uptime(void) {
#if defined(__APPLE__)
    clockid_t clock = CLOCK_MONOTONIC_RAW;  // what mach_continuous_time counts, in nanoseconds
#else
    clockid_t clock = CLOCK_BOOTTIME;
#endif
    struct timespec time = {0, 0};
    (void)clock_gettime(clock, &time);  // cannot fail for a clock that the system supports
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

void cplatform_machine_start(char text[37]) {
    memset(text, 0, 37);
#if defined(__APPLE__)
    size_t size = 37;
    if (sysctlbyname("kern.bootsessionuuid", text, &size, NULL, 0) != 0) text[0] = 0;
#else
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    // The kernel gives the line in one call. A UUID has 36 characters.
    ssize_t count;
    do count = read(descriptor, text, 36);
    while (count < 0 && errno == EINTR);
    if (count != 36) text[0] = 0;
    close(descriptor);
#endif
}

long cplatform_keyctl(int operation, long first, long second, long third, long fourth) {
#if defined(__linux__)
    return syscall(SYS_keyctl, operation, first, second, third, fourth);
#else
    errno = ENOSYS;
    return -1;
#endif
}

int cplatform_add_key(
    const char *type, const char *description, const void *payload, unsigned long length,
    int keyring) {
#if defined(__linux__)
    return (int)syscall(SYS_add_key, type, description, payload, length, keyring);
#else
    errno = ENOSYS;
    return -1;
#endif
}

int cplatform_catch(int signal, void (*handler)(int), void *before) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    return sigaction(signal, &action, before);
}

int cplatform_wait(int descriptor, const void *blocked) {
    if (descriptor >= FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(descriptor, &readable);
    return pselect(descriptor + 1, &readable, NULL, NULL, NULL, blocked) > 0 ? 0 : -1;
}

int cplatform_is_ignored(int signal) {
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cplatform_erase(void *bytes, unsigned long length) {
    memset(bytes, 0, length);
    // Makes the compiler assume that the zeros are read.
    __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

int cplatform_is_equal(const void *bytes, const void *others, unsigned long length) {
    const volatile unsigned char *left = bytes, *right = others;
    unsigned char difference = 0;
    for (unsigned long i = 0; i < length; i++) difference |= left[i] ^ right[i];
    return difference == 0;
}

int cplatform_forks = 0;

static void count_fork(void) { __atomic_fetch_add(&cplatform_forks, 1, __ATOMIC_RELAXED); }

// Runs before the program starts a thread, and thus counts every fork.
__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, count_fork);
}
