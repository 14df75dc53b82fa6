#include "FaultyDisk.h"

#include "CSQLCipher.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// MARK: - Calls that fail

static long calls_left;
static int fails_forever;
static long failures;

void faulty_disk_fail_at(long call, int forever) {
    pthread_mutex_lock(&lock);
    calls_left = call;
    fails_forever = forever;
    failures = 0;
    pthread_mutex_unlock(&lock);
}

static int syncs_fail;
static unsigned sync_delay;

void faulty_disk_delay_syncs(unsigned microseconds) {
    pthread_mutex_lock(&lock);
    sync_delay = microseconds;
    pthread_mutex_unlock(&lock);
}

void faulty_disk_fail_syncs(int fails) {
    pthread_mutex_lock(&lock);
    syncs_fail = fails;
    pthread_mutex_unlock(&lock);
}

long faulty_disk_failures(void) {
    pthread_mutex_lock(&lock);
    long count = failures;
    pthread_mutex_unlock(&lock);
    return count;
}

/// Returns whether the next call fails, and counts it.
static int fails(void) {
    pthread_mutex_lock(&lock);
    int result = 0;
    if (calls_left == 1) {
        result = 1;
        failures++;
        if (!fails_forever) calls_left = 0;
    } else if (calls_left > 1) {
        calls_left--;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

// MARK: - What was written

static int is_recording;
static struct faulty_disk_event *events;
static size_t event_count, event_room;

static void remember(
    enum faulty_disk_kind kind, const char *path, int64_t offset, const void *bytes, size_t count,
    int is_durable) {
    pthread_mutex_lock(&lock);
    if (is_recording) {
        if (event_count == event_room) {
            event_room = event_room ? event_room * 2 : 1024;
            events = realloc(events, event_room * sizeof *events);
            if (!events) abort();
        }
        uint8_t *copy = NULL;
        if (bytes) {
            copy = malloc(count ? count : 1);
            if (!copy) abort();
            memcpy(copy, bytes, count);
        }
        events[event_count++] = (struct faulty_disk_event){
            .kind = kind,
            .path = path ? strdup(path) : NULL,
            .offset = offset,
            .bytes = copy,
            .count = count,
            .is_durable = is_durable,
        };
    }
    pthread_mutex_unlock(&lock);
}

void faulty_disk_record(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < event_count; i++) {
        free((void *)events[i].path);
        free((void *)events[i].bytes);
    }
    event_count = 0;
    is_recording = 1;
    pthread_mutex_unlock(&lock);
}

void faulty_disk_mark(int64_t mark) {
    remember(faulty_disk_mark_set, NULL, mark, NULL, 0, 0);
}

size_t faulty_disk_stop(void) {
    pthread_mutex_lock(&lock);
    is_recording = 0;
    size_t count = event_count;
    pthread_mutex_unlock(&lock);
    return count;
}

struct faulty_disk_event faulty_disk_event_at(size_t number) {
    return events[number];
}

// MARK: - Files

struct faulty_file {
    sqlite3_file base;
    char *path;
    // The file of the system's VFS, of the size that this VFS specifies.
    sqlite3_file real[];
};

static sqlite3_vfs *system_vfs;
static sqlite3_io_methods methods;

static struct faulty_file *faulty(sqlite3_file *file) { return (struct faulty_file *)file; }
static sqlite3_file *real(sqlite3_file *file) { return faulty(file)->real; }

static int close_file(sqlite3_file *file) {
    int rc = real(file)->pMethods->xClose(real(file));
    free(faulty(file)->path);
    return rc;
}

static int read_file(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    if (fails()) return SQLITE_IOERR_READ;
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int write_file(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    if (fails()) return SQLITE_IOERR_WRITE;
    int rc = real(file)->pMethods->xWrite(real(file), bytes, count, offset);
    if (rc == SQLITE_OK) {
        remember(faulty_disk_write, faulty(file)->path, offset, bytes, (size_t)count, 0);
    }
    return rc;
}

static int cut_file(sqlite3_file *file, sqlite3_int64 size) {
    if (fails()) return SQLITE_IOERR_TRUNCATE;
    int rc = real(file)->pMethods->xTruncate(real(file), size);
    if (rc == SQLITE_OK) remember(faulty_disk_cut, faulty(file)->path, size, NULL, 0, 0);
    return rc;
}

static int sync_file(sqlite3_file *file, int flags) {
    pthread_mutex_lock(&lock);
    int64_t began = (int64_t)event_count;
    int is_broken = syncs_fail;
    unsigned delay = sync_delay;
    pthread_mutex_unlock(&lock);
    if (delay) usleep(delay);
    if (is_broken || fails()) return SQLITE_IOERR_FSYNC;
    int rc = real(file)->pMethods->xSync(real(file), flags);
    // What another thread writes in the meantime is not covered.
    if (rc == SQLITE_OK) remember(faulty_disk_sync, faulty(file)->path, began, NULL, 0, 0);
    return rc;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    if (fails()) return SQLITE_IOERR_FSTAT;
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int lock_file(sqlite3_file *file, int level) {
    if (fails()) return SQLITE_IOERR_LOCK;
    return real(file)->pMethods->xLock(real(file), level);
}

static int unlock_file(sqlite3_file *file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *is_locked) {
    return real(file)->pMethods->xCheckReservedLock(real(file), is_locked);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int sector_size(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}

static int device_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int map_index(sqlite3_file *file, int page, int size, int extends, void volatile **memory) {
    if (fails()) return SQLITE_IOERR_SHMMAP;
    return real(file)->pMethods->xShmMap(real(file), page, size, extends, memory);
}

static int lock_index(sqlite3_file *file, int offset, int count, int flags) {
    if ((flags & SQLITE_SHM_LOCK) && fails()) return SQLITE_IOERR_SHMLOCK;
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void index_barrier(sqlite3_file *file) {
    real(file)->pMethods->xShmBarrier(real(file));
}

static int unmap_index(sqlite3_file *file, int removes) {
    return real(file)->pMethods->xShmUnmap(real(file), removes);
}

// MARK: - The VFS

static int open_file(
    sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    file->pMethods = NULL;
    if (fails()) return SQLITE_CANTOPEN;
    int is_there = 1;
    if (path && (flags & SQLITE_OPEN_CREATE)) {
        system_vfs->xAccess(system_vfs, path, SQLITE_ACCESS_EXISTS, &is_there);
    }
    int rc = system_vfs->xOpen(system_vfs, path, real(file), flags, out_flags);
    if (rc != SQLITE_OK) {
        if (real(file)->pMethods) real(file)->pMethods->xClose(real(file));
        return rc;
    }
    faulty(file)->path = strdup(path ? path : "");
    file->pMethods = &methods;
    if (!is_there) remember(faulty_disk_create, path, 0, NULL, 0, 0);
    return SQLITE_OK;
}

static int remove_file(sqlite3_vfs *vfs, const char *path, int syncs_directory) {
    (void)vfs;
    if (fails()) return SQLITE_IOERR_DELETE;
    int rc = system_vfs->xDelete(system_vfs, path, syncs_directory);
    if (rc == SQLITE_OK) remember(faulty_disk_remove, path, 0, NULL, 0, syncs_directory);
    return rc;
}

static int access_file(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    return system_vfs->xAccess(system_vfs, path, flags, result);
}

static int full_path(sqlite3_vfs *vfs, const char *path, int room, char *out) {
    (void)vfs;
    return system_vfs->xFullPathname(system_vfs, path, room, out);
}

void faulty_disk_install(void) {
    static sqlite3_vfs vfs;
    if (system_vfs) return;
    system_vfs = sqlite3_vfs_find(NULL);
    // The methods kept from the system's VFS (time, sleep, randomness) take no file and ignore the
    // VFS that they are passed.
    vfs = *system_vfs;
    vfs.pNext = NULL;
    vfs.zName = "faulty-disk";
    vfs.szOsFile = (int)sizeof(struct faulty_file) + system_vfs->szOsFile;
    vfs.xOpen = open_file;
    vfs.xDelete = remove_file;
    vfs.xAccess = access_file;
    vfs.xFullPathname = full_path;
    methods = (sqlite3_io_methods){
        // Version 2 lacks the mapped reads of version 3, so each read is a call.
        .iVersion = 2,
        .xClose = close_file,
        .xRead = read_file,
        .xWrite = write_file,
        .xTruncate = cut_file,
        .xSync = sync_file,
        .xFileSize = file_size,
        .xLock = lock_file,
        .xUnlock = unlock_file,
        .xCheckReservedLock = check_reserved_lock,
        .xFileControl = file_control,
        .xSectorSize = sector_size,
        .xDeviceCharacteristics = device_characteristics,
        .xShmMap = map_index,
        .xShmLock = lock_index,
        .xShmBarrier = index_barrier,
        .xShmUnmap = unmap_index,
    };
    sqlite3_vfs_register(&vfs, 1);
}
