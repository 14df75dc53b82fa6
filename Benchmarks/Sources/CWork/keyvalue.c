#include "work.h"

#include <string.h>

// The statements are those of the library (see Docs/FileFormats.md), prepared once.

static uint64_t get(work *work) {
    sqlite3_stmt *statement =
        prepare(work->db, "SELECT kind, value, expires FROM securestorage_kv_1 WHERE key = ?");
    uint64_t checksum = 0;
    for (int i = 0; i < work->calls; i++) {
        const char *key = work->keys[i];
        sqlite3_bind_text(statement, 1, key, (int)strlen(key), SQLITE_TRANSIENT);
        require(work->db, sqlite3_step(statement) == SQLITE_ROW, "get");
        const void *value = sqlite3_column_text(statement, 1);
        checksum += copied(value, sqlite3_column_bytes(statement, 1));
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return checksum;
}

static uint64_t put(work *work) {
    sqlite3_stmt *statement = prepare(
        work->db,
        "INSERT INTO securestorage_kv_1 (key, kind, value, expires) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET"
        " kind = excluded.kind, value = excluded.value, expires = excluded.expires");
    for (int i = 0; i < work->writes; i++) {
        const char *key = work->keys[i];
        const char *value = sample_text(i + 7);
        sqlite3_bind_text(statement, 1, key, (int)strlen(key), SQLITE_TRANSIENT);
        sqlite3_bind_int64(statement, 2, 1);
        sqlite3_bind_text(statement, 3, value, (int)strlen(value), SQLITE_TRANSIENT);
        sqlite3_bind_null(statement, 4);
        require(work->db, sqlite3_step(statement) == SQLITE_DONE, "put");
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return 0;
}

static const char warm[] = "SELECT sum(kind) FROM securestorage_kv_1";

const work_case key_value_cases[] = {
    {"kv-get", get, NULL, warm, 65536, 0},
    {"kv-put", put, "SELECT sum(length(key) * length(value)) FROM securestorage_kv_1", warm, 65536,
     0},
};
const int key_value_case_count = sizeof key_value_cases / sizeof *key_value_cases;
