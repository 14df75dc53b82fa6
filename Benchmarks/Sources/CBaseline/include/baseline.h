#ifndef BASELINE_H
#define BASELINE_H

#include <stdint.h>

// The same work by hand on the C API: prepared statements kept, values bound and copied out as a program
// would need them. Every function that works returns a checksum of what it has seen; all end the program
// when SQLite reports an error, since a benchmark without its data means nothing.

typedef struct baseline baseline;

/// Opens an existing file with a raw key of 32 bytes, with the settings of the library's default
/// configuration but for `synchronous` (NORMAL) and the cache (64 MiB).
baseline *baseline_open(const char *path, const uint8_t *key);

void baseline_close(baseline *database);

void baseline_execute(baseline *database, const char *sql);

/// `INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)`, rows `1...count`.
uint64_t baseline_insert(baseline *database, const char *const *names, int count);

/// Reads every row of `sample` whole.
uint64_t baseline_scan(baseline *database);

/// Reads the names of the rows `ids`.
uint64_t baseline_lookup(baseline *database, const int64_t *ids, int count);

/// One statement with one text for a placeholder; the text in column `column` of its row is copied.
uint64_t baseline_get_texts(
    baseline *database, const char *sql, int column, const char *const *keys, int count);

/// One statement with the placeholders key, 1, value, NULL, in a transaction of its own per pair.
uint64_t baseline_put_texts(
    baseline *database, const char *sql, const char *const *keys, const char *const *values,
    int count);

#endif
