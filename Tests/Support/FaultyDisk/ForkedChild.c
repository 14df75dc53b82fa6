#include "ForkedChild.h"

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int forked_child_begin(void) {
    pid_t child = fork();
    // A child that waits for a lock of a thread that it does not have must not wait forever.
    if (child == 0) (void)alarm(30);
    return (int)child;
}

void forked_child_exit(int status) { _exit(status); }

int forked_child_wait(int child) {
    int status = 0;
    while (waitpid((pid_t)child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}
