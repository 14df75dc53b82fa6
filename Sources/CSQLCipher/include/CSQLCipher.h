#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3041000
#error "SQLCipher 4 with SQLite 3.41 or later is needed: run Scripts/setup"
#endif

// Both providers declare these only where SQLITE_HAS_CODEC is defined, and swift-sqlcipher's header is
// a module of its own, compiled before any definition of ours. Declared again, alike.

/// Keys a database that was just opened; any key is taken, the first read tells.
int sqlite3_key_v2(sqlite3 *db, const char *name, const void *key, int length);

/// Re-encrypts a database. Returns SQLITE_OK also when that has failed.
int sqlite3_rekey_v2(sqlite3 *db, const char *name, const void *key, int length);

/// `SQLITE_TRANSIENT`, a macro with a cast that Swift does not import: SQLite copies the bytes.
static inline sqlite3_destructor_type csqlcipher_transient(void) {
    return SQLITE_TRANSIENT;
}

/// `sqlite3_db_config` for the options that take one int; Swift cannot call a variadic function.
static inline int csqlcipher_db_config(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

/// Looks on while a connection reads and writes its main file; see `csqlcipher_tap_begin`.
typedef struct csqlcipher_tap csqlcipher_tap;

/// Calls `tick` before each read (`is_write` 0) and each write of the main file of `db`, on the thread that
/// uses the connection; a read for which it does not return 0 fails with SQLITE_INTERRUPT.
///
/// For what runs outside of the engine's statements, which a progress handler is not told of.
/// Returns NULL when there is no memory or no file. Nothing else may use the connection until
/// `csqlcipher_tap_end`.
csqlcipher_tap *csqlcipher_tap_begin(
    sqlite3 *db, int (*tick)(void *context, int is_write), void *context);

/// Ends what `csqlcipher_tap_begin` has begun, while the connection is still open.
void csqlcipher_tap_end(csqlcipher_tap *tap);

#endif
