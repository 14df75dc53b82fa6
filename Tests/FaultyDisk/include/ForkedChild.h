#ifndef FORKED_CHILD_H
#define FORKED_CHILD_H

/// `fork`, which Swift does not import: 0 in the child, which ends itself after half a minute, else the child's number, or
/// -1. For a process of its own (an exit test).
int forked_child_begin(void);

/// Ends the child without running what is to be run at the end of the parent.
void forked_child_exit(int status);

/// Waits for a child; its status, 256 more than its signal, or -1.
int forked_child_wait(int child);

#endif
