#ifndef FORKED_CHILD_H
#define FORKED_CHILD_H

/// Calls `fork`, which Swift does not import: returns 0 in the child, otherwise the child's process
/// ID or -1.
///
/// The child ends after 30 seconds. Use this only in a separate process (an exit test).
int forked_child_begin(void);

/// Exits the child without running the parent's exit handlers.
void forked_child_exit(int status);

/// Waits for a child and returns its exit status, 256 plus its signal, or -1.
int forked_child_wait(int child);

#endif
