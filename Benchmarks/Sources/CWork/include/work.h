#ifndef WORK_H
#define WORK_H

#include <sqlite3.h>
#include <stdint.h>

// The cases by hand on the C API: prepared statements kept, values bound and copied out as a program would
// need them. The same code runs on SQLCipher and on SQLite, whichever a program is linked with. A call
// that fails ends the program: a figure without its work means nothing.

enum { TEXT_COUNT = 10000, PAYLOAD_COUNT = 256, PAYLOAD_LENGTH = 100 };

/// One run of one case.
typedef struct work {
    /// Open and keyed; NULL for a case that opens its connections by itself.
    sqlite3 *db;
    const char *path;
    int rows;
    /// Of single calls, and of those that write.
    int calls, writes;
    /// Ids of rows, in an order that jumps; as many as `calls`.
    int64_t *ids;
    /// Keys of a key-value store, for the ids.
    char (*keys)[24];
} work;

typedef struct work_case {
    const char *name;
    /// The part that is timed; returns the checksum of what it has read.
    uint64_t (*run)(work *);
    /// Gives the checksum in place of the run's own; not timed.
    const char *check;
    /// Reads the pages that the run will read; not timed.
    const char *warm;
    int cache_kilobytes;
    int opens_by_itself;
} work_case;

/// Serves the line protocol; see worker.c.
int work_serve(const work_case *extra_cases, int extra_count);

// Samples
void samples_prepare(void);
const char *sample_text(int64_t index);
const void *sample_payload(int64_t index);
void make_template(const char *kind, int rows, const char *path);

// Connections
extern const uint8_t raw_key[32], other_raw_key[32];
extern const char passphrase[];
/// Whether this is SQLCipher.
int is_encrypted(void);
/// Opens a file, makes it when there is none, and reads its schema; `key` in SQLCipher's form.
sqlite3 *open_keyed(const char *path, const char *key, int cache_kilobytes);
sqlite3 *open_raw(const char *path, int cache_kilobytes);
void key_text(const uint8_t *bytes, int length, char *text);
void require(sqlite3 *db, int condition, const char *what);
void execute(sqlite3 *db, const char *sql);
int64_t number(sqlite3 *db, const char *sql);
sqlite3_stmt *prepare(sqlite3 *db, const char *sql);

// Cases
/// Reads every row of `sample` whole.
uint64_t scan_copied(sqlite3 *db);
/// The bytes of a column as a program of its own keeps them; returns their length plus the last one.
uint64_t copied(const void *bytes, int length);
/// In seconds.
double now(void);
/// Set by a case that times a part of its run only; negative otherwise.
extern double own_seconds;

extern const work_case row_cases[], queue_cases[], key_value_cases[], blob_cases[], pool_cases[];
extern const int row_case_count, queue_case_count, key_value_case_count, blob_case_count, pool_case_count;

#endif
