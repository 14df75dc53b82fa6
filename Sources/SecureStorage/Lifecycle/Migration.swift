internal import Foundation

/// Replaces a file of an older format by a new file with the same content.
struct Migration {
    let file: DatabaseFile
    let key: EncryptionKey
    let oldCipher: CipherConfiguration?
    let cipher: CipherConfiguration
    let newKey: EncryptionKey?

    func run(_ progress: FileProgress.Handler) throws -> URL? {
        try file.requireWritableDirectory()
        return try file.withCreationLock(timeout: .seconds(5)) {
            try file.dropKeptName()
            guard let access = try oldAccess() else { return nil }
            guard let claim = FileClaim.alone(file.path) else {
                throw file.failure("this process has it open; close it first", .busy)
            }
            return try withExtendedLifetime(claim) { try replace(access, progress) }
        }
    }

    /// Returns how to read the file, or nil if it already has the wanted format.
    private func oldAccess() throws -> (ContentAccess, CipherConfiguration)? {
        let diagnosis = try Diagnostician(path: file.path, key: newKey ?? key, cipher: cipher)
            .diagnose()
        if diagnosis.finding == .ok { return nil }
        let isAsWanted = newKey == nil && oldCipher == nil
        let old =
            isAsWanted
            ? diagnosis
            : try Diagnostician(path: file.path, key: key, cipher: oldCipher ?? cipher).diagnose()
        switch old.finding {
        case .legacyFormat, .withoutHMAC:
            guard let format = old.format, format.isReadByEngine else {
                throw old.openingError(file.path)
            }
            return (.legacy(key, format), CipherConfiguration())
        case .otherCipher(let found):
            return (.encrypted(.given(key)), found)
        // It has another key, or the configuration that was named.
        case .ok:
            return (.encrypted(.given(key)), oldCipher ?? cipher)
        case .missing:
            throw file.failure("the file does not exist")
        case .empty, .notEncrypted, .plaintextHeader, .keyNeeded, .wrongKey, .corrupt, .truncated,
            .damagedLog, .damagedJournal,
            .notADatabase:
            throw old.openingError(file.path)
        }
    }

    private func replace(
        _ access: (content: ContentAccess, cipher: CipherConfiguration),
        _ progress: FileProgress.Handler
    ) throws -> URL {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = access.cipher
        let source = try Connection.open(
            file.path, content: access.content, configuration: configuration)
        defer { source.close() }
        // Moves everything into the one file, and keeps others out until the new one has its name.
        guard try source.text("PRAGMA journal_mode = DELETE")?.lowercased() == "delete" else {
            throw file.failure("another connection has it open", .busy)
        }
        try source.execute("BEGIN EXCLUSIVE")
        // A journal left by a crash has been played back and removed; one that exists now is the
        // empty one of a program that keeps it (PRAGMA journal_mode = TRUNCATE or PERSIST).
        try file.removeFile("-journal")
        return try file.make(
            incomplete: file.failure(
                "the new file could not be completed: the disk has failed, or is full")
        ) { draft in
            _ = try NewContent(
                draft: draft, key: newKey ?? key, cipher: cipher, logger: source.logger
            ).fill(from: source, progress)
        } publish: { draft, _ in
            try exchange(draft)
        }
    }

    /// Gives the old file a second name, then its first name to `draft`.
    private func exchange(_ draft: DatabaseFile) throws -> URL {
        for number in 1...1000 {
            let kept = file.keptPath(number)
            if link(file.path, kept) == 0 {
                file.syncDirectory()
                let keptSalt = SaltFile(of: DatabaseFile(resolvedPath: kept))
                do {
                    if let salts = try SaltFile(of: file).salts() {
                        try keptSalt.replace(with: salts)
                    }
                    try file.publish(draft, replacing: true)
                } catch {
                    _ = unlink(kept)
                    try? keptSalt.remove()
                    throw error
                }
                return URL(fileURLWithPath: kept)
            }
            guard errno == EEXIST else {
                throw file.failure(
                    "the old file cannot be kept beside it: \(DatabaseFile.reason(errno))")
            }
        }
        throw file.failure("there are too many old files beside it; remove some")
    }
}
