#include "region.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The line protocol that all sides speak, on standard input and output:
//
//     ready <versions>                     the program, once, at its start
//     make <kind> <rows> <path>            -> done
//     run <case> <rows> <path>             -> <seconds> <checksum> <peak kilobytes>

double own_seconds;

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void reset_peak_memory(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

/// In kilobytes; 0 where the system does not tell.
static long peak_memory(void) {
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return 0;
    char line[256];
    long peak = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
    }
    fclose(file);
    return peak;
}

static const work_case *find(const work_case *cases, int count, const char *name) {
    for (int i = 0; i < count; i++) {
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    }
    return NULL;
}

/// As in `SampleData.swift`: SplitMix64, the same numbers in every run.
static int64_t *make_ids(int count, int rows) {
    int64_t *ids = malloc(sizeof *ids * (size_t)count);
    uint64_t state = 42;
    for (int i = 0; i < count; i++) {
        uint64_t mixed = state += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        ids[i] = (int64_t)((mixed ^ (mixed >> 31)) % (uint64_t)rows) + 1;
    }
    return ids;
}

struct call {
    const work_case *one;
    work *work;
    uint64_t checksum;
};

static void call(void *context) {
    struct call *call = context;
    call->checksum = call->one->run(call->work);
}

static void run(const work_case *one, int rows, const char *path) {
    reset_peak_memory();
    int calls = rows < 200000 ? rows : 200000;
    work work = {
        .path = path, .rows = rows, .calls = calls, .writes = calls < 20 ? 1 : calls / 20,
        .ids = make_ids(calls, rows), .keys = malloc(sizeof *work.keys * (size_t)calls),
    };
    for (int i = 0; i < calls; i++) {
        snprintf(work.keys[i], sizeof work.keys[i], "setting/%lld", (long long)work.ids[i]);
    }
    if (!one->opens_by_itself) work.db = open_raw(path, one->cache_kilobytes);
    if (one->warm) number(work.db, one->warm);
    own_seconds = -1;
    double start = now();
    struct call measured = {one, &work, 0};
    benchmark_region(call, &measured);
    uint64_t checksum = measured.checksum;
    double seconds = own_seconds >= 0 ? own_seconds : now() - start;
    if (one->check) checksum = (uint64_t)number(work.db, one->check);
    sqlite3_close(work.db);
    free(work.ids);
    free(work.keys);
    printf("%.9f %llu %ld\n", seconds, (unsigned long long)checksum, peak_memory());
}

int work_serve(const work_case *extra_cases, int extra_count) {
    samples_prepare();
    sqlite3 *db = open_keyed(":memory:", is_encrypted() ? "a" : NULL, 1024);
    sqlite3_stmt *version = prepare(db, "PRAGMA cipher_version");
    int has_cipher = sqlite3_step(version) == SQLITE_ROW;
    require(db, has_cipher == is_encrypted(), "the program is linked with the other library");
    printf("ready ");
    if (has_cipher) printf("SQLCipher %s on ", (const char *)sqlite3_column_text(version, 0));
    printf("SQLite %s\n", sqlite3_libversion());
    fflush(stdout);
    sqlite3_finalize(version);
    // Stays open: SQLCipher tears its global state down with the last connection that has a key.

    char line[4096], command[16], name[64], path[4000];
    while (fgets(line, sizeof line, stdin)) {
        int rows = 0;
        if (sscanf(line, "%15s %63s %d %3999[^\n]", command, name, &rows, path) != 4 || rows < 1) {
            fprintf(stderr, "cannot understand: %s", line);
            return 1;
        }
        if (strcmp(command, "make") == 0) {
            make_template(name, rows, path);
            printf("done\n");
        } else {
            const work_case *one = find(row_cases, row_case_count, name);
            if (!one) one = find(queue_cases, queue_case_count, name);
            if (!one) one = find(key_value_cases, key_value_case_count, name);
            if (!one) one = find(blob_cases, blob_case_count, name);
            if (!one) one = find(pool_cases, pool_case_count, name);
            if (!one) one = find(extra_cases, extra_count, name);
            if (!one) {
                fprintf(stderr, "there is no case %s\n", name);
                return 1;
            }
            run(one, rows, path);
        }
        fflush(stdout);
    }
    sqlite3_close(db);
    return 0;
}
