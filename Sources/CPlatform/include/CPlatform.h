#ifndef CPLATFORM_H
#define CPLATFORM_H

/// Renames `from` to `to` and fails with `EEXIST` when `to` exists: atomic, never an overwrite.
/// Returns 0, or -1 with `errno` set. `renameat2` on Linux, `renamex_np` on Apple platforms.
int cplatform_rename_exclusive(const char *from, const char *to);

/// Fills `length` bytes with zeros in a way that the optimiser may not remove.
void cplatform_erase(void *bytes, unsigned long length);

#endif
