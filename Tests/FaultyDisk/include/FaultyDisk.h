#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "ForkedChild.h"

/// A disk between SQLite and the system's that fails when told to, and remembers what was written.
///
/// It becomes the default VFS of the process, for good: for a process of its own (an exit test).
/// Only files that SQLite opens are concerned. Calls from any thread.
void faulty_disk_install(void);

/// Lets the `call`-th call from now on fail (1 is the next), or this and all that follow; 0: none fails.
///
/// Opening, reading, writing, cutting, syncing, measuring, locking, removing and mapping a file count as calls.
void faulty_disk_fail_at(long call, int forever);

/// How many calls have failed since `faulty_disk_fail_at`.
long faulty_disk_failures(void);

/// What happened on the disk, in its order.
enum faulty_disk_kind {
    faulty_disk_create = 1,
    faulty_disk_write,
    faulty_disk_cut,
    faulty_disk_sync,
    faulty_disk_remove,
    faulty_disk_mark_set,
};

struct faulty_disk_event {
    enum faulty_disk_kind kind;
    /// The file; NULL for a mark.
    const char *path;
    /// Where was written, the length it was cut to, or the mark.
    int64_t offset;
    /// What was written.
    const uint8_t *bytes;
    size_t count;
    /// For a removal: the directory was synced after it.
    int is_durable;
};

/// Begins to remember. What was remembered before is forgotten.
void faulty_disk_record(void);

/// Puts a mark of the caller's between the events.
void faulty_disk_mark(int64_t mark);

/// Ends remembering; how many events there are.
size_t faulty_disk_stop(void);

/// The event with this number, from 0; valid until `faulty_disk_record`.
struct faulty_disk_event faulty_disk_event_at(size_t number);

#endif
