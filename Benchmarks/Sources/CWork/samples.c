#include "work.h"

#include <stdio.h>
#include <string.h>

static char texts[TEXT_COUNT][24];
static uint8_t payloads[PAYLOAD_COUNT][PAYLOAD_LENGTH];

// `SampleData.swift` makes the same ones; the checksums would tell.

void samples_prepare(void) {
    for (int i = 0; i < TEXT_COUNT; i++) {
        int length = snprintf(texts[i], sizeof texts[i], "customer %05d", i);
        memset(texts[i] + length, 'x', (size_t)(1 + i % 6));
    }
    for (int i = 0; i < PAYLOAD_COUNT; i++) memset(payloads[i], i, PAYLOAD_LENGTH);
}

const char *sample_text(int64_t index) { return texts[index % TEXT_COUNT]; }

const void *sample_payload(int64_t index) { return payloads[index % PAYLOAD_COUNT]; }

static void insert_rows(sqlite3 *db, int rows) {
    sqlite3_stmt *statement = prepare(db, "INSERT INTO sample VALUES (?, ?, ?, ?)");
    for (int64_t i = 0; i < rows; i++) {
        sqlite3_bind_int64(statement, 1, i + 1);
        sqlite3_bind_text(statement, 2, sample_text(i), -1, SQLITE_STATIC);
        sqlite3_bind_double(statement, 3, (double)i * 0.5);
        sqlite3_bind_blob(statement, 4, sample_payload(i), PAYLOAD_LENGTH, SQLITE_STATIC);
        require(db, sqlite3_step(statement) == SQLITE_DONE, "insert");
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
}

/// The tables of a key-value store of the library; see Docs/FileFormats.md.
static void insert_settings(sqlite3 *db, int rows) {
    execute(
        db,
        "CREATE TABLE securestorage_kv (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL);"
        "INSERT INTO securestorage_kv (name, version) VALUES ('benchmark', 1);"
        "CREATE TABLE securestorage_kv_1 (key TEXT NOT NULL PRIMARY KEY, kind INTEGER NOT NULL,"
        " value, expires REAL) WITHOUT ROWID");
    sqlite3_stmt *statement =
        prepare(db, "INSERT INTO securestorage_kv_1 VALUES (?, ?, ?, NULL)");
    char key[32], value[128];
    for (int64_t id = 1; id <= rows; id++) {
        for (int kind = 1; kind <= 3; kind += 2) {
            if (kind == 1) {
                snprintf(key, sizeof key, "setting/%lld", (long long)id);
                snprintf(value, sizeof value, "a value of %s", sample_text(id));
            } else {
                snprintf(key, sizeof key, "profile/%lld", (long long)id);
                snprintf(
                    value, sizeof value, "[{\"name\":\"%s\",\"visits\":%lld,\"rating\":%lld.5}]",
                    sample_text(id), (long long)id, (long long)(id % 10));
            }
            sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
            sqlite3_bind_int(statement, 2, kind);
            sqlite3_bind_text(statement, 3, value, -1, SQLITE_STATIC);
            require(db, sqlite3_step(statement) == SQLITE_DONE, "insert");
            sqlite3_reset(statement);
        }
    }
    sqlite3_finalize(statement);
}

/// Makes what the cases work on: `empty`, `rows`, `settings`, or `passphrase`.
void make_template(const char *kind, int rows, const char *path) {
    int is_locked = strcmp(kind, "passphrase") == 0;
    sqlite3 *db = is_locked ? open_keyed(path, passphrase, 65536) : open_raw(path, 65536);
    execute(db, "BEGIN");
    if (strcmp(kind, "settings") == 0) {
        insert_settings(db, rows);
    } else {
        execute(
            db,
            "CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT, amount REAL, payload BLOB)");
        if (strcmp(kind, "rows") == 0) insert_rows(db, rows);
        if (is_locked) insert_rows(db, 1);
    }
    execute(db, "COMMIT");
    require(db, sqlite3_close(db) == SQLITE_OK, "close");
}
