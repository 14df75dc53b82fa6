#include "CSecureStoragePlatform.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Small secrets share slabs. A slab is a run of pages, aligned to its size so that a slot's address
// gives it, with slots of one size:
//
//     header | slot | slot | …          | not yet used      | guard
//     readable, writable, locked        | no access         | no access
//
// Pages become accessible one after the other. A free slot holds nothing but the address of the next
// free one. Larger secrets have a mapping of their own.

enum { slab_pages = 16, header_size = 64, smallest = 16, classes = 8 };

struct slab {
    // The slabs of one size that have room.
    struct slab *next, *previous;
    void *free;
    unsigned char *unused, *accessible;
    unsigned long slot, used;
};

_Static_assert(sizeof(struct slab) <= header_size, "the header has its own place");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct slab *with_room[classes];

static unsigned long page_size(void) {
    static unsigned long size;
    unsigned long known = __atomic_load_n(&size, __ATOMIC_RELAXED);
    if (known == 0) {
        known = (unsigned long)sysconf(_SC_PAGESIZE);
        __atomic_store_n(&size, known, __ATOMIC_RELAXED);
    }
    return known;
}

static void *map(unsigned long size, int protection) {
    void *bytes = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (bytes == MAP_FAILED) return NULL;
#ifdef MADV_DONTDUMP
    (void)madvise(bytes, size, MADV_DONTDUMP);
#endif
    return bytes;
}

// MARK: - Slabs, under the mutex

static unsigned char *end_of(struct slab *slab) {
    return (unsigned char *)slab + (slab_pages - 1) * page_size();
}

static int open_page(unsigned char *page) {
    if (mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return -1;
    (void)mlock(page, page_size());
    return 0;
}

static struct slab *make_slab(unsigned long slot) {
    unsigned long size = slab_pages * page_size();
    // Twice as much, of which the aligned part is kept.
    unsigned char *all = map(2 * size, PROT_NONE);
    if (!all) return NULL;
    unsigned char *base = (unsigned char *)(((uintptr_t)all + size - 1) / size * size);
    if (base > all) (void)munmap(all, (unsigned long)(base - all));
    unsigned long rest = (unsigned long)(all + 2 * size - (base + size));
    if (rest > 0) (void)munmap(base + size, rest);
    if (open_page(base) != 0) {
        (void)munmap(base, size);
        return NULL;
    }
    struct slab *slab = (struct slab *)base;
    slab->slot = slot;
    slab->unused = base + header_size;
    slab->accessible = base + page_size();
    return slab;
}

static void link_slab(struct slab *slab, int class) {
    slab->previous = NULL;
    slab->next = with_room[class];
    if (slab->next) slab->next->previous = slab;
    with_room[class] = slab;
}

static void unlink_slab(struct slab *slab, int class) {
    if (slab->next) slab->next->previous = slab->previous;
    if (slab->previous) slab->previous->next = slab->next;
    else with_room[class] = slab->next;
}

static int is_full(struct slab *slab) {
    return !slab->free && slab->unused + slab->slot > end_of(slab);
}

static void *take_slot(int class) {
    struct slab *slab = with_room[class];
    if (!slab) {
        slab = make_slab((unsigned long)smallest << class);
        if (!slab) return NULL;
        link_slab(slab, class);
    }
    void *bytes = slab->free;
    if (bytes) {
        slab->free = *(void **)bytes;
        *(void **)bytes = NULL;
    } else {
        while (slab->unused + slab->slot > slab->accessible) {
            if (open_page(slab->accessible) != 0) return NULL;
            slab->accessible += page_size();
        }
        bytes = slab->unused;
        slab->unused += slab->slot;
    }
    slab->used++;
    if (is_full(slab)) unlink_slab(slab, class);
    return bytes;
}

static void give_back(void *bytes, int class) {
    unsigned long size = slab_pages * page_size();
    struct slab *slab = (struct slab *)((uintptr_t)bytes / size * size);
    if (is_full(slab)) link_slab(slab, class);
    *(void **)bytes = slab->free;
    slab->free = bytes;
    slab->used--;
    // The last slab with room stays for the next secret.
    if (slab->used == 0 && (with_room[class] != slab || slab->next)) {
        unlink_slab(slab, class);
        (void)munmap(slab, size);
    }
}

// MARK: - Secrets

// The class of slots that hold `length` bytes; -1 for none.
static int class_of(unsigned long length) {
    for (int class = 0; class < classes; class++) {
        if (length <= (unsigned long)smallest << class) return class;
    }
    return -1;
}

static unsigned long whole_pages(unsigned long length) {
    unsigned long page = page_size();
    return length > UINTPTR_MAX - page ? 0 : (length + page - 1) / page * page;
}

static void *map_pages(unsigned long length) {
    unsigned long size = whole_pages(length);
    void *bytes = size == 0 ? NULL : map(size, PROT_READ | PROT_WRITE);
    if (bytes) (void)mlock(bytes, size);
    return bytes;
}

// For a process that may have no more mappings: ordinary memory is better than the end of the
// process. Its address tells it from a slot or a page, which are aligned to 16.
enum { alignment = 16, offset = 8 };

static void *allocate_ordinary(unsigned long length) {
    void *block;
    if (length > UINTPTR_MAX - offset) return NULL;
    if (posix_memalign(&block, alignment, length + offset) != 0) return NULL;
    memset(block, 0, length + offset);
    return (unsigned char *)block + offset;
}

static int is_ordinary(void *bytes) { return (uintptr_t)bytes % alignment == offset; }

void *cplatform_allocate_secret(unsigned long length) {
    int class = class_of(length);
    void *bytes;
    if (class >= 0) {
        (void)pthread_mutex_lock(&mutex);
        bytes = take_slot(class);
        (void)pthread_mutex_unlock(&mutex);
    } else {
        bytes = map_pages(length);
    }
    return bytes ? bytes : allocate_ordinary(length);
}

void cplatform_free_secret(void *bytes, unsigned long length) {
    if (is_ordinary(bytes)) {
        cplatform_erase(bytes, length);
        free((unsigned char *)bytes - offset);
        return;
    }
    int class = class_of(length);
    if (class < 0) {
        cplatform_erase(bytes, length);
        (void)munmap(bytes, whole_pages(length));
        return;
    }
    cplatform_erase(bytes, (unsigned long)smallest << class);
    (void)pthread_mutex_lock(&mutex);
    give_back(bytes, class);
    (void)pthread_mutex_unlock(&mutex);
}

// MARK: - Forks

static void lock_slabs(void) { (void)pthread_mutex_lock(&mutex); }
static void unlock_slabs(void) { (void)pthread_mutex_unlock(&mutex); }

// A child would otherwise wait for ever for a mutex that another thread of its parent holds.
__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(lock_slabs, unlock_slabs, unlock_slabs);
}
