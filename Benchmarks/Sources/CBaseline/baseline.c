#include "baseline.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sqlite3_key_v2(sqlite3 *db, const char *name, const void *key, int length);

struct baseline {
    sqlite3 *db;
};

static void require(baseline *database, int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, database->db ? sqlite3_errmsg(database->db) : "no database");
    exit(1);
}

baseline *baseline_open(const char *path, const uint8_t *key) {
    baseline *database = calloc(1, sizeof *database);
    char text[3 + 64 + 1];
    memcpy(text, "x'", 2);
    for (int i = 0; i < 32; i++) snprintf(text + 2 + 2 * i, 3, "%02x", key[i]);
    text[66] = '\'';
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    require(database, sqlite3_open_v2(path, &database->db, flags, NULL) == SQLITE_OK, "open");
    require(database, sqlite3_key_v2(database->db, "main", text, 67) == SQLITE_OK, "key");
    baseline_execute(
        database,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;"
        "PRAGMA foreign_keys = ON");
    return database;
}

void baseline_close(baseline *database) {
    sqlite3_close(database->db);
    free(database);
}

void baseline_execute(baseline *database, const char *sql) {
    require(database, sqlite3_exec(database->db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static sqlite3_stmt *prepare(baseline *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v3(
        database->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    require(database, code == SQLITE_OK, sql);
    return statement;
}

/// The bytes of a column as a program of its own keeps them; returns their length plus the last one.
static uint64_t copied(const void *bytes, int length) {
    uint8_t *copy = malloc((size_t)length + 1);
    if (length > 0) memcpy(copy, bytes, (size_t)length);
    copy[length] = 0;
    uint64_t checksum = (uint64_t)length + (length > 0 ? copy[length - 1] : 0);
    free(copy);
    return checksum;
}

static uint64_t copied_text(sqlite3_stmt *statement, int column) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    return copied(text, sqlite3_column_bytes(statement, column));
}

uint64_t baseline_insert(baseline *database, const char *const *names, int count) {
    sqlite3_stmt *statement =
        prepare(database, "INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)");
    uint8_t payload[100];
    baseline_execute(database, "BEGIN");
    for (int i = 0; i < count; i++) {
        memset(payload, i & 0xff, sizeof payload);
        sqlite3_bind_int64(statement, 1, i + 1);
        sqlite3_bind_text(statement, 2, names[i], (int)strlen(names[i]), SQLITE_TRANSIENT);
        sqlite3_bind_double(statement, 3, i * 0.5);
        sqlite3_bind_blob(statement, 4, payload, sizeof payload, SQLITE_TRANSIENT);
        require(database, sqlite3_step(statement) == SQLITE_DONE, "insert");
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    baseline_execute(database, "COMMIT");
    sqlite3_finalize(statement);
    return (uint64_t)count;
}

uint64_t baseline_scan(baseline *database) {
    sqlite3_stmt *statement = prepare(database, "SELECT id, name, amount, payload FROM sample");
    uint64_t checksum = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        checksum += (uint64_t)sqlite3_column_int64(statement, 0);
        checksum += copied_text(statement, 1);
        checksum += (uint64_t)sqlite3_column_double(statement, 2);
        const void *payload = sqlite3_column_blob(statement, 3);
        checksum += copied(payload, sqlite3_column_bytes(statement, 3));
    }
    require(database, code == SQLITE_DONE, "scan");
    sqlite3_finalize(statement);
    return checksum;
}

uint64_t baseline_lookup(baseline *database, const int64_t *ids, int count) {
    sqlite3_stmt *statement = prepare(database, "SELECT name FROM sample WHERE id = ?");
    uint64_t checksum = 0;
    for (int i = 0; i < count; i++) {
        sqlite3_bind_int64(statement, 1, ids[i]);
        require(database, sqlite3_step(statement) == SQLITE_ROW, "lookup");
        checksum += copied_text(statement, 0);
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return checksum;
}

uint64_t baseline_get_texts(
    baseline *database, const char *sql, int column, const char *const *keys, int count
) {
    sqlite3_stmt *statement = prepare(database, sql);
    uint64_t checksum = 0;
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, 1, keys[i], (int)strlen(keys[i]), SQLITE_TRANSIENT);
        require(database, sqlite3_step(statement) == SQLITE_ROW, "get");
        checksum += copied_text(statement, column);
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return checksum;
}

uint64_t baseline_put_texts(
    baseline *database, const char *sql, const char *const *keys, const char *const *values,
    int count
) {
    sqlite3_stmt *statement = prepare(database, sql);
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, 1, keys[i], (int)strlen(keys[i]), SQLITE_TRANSIENT);
        sqlite3_bind_int64(statement, 2, 1);
        sqlite3_bind_text(statement, 3, values[i], (int)strlen(values[i]), SQLITE_TRANSIENT);
        sqlite3_bind_null(statement, 4);
        require(database, sqlite3_step(statement) == SQLITE_DONE, "put");
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return (uint64_t)count;
}
