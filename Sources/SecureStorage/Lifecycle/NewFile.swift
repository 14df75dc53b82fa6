internal import Foundation

/// A file that is complete before it gets its name; see `DatabaseFile+Creation`.
struct NewFile {
    let target: DatabaseFile
    /// Whether to replace an existing file of that name.
    let replacing: Bool

    /// Names the file at `url`, whose directory is created if only that is missing.
    init(at url: URL, replacing: Bool) throws {
        target = try SecureDatabaseStore.newFile(at: url)
        self.replacing = replacing
        try target.requireWritableDirectory()
        // Before any work; `make` checks again for a file created after this.
        guard try replacing || target.status() == nil else { throw isTaken }
    }

    private var isTaken: SecureStorageError {
        target.failure("it already exists; choose another name, or replace it")
    }

    /// Creates the file: `fill` writes and closes a temporary file, which then gets the name.
    ///
    /// A kill at any point, or an error, leaves the previous state.
    func make<R>(timeout: Duration, _ fill: (DatabaseFile) throws -> R) throws -> R {
        try target.withCreationLock(timeout: timeout) {
            guard try target.status() != nil else {
                return try make(fill) { try target.publish($0) }
            }
            guard replacing else { throw isTaken }
            try target.dropKeptName()
            _ = try target.state()
            return try target.withoutOthers {
                // A log would be applied to the new file.
                try target.removeEmptyLog()
                if let suffix = try target.sideFiles.first {
                    throw target.failure(
                        "it has a sidecar \(suffix), so it was not closed; open and close it first"
                    )
                }
                return try make(fill) { try target.publish($0, replacing: true) }
            }
        }
    }

    private func make<R>(
        _ fill: (DatabaseFile) throws -> R, _ publish: (DatabaseFile) throws -> Void
    ) throws -> R {
        try target.make(
            incomplete: target.failure(
                "it could not be completed: the disk has failed, or is full"), fill
        ) { draft, result in
            try publish(draft)
            return result
        }
    }
}
