internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Registers `collation` for the statements of this connection, replacing one of the same name.
    ///
    /// - Throws: `.backingStoreError` code `.busy` when it replaces one while a statement
    ///   is running.
    func install(_ collation: SQLCollation) throws {
        let handle = try requireHandle()
        let installed = Unmanaged.passRetained(InstalledCollation(collation, on: self))
        let code = sqlite3_create_collation_v2(
            handle, collation.name.text, SQLITE_UTF8, installed.toOpaque(),
            { collation, leftCount, left, rightCount, right in
                guard let collation else { return 0 }
                return Unmanaged<InstalledCollation>.fromOpaque(collation).takeUnretainedValue()
                    .compare(
                        UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
                        UnsafeRawBufferPointer(start: right, count: Int(rightCount)))
            },
            { collation in
                if let collation { Unmanaged<InstalledCollation>.fromOpaque(collation).release() }
            })
        // Unlike for a function, SQLite does not call the destructor when the call fails.
        if code != SQLITE_OK { installed.release() }
        try check(code)
    }

    func removeCollation(_ name: SQLName) throws {
        let handle = try requireHandle()
        try check(sqlite3_create_collation_v2(handle, name.text, SQLITE_UTF8, nil, nil, nil))
    }
}

/// A collation on one connection; SQLite owns it.
private final class InstalledCollation {
    private let collation: SQLCollation
    /// Unsafe, but SQLite calls collations of an open connection only.
    private unowned(unsafe) let connection: Connection

    init(_ collation: SQLCollation, on connection: Connection) {
        self.collation = collation
        self.connection = connection
    }

    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        guard let leftText = text(left), let rightText = text(right) else {
            return compareUnreadable(left, right)
        }
        let wasComparing = connection.callbacks.isComparing
        connection.callbacks.isComparing = true
        defer { connection.callbacks.isComparing = wasComparing }
        return Int32(collation.compare(leftText, rightText).rawValue)
    }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        bytes.withMemoryRebound(to: UInt8.self) { String(validatingUTF8: $0) }
    }

    /// Orders values that are not UTF-8 by their bytes, after all text, since a collation cannot
    /// fail.
    private func compareUnreadable(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
    ) -> Int32 {
        if text(left) != nil { return -1 }
        if text(right) != nil { return 1 }
        if left.lexicographicallyPrecedes(right) { return -1 }
        return right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}
