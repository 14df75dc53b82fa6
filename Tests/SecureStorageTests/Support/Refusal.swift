import Foundation
import SecureStorage
import Testing
import TestSupport

extension TemporaryDatabase {
    /// Checks that a read-write and a read-only store fail to open the path and do nothing else.
    ///
    /// Nothing in the directory changes, and no key appears in the error.
    ///
    /// Returns the read-write store's error.
    @discardableResult
    func expectRefusal(
        _ kind: SecureStorageError.Kind, path: String? = nil, mentioning words: [String] = [],
        key: Data = TemporaryDatabase.key, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> SecureStorageError? {
        try expectRefusal(
            kind, path: path, mentioning: words, secrets: key.isEmpty ? [] : [key.hex],
            sourceLocation: sourceLocation
        ) { try $0.open(with: key) { _ in Unexpected() } }
    }

    /// Checks the same with a passphrase.
    @discardableResult
    func expectRefusal(
        _ kind: SecureStorageError.Kind, path: String? = nil, mentioning words: [String] = [],
        passphrase: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> SecureStorageError? {
        try expectRefusal(
            kind, path: path, mentioning: words, secrets: passphrase.isEmpty ? [] : [passphrase],
            sourceLocation: sourceLocation
        ) { try $0.open(with: passphrase) { _ in Unexpected() } }
    }

    private func expectRefusal(
        _ kind: SecureStorageError.Kind, path: String?, mentioning words: [String],
        secrets: [String], sourceLocation: SourceLocation,
        opening open: (SecureDatabaseStore) throws -> Void
    ) throws -> SecureStorageError? {
        var errors: [SecureStorageError?] = []
        let before = try DirectorySnapshot(of: directory)
        for isReadOnly in [false, true] {
            var configuration = SecureDatabaseConfiguration()
            configuration.isReadOnly = isReadOnly
            let store = SecureDatabaseStore(
                fullDatabasePath: path ?? self.path, configuration: configuration)

            let error = storageError { try open(store) }

            errors.append(error)
            check(!store.isOpen(), sourceLocation: sourceLocation)
            try check(
                DirectorySnapshot(of: directory), equals: before, "read-only: \(isReadOnly)",
                sourceLocation: sourceLocation)
            check(
                error?.kind, equals: kind,
                "\(error?.description ?? "no error"); read-only: \(isReadOnly)",
                sourceLocation: sourceLocation)
            guard let error else { continue }
            for text in [error.description, String(reflecting: error), error.localizedDescription] {
                for secret in secrets {
                    check(!text.contains(secret), sourceLocation: sourceLocation)
                }
            }
            for word in words {
                check(error.description.contains(word), sourceLocation: sourceLocation)
            }
        }
        return errors[0]
    }

    /// The error of an initialization handler that must not run.
    struct Unexpected: Error {}
}
