// From 4.7 on, SQLite needs release.h's options to start SQLCipher; earlier releases do not.
#include "release.h"
#include "sqlite3.c"
