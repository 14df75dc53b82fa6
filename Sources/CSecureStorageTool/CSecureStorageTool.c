#include "CSecureStorageTool.h"

#include <stdlib.h>

static char **arguments;
static int argument_count;

#if defined(__GLIBC__)
// glibc passes the arguments of `main` to constructors; other systems' libraries do not.
__attribute__((constructor)) static void keep(int count, char **values) {
    arguments = values;
    argument_count = count;
}
#endif

char *const *ctool_arguments(int *count) {
    *count = argument_count;
    return arguments;
}
