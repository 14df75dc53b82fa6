#ifndef CPLATFORM_H
#define CPLATFORM_H

/// Renames `from` to `to` and fails with `EEXIST` when `to` exists: atomic, never an overwrite.
/// Returns 0, or -1 with `errno` set. `renameat2` on Linux, `renamex_np` on Apple platforms.
int cplatform_rename_exclusive(const char *from, const char *to);

/// Waits until what was written to a file, or a directory's names, is on the disk itself: `F_FULLFSYNC` on Apple
/// platforms where the file system has it, else `fsync`. Returns 0, or -1 with `errno` set.
int cplatform_sync(int descriptor);

/// Fills `length` bytes with zeros in a way that the optimiser may not remove.
void cplatform_erase(void *bytes, unsigned long length);

/// Maps whole pages of zeros for `length` bytes, which may be 0; NULL when there is no memory.
/// Where the system allows, they are not swapped out and not part of a core dump: a small
/// `RLIMIT_MEMLOCK` is no error.
void *cplatform_map_secret(unsigned long length);

/// Overwrites and unmaps what `cplatform_map_secret` has returned for the same `length`.
void cplatform_unmap_secret(void *bytes, unsigned long length);

/// Whether `length` bytes are equal; the time does not depend on where they differ.
int cplatform_is_equal(const void *bytes, const void *others, unsigned long length);

/// Reads and writes an int that several threads use, so that none sees a half or an old one for long.
static inline int cplatform_load(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void cplatform_store(int *value, int new_value) {
    __atomic_store_n(value, new_value, __ATOMIC_RELEASE);
}

/// How many times `fork` has made a child between the program's start and this process: another number in a child than in
/// its parent.
static inline int cplatform_fork_count(void) {
    extern int cplatform_forks;
    return __atomic_load_n(&cplatform_forks, __ATOMIC_RELAXED);
}

#endif
