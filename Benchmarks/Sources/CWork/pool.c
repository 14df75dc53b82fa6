#include "work.h"

#include <pthread.h>

// Readers: each has a connection and a thread of its own, and has read all pages before the time begins.

typedef struct readers {
    const char *path;
    pthread_barrier_t ready;
    uint64_t checksums[2];
    int next;
    pthread_mutex_t lock;
} readers;

static void *read_rows(void *context) {
    readers *readers = context;
    sqlite3 *db = open_raw(readers->path, 65536);
    number(db, "SELECT CAST(sum(amount) AS INTEGER) FROM sample");
    pthread_barrier_wait(&readers->ready);
    uint64_t checksum = scan_copied(db);
    pthread_mutex_lock(&readers->lock);
    readers->checksums[readers->next++] = checksum;
    pthread_mutex_unlock(&readers->lock);
    // The time ends here; closing has to wait for the other's last row.
    pthread_barrier_wait(&readers->ready);
    sqlite3_close(db);
    return NULL;
}

static uint64_t read_with(work *work, int count) {
    readers readers = {.path = work->path, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];
    pthread_barrier_init(&readers.ready, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, read_rows, &readers);
    pthread_barrier_wait(&readers.ready);
    double start = now();
    pthread_barrier_wait(&readers.ready);
    own_seconds = now() - start;
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&readers.ready);
    return readers.checksums[0] + readers.checksums[1];
}

static uint64_t one_reader(work *work) { return read_with(work, 1); }
static uint64_t two_readers(work *work) { return read_with(work, 2); }

static uint64_t open_many(work *work) {
    for (int i = 0; i < 50; i++) sqlite3_close(open_raw(work->path, 65536));
    return 50;
}

const work_case pool_cases[] = {
    {"pool-1-reader", one_reader, NULL, NULL, 0, 1},
    {"pool-2-readers", two_readers, NULL, NULL, 0, 1},
    {"open-raw", open_many, NULL, NULL, 0, 1},
};
const int pool_case_count = sizeof pool_cases / sizeof *pool_cases;
