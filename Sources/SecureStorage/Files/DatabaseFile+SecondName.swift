internal import Foundation

// A file has two names for a moment, while one of them replaces the other; a kill can leave both.

extension DatabaseFile {
    /// Removes the draft's name from a published file that a kill has left with both; see
    /// `cplatform_rename_exclusive`.
    func finishPublication(_ status: stat) -> Bool {
        guard status.st_nlink == 2, FileIdentity(draft.path) == FileIdentity(status) else {
            return false
        }
        return unlink(draft.path) == 0 || errno == ENOENT
    }

    /// Where a migration keeps the old file.
    func keptPath(_ number: Int) -> String {
        path + ".old" + (number > 1 ? "-\(number)" : "")
    }

    /// Whether the other one of two names is that of a migration that was killed before it gave
    /// this one to the new file: then this is still the database, whole and unchanged.
    func hasKeptName(_ status: stat) -> Bool { keptName(status) != nil }

    private func keptName(_ status: stat) -> String? {
        guard status.st_nlink == 2 else { return nil }
        for number in 1...1000 {
            guard let identity = FileIdentity(keptPath(number)) else { return nil }
            if identity == FileIdentity(status) { return keptPath(number) }
        }
        return nil
    }

    /// Takes such a name back; under the creation lock.
    func dropKeptName() throws {
        guard let status = try status(), let kept = keptName(status) else { return }
        guard unlink(kept) == 0 || errno == ENOENT else {
            throw failure("its second name \"\(kept)\": \(Self.reason(errno))")
        }
        try SaltFile(of: DatabaseFile(resolvedPath: kept)).remove()
    }
}
