#include "work.h"

#include <string.h>

static uint64_t queue_read(work *work) {
    sqlite3_stmt *statement = prepare(work->db, "SELECT name FROM sample WHERE id = ?");
    uint64_t checksum = 0;
    for (int i = 0; i < work->calls; i++) {
        sqlite3_bind_int64(statement, 1, work->ids[i]);
        require(work->db, sqlite3_step(statement) == SQLITE_ROW, "read");
        const void *name = sqlite3_column_text(statement, 0);
        checksum += copied(name, sqlite3_column_bytes(statement, 0));
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    sqlite3_finalize(statement);
    return checksum;
}

static void step(work *work, sqlite3_stmt *statement) {
    require(work->db, sqlite3_step(statement) == SQLITE_DONE, "write");
    sqlite3_reset(statement);
}

static uint64_t queue_write(work *work) {
    sqlite3_stmt *begin = prepare(work->db, "BEGIN IMMEDIATE");
    sqlite3_stmt *update = prepare(work->db, "UPDATE sample SET name = ? WHERE id = ?");
    sqlite3_stmt *commit = prepare(work->db, "COMMIT");
    for (int i = 0; i < work->writes; i++) {
        const char *name = sample_text(i + 7);
        step(work, begin);
        sqlite3_bind_text(update, 1, name, (int)strlen(name), SQLITE_TRANSIENT);
        sqlite3_bind_int64(update, 2, work->ids[i]);
        step(work, update);
        sqlite3_clear_bindings(update);
        step(work, commit);
    }
    sqlite3_finalize(begin);
    sqlite3_finalize(update);
    sqlite3_finalize(commit);
    return 0;
}

const work_case queue_cases[] = {
    {"queue-read", queue_read, NULL, "SELECT CAST(sum(amount) AS INTEGER) FROM sample", 65536, 0},
    {"queue-write", queue_write, "SELECT sum(id * length(name)) FROM sample",
     "SELECT CAST(sum(amount) AS INTEGER) FROM sample", 65536, 0},
};
const int queue_case_count = sizeof queue_cases / sizeof *queue_cases;
