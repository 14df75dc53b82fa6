internal import Foundation

// A file briefly has two names while one replaces the other; a kill can leave both.

extension DatabaseFile {
    /// Removes the temporary name from a published file if a kill left both; see
    /// `cplatform_rename_exclusive`.
    func finishPublication(_ status: stat) -> Bool {
        guard status.st_nlink == 2, FileIdentity(draft.path) == FileIdentity(status) else {
            return false
        }
        return unlink(draft.path) == 0 || errno == ENOENT
    }

    /// Returns the path under which a migration keeps the old file.
    func keptPath(_ number: Int) -> String {
        path + ".old" + (number > 1 ? "-\(number)" : "")
    }

    /// Whether the second of two names was left by a migration that was killed before giving this
    /// one to the new file; this file is then still the database, whole and unchanged.
    func hasKeptName(_ status: stat) -> Bool { keptName(status) != nil }

    private func keptName(_ status: stat) -> String? {
        guard status.st_nlink == 2 else { return nil }
        for number in 1...1000 {
            guard let identity = FileIdentity(keptPath(number)) else { return nil }
            if identity == FileIdentity(status) { return keptPath(number) }
        }
        return nil
    }

    /// Removes such a name; requires the creation lock.
    func dropKeptName() throws {
        guard let status = try status(), let kept = keptName(status) else { return }
        guard unlink(kept) == 0 || errno == ENOENT else {
            throw failure("its second name \"\(kept)\": \(Self.reason(errno))")
        }
        try SaltFile(of: DatabaseFile(resolvedPath: kept)).remove()
    }
}
