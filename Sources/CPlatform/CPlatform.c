#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cplatform_rename_exclusive(const char *from, const char *to) {
#if defined(__APPLE__)
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#elif defined(__linux__) && defined(RENAME_NOREPLACE)
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
    // File systems without an exclusive rename: link(2) is as exclusive, in two steps.
    if (link(from, to) != 0) return -1;
    (void)unlink(from);  // whoever finds both names removes this one
    return 0;
}

void cplatform_erase(void *bytes, unsigned long length) {
    memset(bytes, 0, length);
    // Tells the compiler that the zeros are read.
    __asm__ __volatile__("" : : "r"(bytes) : "memory");
}
