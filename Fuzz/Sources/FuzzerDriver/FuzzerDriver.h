// libFuzzer's loop without its main, as in https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library;
// the toolchain has the library and no header of it.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(
    int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
