#ifndef CSECURESTORAGEPLATFORM_H
#define CSECURESTORAGEPLATFORM_H

// No system header is included: Swift would take its types for this module's.

/// Atomically renames `from` to `to`; fails with `EEXIST` if `to` exists and never overwrites it.
/// Returns 0, or -1 with `errno` set. Uses `renameat2` on Linux, `renamex_np` on Apple platforms.
int cplatform_rename_exclusive(const char *from, const char *to);

/// Waits until a file's contents, or a directory's names, are on the disk itself: `F_FULLFSYNC` on
/// Apple platforms if the file system supports it, else `fsync`. Returns 0, or -1 with `errno` set.
int cplatform_sync(int descriptor);

/// Opens a file for reading without changing the time of its last access, where the system allows
/// that; else like `open`. Returns a descriptor, or -1 with `errno` set.
int cplatform_open_untraced(const char *path, int flags);

/// Opens a name for `fstat` only; closing it releases no lock of the process on the file (`O_PATH`
/// on Linux). Returns a descriptor, or -1 where this is unsupported or fails.
int cplatform_open_name(const char *path);

/// Opens an unnamed file for writing that disappears with its process (`O_TMPFILE` on Linux), and
/// that `linkat` can name through `/proc`. Returns a descriptor, or -1 where this is unsupported.
int cplatform_open_unnamed(const char *directory, unsigned int mode);

/// Returns the start of the next stored bytes at `offset` or after it, or of the next hole; -1 with
/// `errno` set (`lseek` with `SEEK_DATA` and `SEEK_HOLE`).
long long cplatform_next_data(int descriptor, long long offset);
long long cplatform_next_hole(int descriptor, long long offset);

/// Stores the time of a file's last change, from its `struct stat`: seconds since 1970, and
/// nanoseconds.
void cplatform_modified(const void *status, long long *parts);

/// Returns the nanoseconds since a fixed moment, of a clock that keeps running while the machine
/// sleeps and that cannot be set.
long long cplatform_uptime(void);

/// Stores the UUID that the system gave to its last start, as text with a NUL at its end; no text
/// if it is unknown.
void cplatform_machine_start(char text[37]);

/// keyctl(2), for operations with up to four arguments. Returns -1 with `errno` set: ENOSYS on a
/// system without keys in its kernel.
long cplatform_keyctl(int operation, long first, long second, long third, long fourth);

/// add_key(2): creates a key, or a keyring if `payload` is NULL. Returns its serial number, or -1
/// with `errno` set, as above.
int cplatform_add_key(
    const char *type, const char *description, const void *payload, unsigned long length,
    int keyring);

/// Installs a handler without `SA_RESTART`, so that the system calls that it interrupts return;
/// `before`, a `struct sigaction`, may be NULL. Returns 0, or -1 with `errno` set.
int cplatform_catch(int signal, void (*handler)(int), void *before);

/// Waits until a descriptor can be read, while exactly the signals of `blocked`, a `sigset_t`, are
/// blocked. Returns 0, or -1 with `errno` set: EINTR when a signal was caught, even one that came
/// before and was blocked until now.
int cplatform_wait(int descriptor, const void *blocked);

/// Returns whether a signal is ignored, as under `nohup`.
int cplatform_is_ignored(int signal);

/// Fills `length` bytes with zeros in a way that the optimizer must not remove.
void cplatform_erase(void *bytes, unsigned long length);

/// Returns `length` bytes of zeros, aligned to 8, for a secret; `length` may be 0. NULL when out of
/// memory. Where the system allows it, they are neither swapped out nor part of a core dump; a small
/// `RLIMIT_MEMLOCK` is not an error. Secrets of up to 2 KiB share pages, with a page that cannot be
/// accessed after every fifteen. In a process that may have no more mappings, they are in ordinary
/// memory.
void *cplatform_allocate_secret(unsigned long length);

/// Overwrites and frees memory that `cplatform_allocate_secret` returned for the same `length`.
void cplatform_free_secret(void *bytes, unsigned long length);

/// Returns whether `length` bytes are equal, in a time independent of where they differ.
int cplatform_is_equal(const void *bytes, const void *others, unsigned long length);

/// Load and store an int shared by threads: reads are never torn, and not stale for long.
static inline int cplatform_load(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void cplatform_store(int *value, int new_value) {
    __atomic_store_n(value, new_value, __ATOMIC_RELEASE);
}

/// Returns the number of forks between the program's start and this process; a child's number
/// differs from its parent's.
static inline int cplatform_fork_count(void) {
    extern int cplatform_forks;
    return __atomic_load_n(&cplatform_forks, __ATOMIC_RELAXED);
}

#endif
