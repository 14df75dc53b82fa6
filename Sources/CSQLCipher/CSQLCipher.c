#include "CSQLCipher.h"

#include <stdlib.h>

// Links the engine's keying functions into this module: a SQLite without SQLCipher then fails the
// build of the package, not the first write of a file.
int csqlcipher_key_is_linked(void) {
    return &sqlite3_key_v2 != 0 && &sqlite3_rekey_v2 != 0;
}

// Replaces the file's methods with a copy whose xRead and xWrite call `tick` first. This is safe
// because SQLite looks the methods up in the file at each call, and replaces them in the same way
// itself (proxy locking).
struct csqlcipher_tap {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *original;
    sqlite3_file *file;
    int (*tick)(void *context, int is_write);
    void *context;
};

static csqlcipher_tap *tap_of(sqlite3_file *file) {
    return (csqlcipher_tap *)file->pMethods;
}

static int tapped_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    csqlcipher_tap *tap = tap_of(file);
    if (tap->tick(tap->context, 0) != 0) return SQLITE_INTERRUPT;
    return tap->original->xRead(file, bytes, count, offset);
}

static int tapped_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    csqlcipher_tap *tap = tap_of(file);
    tap->tick(tap->context, 1);
    return tap->original->xWrite(file, bytes, count, offset);
}

csqlcipher_tap *csqlcipher_tap_begin(
    sqlite3 *db, int (*tick)(void *context, int is_write), void *context) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file
        || !file->pMethods) {
        return NULL;
    }
    csqlcipher_tap *tap = malloc(sizeof *tap);
    if (!tap) return NULL;
    tap->methods = *file->pMethods;
    tap->methods.xRead = tapped_read;
    tap->methods.xWrite = tapped_write;
    tap->original = file->pMethods;
    tap->file = file;
    tap->tick = tick;
    tap->context = context;
    file->pMethods = &tap->methods;
    return tap;
}

void csqlcipher_tap_end(csqlcipher_tap *tap) {
    tap->file->pMethods = tap->original;
    free(tap);
}
