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
        path = target.path + ".restoring-\(UUID().uuidString.lowercased())"
        do {
            pages = try Descriptor(creating: path)
        } catch let error as SystemError {
            throw target.failure("it cannot be created: \(error.reason)")
        }
    }

    /// Writes one page.
    ///
    /// - Parameters:
    ///   - bytes: Exactly a page.
    ///   - number: Its number, from 1.
    /// - Throws: `.openFailed` code `.ioError` or `.full`.
    package func write(_ bytes: Data, page number: UInt32) throws {
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
    /// - Throws: `.openFailed` for a wrong key and for damage; the file is still there then.
    package func publish(key: DatabaseKey) throws {
        try failing { try pages.sync() }
        let (path, configuration) = (path, configuration)
        try NewFile(at: url, replacing: replacing).make(timeout: configuration.busyTimeout) {
            draft in
            guard rename(path, draft.path) == 0 else {
                throw draft.failure("it cannot be renamed: \(DatabaseFile.reason(errno))")
            }
            var settings = configuration
            settings.keepsJournalMode = false
            settings.keepsWriteAheadLog = false
            let db = SecureDatabaseStore(fullDatabasePath: draft.path, configuration: settings)
            try db.open(with: key)
            defer { db.close() }
            let report = try db.verifyIntegrity()
            guard report.isSound else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.corrupt.rawValue, message: "\(report)")
            }
        }
    }

    /// Removes the file, unless it has its name.
    package func discard() { unlink(path) }
}
