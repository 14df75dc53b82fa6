#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3041000
#error "SQLCipher 4 with SQLite 3.41 or later is needed: run Scripts/setup"
#endif

// Both providers declare these only if SQLITE_HAS_CODEC is defined, and swift-sqlcipher's header is
// a separate module, compiled before any definition made here. Hence these identical declarations.

/// Keys a database that was just opened. Any key is accepted; a wrong one fails the first read.
int sqlite3_key_v2(sqlite3 *db, const char *name, const void *key, int length);

/// Re-encrypts a database. Returns SQLITE_OK even on failure.
int sqlite3_rekey_v2(sqlite3 *db, const char *name, const void *key, int length);

/// Returns `SQLITE_TRANSIENT` (SQLite copies the bytes), a macro with a cast, which Swift does not
/// import.
static inline sqlite3_destructor_type csqlcipher_transient(void) {
    return SQLITE_TRANSIENT;
}

/// Calls `sqlite3_db_config` for an option with one int; Swift cannot call variadic functions.
static inline int csqlcipher_db_config(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

/// Observes a connection's reads and writes of its main file; see `csqlcipher_tap_begin`.
typedef struct csqlcipher_tap csqlcipher_tap;

/// Calls `tick` before each read (`is_write` 0) and each write of the main file of `db`, on the
/// thread that uses the connection. A read for which it does not return 0 fails with
/// SQLITE_INTERRUPT.
///
/// For work outside the engine's statements, where no progress handler is called. Returns NULL when
/// out of memory or when no file is open. No other code may use the connection until
/// `csqlcipher_tap_end`.
csqlcipher_tap *csqlcipher_tap_begin(
    sqlite3 *db, int (*tick)(void *context, int is_write), void *context);

/// Ends a tap; to be called while the connection is still open.
void csqlcipher_tap_end(csqlcipher_tap *tap);

/// Copies the first bytes of the index of a database's write-ahead log: two headers of 48 bytes, and
/// the checkpoint's information (https://sqlite.org/walformat.html).
///
/// The caller has a read transaction on `main`. Returns SQLITE_OK; SQLITE_MISUSE without such an
/// index, in another journal mode.
int csqlcipher_wal_index(sqlite3 *db, unsigned char bytes[136]);

/// Finds the functions of a connection's full-text module (https://sqlite.org/fts5.html,
/// "Extending FTS5"). SQLITE_ERROR, and NULL in `api`, if the engine was built without it.
int csqlcipher_fts5_api(sqlite3 *db, fts5_api **api);

/// Makes the engine overwrite every block of memory before freeing it, in the whole process.
/// SQLITE_MISUSE, without any effect, if the engine was started before. Not thread-safe.
int csqlcipher_clear_freed_memory(void);

#endif
