#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "ForkedChild.h"

/// Installs a disk between SQLite and the system's, which fails on request and records writes.
///
/// It becomes the default VFS of the process permanently, so use it only in a separate process (an
/// exit test). Only files that SQLite opens are affected. All functions may be called from any
/// thread.
void faulty_disk_install(void);

/// Makes the `call`-th call from now fail (1 is the next one), and with `forever` all later ones; 0
/// means that none fails.
///
/// Opening, reading, writing, truncating, syncing, measuring, locking, removing and mapping a file
/// count as calls.
void faulty_disk_fail_at(long call, int forever);

/// Makes each sync take at least this long, as on a disk that is slower than the test's.
void faulty_disk_delay_syncs(unsigned microseconds);

/// Makes every sync fail, or none of them.
void faulty_disk_fail_syncs(int fails);

/// Returns how many calls have failed since `faulty_disk_fail_at`.
long faulty_disk_failures(void);

/// What happened on the disk.
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
    /// The offset of a write, the length after a truncation, the mark, or for a sync the number of
    /// the event during which it began: only what was written before that is covered.
    int64_t offset;
    /// The bytes that were written.
    const uint8_t *bytes;
    size_t count;
    /// For a removal, whether the directory was synced after it.
    int is_durable;
};

/// Starts recording events, and discards those recorded before.
void faulty_disk_record(void);

/// Records a mark of the caller's between the events.
void faulty_disk_mark(int64_t mark);

/// Stops recording and returns the number of events.
size_t faulty_disk_stop(void);

/// Returns the event with this number, counted from 0 in the order of the events; valid until
/// `faulty_disk_record`.
struct faulty_disk_event faulty_disk_event_at(size_t number);

#endif
