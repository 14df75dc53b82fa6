// libpq, the C client of PostgreSQL, and what depends on its version at compile time.
#pragma once
#include <libpq-fe.h>

// Returns what a request to cancel needs, independent of the connection; NULL without memory.
static inline void *cpostgresql_cancel_create(PGconn *connection) {
#ifdef LIBPQ_HAS_ASYNC_CANCEL
    return PQcancelCreate(connection);
#else
    return PQgetCancel(connection);
#endif
}

// Sends the request, waits until the server has it, and frees it. Blocks. Before libpq 17 the
// request is not encrypted; it holds a key that is good for nothing but this.
static inline void cpostgresql_cancel_send(void *cancel) {
#ifdef LIBPQ_HAS_ASYNC_CANCEL
    PQcancelBlocking((PGcancelConn *)cancel);
    PQcancelFinish((PGcancelConn *)cancel);
#else
    char reason[256];
    PQcancel((PGcancel *)cancel, reason, sizeof reason);
    PQfreeCancel((PGcancel *)cancel);
#endif
}
