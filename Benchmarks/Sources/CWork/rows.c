#include "work.h"

#include <stdlib.h>
#include <string.h>

static const char check_rows[] =
    "SELECT sum(id) + sum(length(name)) + sum(length(payload)) + CAST(sum(amount) AS INTEGER)"
    " FROM sample";
static const char warm_rows[] = "SELECT CAST(sum(amount) AS INTEGER) FROM sample";

uint64_t copied(const void *bytes, int length) {
    uint8_t *copy = malloc((size_t)length + 1);
    if (length > 0) memcpy(copy, bytes, (size_t)length);
    copy[length] = 0;
    uint64_t checksum = (uint64_t)length + (length > 0 ? copy[length - 1] : 0);
    free(copy);
    return checksum;
}

static uint64_t borrowed(const void *bytes, int length) {
    return (uint64_t)length + (length > 0 ? ((const uint8_t *)bytes)[length - 1] : 0);
}

static uint64_t insert(work *work, const char *sql, const char *const names[4]) {
    sqlite3_stmt *statement = prepare(work->db, sql);
    int at[4];
    for (int i = 0; i < 4; i++) {
        at[i] = names ? sqlite3_bind_parameter_index(statement, names[i]) : i + 1;
    }
    execute(work->db, "BEGIN");
    for (int64_t i = 0; i < work->rows; i++) {
        const char *name = sample_text(i);
        sqlite3_bind_int64(statement, at[0], i + 1);
        sqlite3_bind_text(statement, at[1], name, (int)strlen(name), SQLITE_TRANSIENT);
        sqlite3_bind_double(statement, at[2], (double)i * 0.5);
        sqlite3_bind_blob(
            statement, at[3], sample_payload(i), PAYLOAD_LENGTH, SQLITE_TRANSIENT);
        require(work->db, sqlite3_step(statement) == SQLITE_DONE, "insert");
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    execute(work->db, "COMMIT");
    sqlite3_finalize(statement);
    return 0;
}

static uint64_t insert_positional(work *work) {
    return insert(
        work, "INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)", NULL);
}

static uint64_t insert_named(work *work) {
    const char *const names[] = {":id", ":name", ":amount", ":payload"};
    return insert(
        work, "INSERT INTO sample (id, name, amount, payload) VALUES (:id, :name, :amount, :payload)",
        names);
}

static inline uint64_t scan(sqlite3 *db, uint64_t (*read)(const void *, int)) {
    sqlite3_stmt *statement = prepare(db, "SELECT id, name, amount, payload FROM sample");
    uint64_t checksum = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        checksum += (uint64_t)sqlite3_column_int64(statement, 0);
        const void *name = sqlite3_column_text(statement, 1);
        checksum += read(name, sqlite3_column_bytes(statement, 1));
        checksum += (uint64_t)sqlite3_column_double(statement, 2);
        const void *payload = sqlite3_column_blob(statement, 3);
        checksum += read(payload, sqlite3_column_bytes(statement, 3));
    }
    require(db, code == SQLITE_DONE, "scan");
    sqlite3_finalize(statement);
    return checksum;
}

uint64_t scan_copied(sqlite3 *db) { return scan(db, copied); }
static uint64_t scan_and_copy(work *work) { return scan(work->db, copied); }
static uint64_t scan_and_borrow(work *work) { return scan(work->db, borrowed); }

static uint64_t point_lookup(work *work) {
    execute(work->db, "BEGIN");
    sqlite3_stmt *statement = prepare(work->db, "SELECT name FROM sample WHERE id = ?");
    uint64_t checksum = 0;
    for (int i = 0; i < work->calls; i++) {
        sqlite3_bind_int64(statement, 1, work->ids[i]);
        require(work->db, sqlite3_step(statement) == SQLITE_ROW, "lookup");
        const void *name = sqlite3_column_text(statement, 0);
        checksum += copied(name, sqlite3_column_bytes(statement, 0));
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    execute(work->db, "COMMIT");
    return checksum;
}

static uint64_t lookup_by_three(work *work) {
    execute(work->db, "BEGIN");
    sqlite3_stmt *statement = prepare(
        work->db, "SELECT name FROM sample WHERE id = ? AND amount >= ? AND name <> ?");
    uint64_t checksum = 0;
    for (int i = 0; i < work->calls; i++) {
        sqlite3_bind_int64(statement, 1, work->ids[i]);
        sqlite3_bind_double(statement, 2, -0.5);
        sqlite3_bind_text(statement, 3, "nobody", -1, SQLITE_TRANSIENT);
        require(work->db, sqlite3_step(statement) == SQLITE_ROW, "lookup");
        const void *name = sqlite3_column_text(statement, 0);
        checksum += copied(name, sqlite3_column_bytes(statement, 0));
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    execute(work->db, "COMMIT");
    return checksum;
}

const work_case row_cases[] = {
    {"insert-positional", insert_positional, check_rows, NULL, 65536, 0},
    {"insert-named", insert_named, check_rows, NULL, 65536, 0},
    {"scan-index", scan_and_copy, NULL, warm_rows, 65536, 0},
    {"scan-name", scan_and_copy, NULL, warm_rows, 65536, 0},
    {"scan-borrowed", scan_and_borrow, NULL, warm_rows, 65536, 0},
    {"scan-bytes", scan_and_copy, NULL, warm_rows, 65536, 0},
    {"scan-typed", scan_and_copy, NULL, warm_rows, 65536, 0},
    {"scan-codable", scan_and_copy, NULL, warm_rows, 65536, 0},
    {"scan-cold", scan_and_copy, NULL, NULL, 2048, 0},
    {"point-lookup", point_lookup, NULL, warm_rows, 65536, 0},
    {"lookup-values", lookup_by_three, NULL, warm_rows, 65536, 0},
    {"lookup-interpolated", lookup_by_three, NULL, warm_rows, 65536, 0},
    // For `--scaling`: with a cache that holds no table, small or large.
    {"insert-cold", insert_positional, check_rows, NULL, 2048, 0},
    {"lookup-cold", point_lookup, NULL, NULL, 2048, 0},
};
const int row_case_count = sizeof row_cases / sizeof *row_cases;
