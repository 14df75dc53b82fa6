#include "CSQLCipher.h"

#include <stdlib.h>
#include <string.h>

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

// MARK: - Memory

// The engine's own allocator, which the functions below call.
static sqlite3_mem_methods allocator;

// The optimizer cannot remove the clearing, since it does not know which function frees the block.
static void clearing_free(void *block) {
    if (!block) return;
    memset(block, 0, (size_t)allocator.xSize(block));
    allocator.xFree(block);
}

// Never by the allocator's own xRealloc, which may free the old block as it is.
static void *clearing_realloc(void *block, int size) {
    int old_size = allocator.xSize(block);
    if (size <= old_size) return block;
    void *larger = allocator.xMalloc(size);
    if (!larger) return NULL;
    memcpy(larger, block, (size_t)old_size);
    clearing_free(block);
    return larger;
}

int csqlcipher_clear_freed_memory(void) {
    sqlite3_mem_methods methods;
    if (allocator.xFree) return SQLITE_OK;
    int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods);
    if (code != SQLITE_OK) return code;
    allocator = methods;
    methods.xFree = clearing_free;
    methods.xRealloc = clearing_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

int csqlcipher_fts5_api(sqlite3 *db, fts5_api **api) {
    sqlite3_stmt *statement = NULL;
    *api = NULL;
    int code = sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    sqlite3_bind_pointer(statement, 1, api, "fts5_api_ptr", NULL);
    sqlite3_step(statement);
    code = sqlite3_finalize(statement);
    return code == SQLITE_OK && !*api ? SQLITE_ERROR : code;
}

int csqlcipher_wal_index(sqlite3 *db, unsigned char bytes[136]) {
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) {
        return SQLITE_MISUSE;
    }
    // The first 32 KiB, which the connection has mapped already. Opening the file itself would be
    // wrong: closing it again drops the locks of all connections of the process.
    void volatile *index = NULL;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
    if (code != SQLITE_OK) return code;
    if (!index) return SQLITE_MISUSE;
    const unsigned char volatile *source = index;
    // A writer changes the second header first.
    for (int i = 0; i < 48; i++) bytes[i] = source[i];
    file->pMethods->xShmBarrier(file);
    for (int i = 48; i < 136; i++) bytes[i] = source[i];
    return SQLITE_OK;
}
