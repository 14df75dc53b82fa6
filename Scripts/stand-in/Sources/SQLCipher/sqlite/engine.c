// From 4.7 on, SQLite has to be told to start SQLCipher; earlier releases have no such function.
#include "release.h"
#include "sqlite3.c"
