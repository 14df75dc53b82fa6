package import Foundation
internal import SecureStoragePlatform

/// A database that is put together from its pages, under another name until it is complete.
///
/// Used by one caller at a time; the methods block.
package final class PageFile: Sendable {
    private let url: URL
    private let replacing: Bool
    private let configuration: SecureDatabaseConfiguration
    private let pages: Descriptor
    private let path: String

    /// Creates an empty file beside `url`.
    ///
    /// - Parameters:
    ///   - url: The name that the file will get.
    ///   - replacing: Whether a file of that name is replaced.
    ///   - configuration: The cipher settings.
    /// - Throws: `.openFailed` if the file cannot get that name.
    package init(
        beside url: URL, replacing: Bool, _ configuration: SecureDatabaseConfiguration
    ) throws {
        let target = try NewFile(at: url, replacing: replacing).target
        self.url = url
        self.replacing = replacing
        self.configuration = configuration
        let beginning = target.path + ".restoring-"
        Self.removeFiles(beginningWith: beginning)
        path = beginning + UUID().uuidString.lowercased()
        do {
            pages = try Descriptor(creating: path)
            // Until this process ends, however it does.
            guard try pages.lock(), pages.isNamed(path) else {
                throw target.failure("somebody else restores it as well; try again", .busy)
            }
        } catch let error as SystemError {
            throw target.failure("it cannot be created: \(error.reason)")
        }
    }

    /// Removes what kills have left.
    private static func removeFiles(beginningWith path: String) {
        let beginning = URL(fileURLWithPath: path)
        let directory = beginning.deletingLastPathComponent()
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        for name in names ?? [] where name.hasPrefix(beginning.lastPathComponent) {
            let file = directory.appendingPathComponent(name).path
            if let left = try? Descriptor(file, O_RDWR | O_NOFOLLOW), (try? left.lock()) == true {
                unlink(file)
            }
        }
    }

    /// Writes one page.
    ///
    /// - Parameters:
    ///   - bytes: Exactly a page.
    ///   - number: Its number, from 1.
    /// - Throws: `.openFailed` code `.ioError` or `.full`; code `.misuse` for pages of another size
    ///   than that of the configuration.
    package func write(_ bytes: Data, page number: UInt32) throws {
        guard bytes.count == configuration.cipher.pageSize else {
            throw DatabaseFile(resolvedPath: path).failure(
                "the database has pages of \(bytes.count) bytes, not \(configuration.cipher.pageSize); "
                    + "set configuration.cipher.pageSize", .misuse)
        }
        try failing {
            try bytes.withUnsafeBytes {
                try pages.write($0, at: Int(number - 1) * configuration.cipher.pageSize)
            }
        }
    }

    /// Ends the file after this number of pages.
    ///
    /// - Throws: As ``write(_:page:)``.
    package func truncate(pages count: Int) throws {
        try failing { try pages.truncate(to: count * configuration.cipher.pageSize) }
    }

    private func failing(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as SystemError {
            throw DatabaseFile(resolvedPath: path).failure(
                "it cannot be written: \(error.reason)", error.code == ENOSPC ? .full : .ioError)
        }
    }

    /// Checks the whole file with its key, and gives it its name.
    ///
    /// - Parameters:
    ///   - key: The database's key.
    ///   - salt: The file's salt, for one with a plaintext header, which does not contain it.
    ///   - progress: Called with the progress of the check.
    /// - Throws: `.openFailed` for a wrong key and for damage; the error of `progress`; the file is
    ///   still there then.
    package func publish(
        key: DatabaseKey, salt: [UInt8], _ progress: (FileProgress) throws -> Void
    ) throws {
        try failing { try pages.sync() }
        let (path, configuration) = (path, configuration)
        try NewFile(at: url, replacing: replacing).make(timeout: configuration.busyTimeout) {
            draft in
            guard rename(path, draft.path) == 0 else {
                throw draft.failure("it cannot be renamed: \(DatabaseFile.reason(errno))")
            }
            if configuration.cipher.plaintextHeaderSize > 0 {
                try SaltFile(of: draft).replace(with: [salt])
            }
            var settings = configuration
            settings.keepsJournalMode = false
            settings.keepsWriteAheadLog = false
            let db = SecureDatabaseStore(fullDatabasePath: draft.path, configuration: settings)
            try db.open(with: key)
            defer { db.close() }
            let report = try db.verifyIntegrity(progress: progress)
            // Violated foreign keys were so in the database that was mirrored.
            guard report.damagedPages.isEmpty, report.structureProblems.isEmpty else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.corrupt.rawValue, message: "\(report)")
            }
        }
    }

    /// Removes the file, unless it has its name.
    package func discard() { unlink(path) }
}
