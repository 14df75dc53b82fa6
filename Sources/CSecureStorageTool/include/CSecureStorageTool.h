#ifndef C_SECURE_STORAGE_TOOL_H
#define C_SECURE_STORAGE_TOOL_H

/// The arguments that the system has passed to the program, and their number; NULL where it passes
/// them to `main` only.
///
/// Swift reads them from `/proc`, which a folder that `chroot` enters may lack: then a program of
/// Swift has none.
char *const *ctool_arguments(int *count);

#endif
