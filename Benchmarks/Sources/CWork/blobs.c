#include "work.h"

#include <stdlib.h>
#include <string.h>

// One large value, in chunks of 64 KiB.

enum { CHUNK = 1 << 16 };

static int value_size(work *work) { return work->rows < 1998000 ? work->rows * 500 : 999000000; }

static sqlite3_blob *open_value(work *work, int is_writable) {
    sqlite3_blob *blob = NULL;
    int code = sqlite3_blob_open(work->db, "main", "sample", "payload", 1, is_writable, &blob);
    require(work->db, code == SQLITE_OK, "blob");
    return blob;
}

static uint64_t blob_write(work *work) {
    int size = value_size(work);
    uint8_t *chunk = malloc(CHUNK);
    memset(chunk, 7, CHUNK);
    execute(work->db, "INSERT INTO sample (id) VALUES (1); BEGIN IMMEDIATE");
    sqlite3_stmt *update = prepare(work->db, "UPDATE sample SET payload = zeroblob(?) WHERE id = 1");
    sqlite3_bind_int(update, 1, size);
    require(work->db, sqlite3_step(update) == SQLITE_DONE, "zeroblob");
    sqlite3_finalize(update);
    sqlite3_blob *blob = open_value(work, 1);
    for (int at = 0; at < size; at += CHUNK) {
        int count = size - at < CHUNK ? size - at : CHUNK;
        require(work->db, sqlite3_blob_write(blob, chunk, count, at) == SQLITE_OK, "write");
    }
    require(work->db, sqlite3_blob_close(blob) == SQLITE_OK, "close");
    execute(work->db, "COMMIT");
    free(chunk);
    return 0;
}

static uint64_t blob_read(work *work) {
    blob_write(work);
    int size = value_size(work);
    uint8_t *chunk = malloc(CHUNK);
    uint64_t checksum = 0;
    double start = now();
    sqlite3_blob *blob = open_value(work, 0);
    for (int at = 0; at < size; at += CHUNK) {
        int count = size - at < CHUNK ? size - at : CHUNK;
        require(work->db, sqlite3_blob_read(blob, chunk, count, at) == SQLITE_OK, "read");
        checksum += (uint64_t)count + chunk[0];
    }
    sqlite3_blob_close(blob);
    own_seconds = now() - start;
    free(chunk);
    return checksum;
}

const work_case blob_cases[] = {
    {"blob-write", blob_write, "SELECT length(payload) FROM sample", NULL, 2048, 0},
    {"blob-read", blob_read, NULL, NULL, 2048, 0},
};
const int blob_case_count = sizeof blob_cases / sizeof *blob_cases;
