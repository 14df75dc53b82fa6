#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Only there when the program is linked with SQLCipher.
__attribute__((weak)) int sqlite3_key_v2(sqlite3 *, const char *, const void *, int);

const uint8_t raw_key[32] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
};
const uint8_t other_raw_key[32] = {
    32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
    16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,
};
const char passphrase[] = "correct horse battery staple";

int is_encrypted(void) { return sqlite3_key_v2 != NULL; }

void require(sqlite3 *db, int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "no database");
    exit(1);
}

void execute(sqlite3 *db, const char *sql) {
    require(db, sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    require(db, code == SQLITE_OK, sql);
    return statement;
}

int64_t number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = prepare(db, sql);
    require(db, sqlite3_step(statement) == SQLITE_ROW, sql);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/// `x'…'` around the digits: twice the length, and four characters more with the end.
void key_text(const uint8_t *bytes, int length, char *text) {
    memcpy(text, "x'", 2);
    for (int i = 0; i < length; i++) snprintf(text + 2 + 2 * i, 3, "%02x", bytes[i]);
    memcpy(text + 2 + 2 * length, "'", 2);
}

sqlite3 *open_keyed(const char *path, const char *key, int cache_kilobytes) {
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        | SQLITE_OPEN_EXRESCODE;
    require(db, sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK, "open");
    if (key) {
        require(db, sqlite3_key_v2(db, "main", key, (int)strlen(key)) == SQLITE_OK, "key");
    }
    sqlite3_busy_timeout(db, 5000);
    number(db, "SELECT count(*) FROM sqlite_schema");
    // As all sides have them.
    char sql[256];
    snprintf(
        sql, sizeof sql,
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;"
        "PRAGMA cache_size = -%d; PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"
        "PRAGMA journal_mode = WAL",
        cache_kilobytes);
    execute(db, sql);
    return db;
}

sqlite3 *open_raw(const char *path, int cache_kilobytes) {
    char text[4 + 64];
    key_text(raw_key, sizeof raw_key, text);
    return open_keyed(path, is_encrypted() ? text : NULL, cache_kilobytes);
}
