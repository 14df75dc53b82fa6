#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

// Both providers declare sqlite3_key and its kin only where this is defined.
#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif

#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3039000
#error "SQLCipher 4 with SQLite 3.39 or later is needed: run Scripts/setup"
#endif

/// `SQLITE_TRANSIENT`, a macro with a cast that Swift does not import: SQLite copies the bytes.
static inline sqlite3_destructor_type csqlcipher_transient(void) {
    return SQLITE_TRANSIENT;
}

/// `sqlite3_db_config` for the options that take one int; Swift cannot call a variadic function.
static inline int csqlcipher_db_config(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

#endif
