#include "work.h"

// The system's SQLite: what the same work costs without encryption.
int main(void) { return work_serve(0, 0); }
