#include "CSQLCipher.h"

// Links the engine's keying functions into this module, so that a SQLite without SQLCipher is found
// out when the package is built and not when the first file is written.
int csqlcipher_key_is_linked(void) {
    return &sqlite3_key_v2 != 0 && &sqlite3_rekey_v2 != 0;
}
