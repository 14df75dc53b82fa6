#include "work.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

int sqlite3_rekey_v2(sqlite3 *, const char *, const void *, int);

// What has no meaning without encryption.

static uint64_t rekey(work *work) {
    char text[4 + 64];
    key_text(other_raw_key, sizeof other_raw_key, text);
    int code = sqlite3_rekey_v2(work->db, "main", text, (int)strlen(text));
    require(work->db, code == SQLITE_OK, "rekey");
    // As the library does it: no page under the old key stays in the file.
    execute(work->db, "PRAGMA wal_checkpoint(TRUNCATE)");
    return 0;
}

/// All that can be checked: every page's HMAC, the structures, the references. Returns the rows.
static uint64_t check_all(sqlite3 *db) {
    const char *const checks[] = {
        "PRAGMA cipher_integrity_check", "PRAGMA foreign_key_check", "PRAGMA integrity_check"};
    for (int i = 0; i < 3; i++) {
        sqlite3_stmt *statement = prepare(db, checks[i]);
        int code = sqlite3_step(statement);
        int is_sound = i < 2 ? code == SQLITE_DONE
                             : strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
        require(db, is_sound, checks[i]);
        sqlite3_finalize(statement);
    }
    return (uint64_t)number(db, "SELECT count(*) FROM sample");
}

static uint64_t verify(work *work) { return check_all(work->db); }

static uint64_t backup(work *work) {
    char path[4096];
    snprintf(path, sizeof path, "%s.backup", work->path);
    remove(path);
    sqlite3 *copy = open_raw(path, 65536);
    execute(copy, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
    sqlite3_backup *pages = sqlite3_backup_init(copy, "main", work->db, "main");
    require(copy, pages && sqlite3_backup_step(pages, -1) == SQLITE_DONE, "backup");
    require(copy, sqlite3_backup_finish(pages) == SQLITE_OK, "backup");
    sqlite3_close(copy);
    copy = open_raw(path, 65536);
    uint64_t rows = check_all(copy);
    sqlite3_close(copy);
    remove(path);
    return rows;
}

static uint64_t open_with_passphrase(work *work) {
    sqlite3_close(open_keyed(work->path, passphrase, 65536));
    return 1;
}

/// The key and the salt of a file, as SQLCipher 4 derives it by default.
static void derive(const char *path, uint8_t bytes[32 + 16]) {
    FILE *file = fopen(path, "rb");
    require(NULL, file && fread(bytes + 32, 16, 1, file) == 1, "salt");
    fclose(file);
    int done = PKCS5_PBKDF2_HMAC(
        passphrase, (int)strlen(passphrase), bytes + 32, 16, 256000, EVP_sha512(), 32, bytes);
    require(NULL, done == 1, "derive");
}

static uint64_t key_derivation(work *work) {
    uint8_t bytes[32 + 16];
    derive(work->path, bytes);
    return 1;
}

/// A writer and five readers, with one derivation.
static uint64_t open_pool(work *work) {
    uint8_t bytes[32 + 16];
    char text[4 + 96];
    derive(work->path, bytes);
    key_text(bytes, sizeof bytes, text);
    sqlite3 *connections[6];
    uint64_t rows = 0;
    for (int i = 0; i < 6; i++) {
        connections[i] = open_keyed(work->path, text, 65536);
        if (i > 0) rows += (uint64_t)number(connections[i], "SELECT count(*) FROM sample");
    }
    for (int i = 0; i < 6; i++) sqlite3_close(connections[i]);
    return rows;
}

int main(void) {
    const work_case cases[] = {
        {"rekey", rekey,
         "SELECT sum(id) + sum(length(name)) + sum(length(payload)) + CAST(sum(amount) AS INTEGER)"
         " FROM sample",
         NULL, 65536, 0},
        {"verify", verify, NULL, NULL, 65536, 0},
        {"backup", backup, NULL, NULL, 65536, 0},
        {"open-passphrase", open_with_passphrase, NULL, NULL, 0, 1},
        {"key-derivation", key_derivation, NULL, NULL, 0, 1},
        {"pool-open-passphrase", open_pool, NULL, NULL, 0, 1},
    };
    return work_serve(cases, sizeof cases / sizeof *cases);
}
