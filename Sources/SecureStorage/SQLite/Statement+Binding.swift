internal import CSQLCipher
internal import Foundation

extension Statement {
    typealias NamedValues = [String: (any SQLiteDatatypeBridgeable)?]

    /// Binds values to the placeholders in order.
    ///
    /// - Throws: `.backingStoreError` code `.range` when the number of values is not that
    ///   of the placeholders; `.typeConversionFailed` for a value that SQLite cannot hold.
    func bind(_ values: [(any SQLiteDatatypeBridgeable)?]) throws {
        try requireCount(values.count)
        for index in values.indices { try bindInPlace(values[index], at: Int32(index + 1)) }
    }

    /// Binds values as SQLite stores them to the placeholders in order.
    ///
    /// - Throws: As for other values.
    func bind(row: [SQLiteValue]) throws {
        try requireCount(row.count)
        try bind(stored: row)
    }

    /// Binds the values of a statement whose values are interpolated.
    ///
    /// - Throws: As for other values.
    func bind(pieces: [SQL.Piece]) throws {
        try requireCount(pieces.reduce(0) { $1.kind == .onlyText ? $0 : $0 + 1 })
        var index: Int32 = 0
        try pieces.withUnsafeBufferPointer { pieces in
            for place in pieces.indices where pieces[place].kind != .onlyText {
                index += 1
                try bind(pieces[place].value, at: index)
            }
        }
    }

    private func requireCount(_ count: Int) throws {
        guard count == parameters.count else {
            throw SecureStorageError.statementFailed(
                .range,
                "the statement has \(parameters.count) placeholders but \(count) values "
                    + "were given", in: sql)
        }
    }

    /// Binds values to placeholders by name, given with or without `:`, `@` or `$`.
    ///
    /// - Parameters:
    ///   - values: Names and values.
    ///   - allowsSurplus: Whether a value without a placeholder is ignored; nil for the configured
    ///     behaviour.
    /// - Throws: `.backingStoreError` code `.range` that names a placeholder without a
    ///   value, or a value without a placeholder.
    func bind(_ values: NamedValues, allowingSurplus allowsSurplus: Bool? = nil) throws {
        // With no more values than names, one that is found by its bare name has no other spelling.
        let isPlain = values.count <= parameters.distinctNameCount
        let names = parameters.names
        for offset in names.indices {
            guard let name = names[offset] else {
                throw SecureStorageError.statementFailed(
                    .range,
                    "placeholder \(offset + 1) has no name; use names throughout or pass an array",
                    in: sql)
            }
            let plain = isPlain ? values.index(forKey: name.bare) : nil
            guard let place = plain ?? Self.place(of: name, in: values) else {
                throw SecureStorageError.statementFailed(
                    .range, "no value for the placeholder \(name)", in: sql)
            }
            // In place: each copy of a value costs as much as binding it.
            try bind(try values.values[place]?.sqliteValue ?? .null, at: Int32(offset + 1))
        }
        // Every name found its value, so a surplus is possible only if values outnumber names.
        guard !isPlain, !(allowsSurplus ?? connection.configuration.allowsSurplusNames) else {
            return
        }
        let used = Set(names.compactMap { $0.flatMap { Self.place(of: $0, in: values) } })
        let left = values.indices.filter { !used.contains($0) }.map { values.keys[$0] }
        if let surplus = left.min() {
            throw SecureStorageError.statementFailed(
                .range, "no placeholder for the value named \(surplus)", in: sql)
        }
    }

    /// Binds pairs of names and values, as a literal lists them: mostly in the placeholders' order.
    ///
    /// - Throws: As for a dictionary; code `.range` also for a name that is given twice.
    func bind(_ values: KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>) throws {
        guard try !bindInOrder(values) else { return }
        var byName: NamedValues = [:]
        for (name, value) in values {
            guard byName.updateValue(value, forKey: name) == nil else {
                throw SecureStorageError.statementFailed(
                    .range, "two values are named \(name)", in: sql)
            }
        }
        // They are written beside the statement: a surplus one is a mistake.
        try bind(byName, allowingSurplus: false)
    }

    /// Binds pairs that are in the order of the placeholders, which needs no search.
    ///
    /// - Returns: false when they are not; then some may have been bound.
    private func bindInOrder(
        _ values: KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>
    ) throws -> Bool {
        let names = parameters.bareNames
        guard values.count == parameters.count, names.count == parameters.count else {
            return false
        }
        var offset = 0
        for (name, value) in values {
            guard names[offset] == name else { return false }
            offset += 1
            try bind(try value?.sqliteValue ?? .null, at: Int32(offset))
        }
        return true
    }

    /// Binds values to the placeholders in order; their numbers must match.
    func bind(stored values: [SQLiteValue]) throws {
        for (offset, value) in values.enumerated() { try bind(value, at: Int32(offset + 1)) }
    }

    /// Binds values as a page held them to the placeholders in order; their numbers must match.
    ///
    /// Texts are bound byte for byte, valid or not: a database of the same encoding stores them
    /// unchanged.
    func bind(stored values: [StoredValue], _ encoding: TextEncoding) throws {
        hasBoundValues = true
        for (offset, value) in values.enumerated() {
            try connection.check(bindStored(value, encoding, at: Int32(offset + 1)))
        }
    }

    private func bindStored(
        _ value: StoredValue, _ encoding: TextEncoding, at index: Int32
    ) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .real(let number): sqlite3_bind_double(handle, index, number)
        case .text(let bytes):
            bytes.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    // A null pointer would be NULL, so the empty text needs some address.
                    withUnsafePointer(to: CChar(0)) { empty in
                        sqlite3_bind_text64(
                            handle, index, bytes.isEmpty ? empty : bytes.baseAddress,
                            sqlite3_uint64(bytes.count), csqlcipher_transient(),
                            encoding.rawValue)
                    }
                }
            }
        case .blob(let bytes):
            bytes.withUnsafeBytes { bytes in
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(handle, index, 0)
                    : sqlite3_bind_blob64(
                        handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count),
                        csqlcipher_transient())
            }
        }
    }

    /// Binds the values of another statement's current row, as stored, to the placeholders in
    /// order.
    func bindColumns(of row: Statement) throws {
        hasBoundValues = true
        for index in 0..<Int32(parameters.count) {
            let value = sqlite3_column_value(row.handle, index)
            try connection.check(sqlite3_bind_value(handle, index + 1, value))
        }
    }

    /// Returns where the placeholder's value is: under the name as written in the SQL, without its
    /// prefix, or with another one.
    private static func place(
        of name: ParameterName, in values: NamedValues
    ) -> NamedValues.Index? {
        if let bare = values.index(forKey: name.bare) {
            // `:a` and `@a` are two placeholders, and may have different values.
            return values.index(forKey: name.full) ?? bare
        }
        for spelling in [name.full, ":" + name.bare, "@" + name.bare, "$" + name.bare] {
            if let place = values.index(forKey: spelling) { return place }
        }
        return nil
    }

    /// Binds a value in place.
    ///
    /// Not inlined: inlining would copy the array's element, which costs more than binding it.
    @inline(never)
    private func bindInPlace(
        _ value: borrowing (any SQLiteDatatypeBridgeable)?, at index: Int32
    ) throws {
        try bind(lend(value) { try $0.sqliteValue } ?? .null, at: index)
    }

    private func bind(_ value: SQLiteValue, at index: Int32) throws {
        hasBoundValues = true
        let code = bindValue(value, at: index)
        guard code == SQLITE_OK else { throw connection.failure(code, sql: sql) }
    }

    /// Binds a value with its length: a NUL inside a text survives, and an empty blob is not NULL.
    private func bindValue(_ value: SQLiteValue, at index: Int32) -> Int32 {
        switch value {
        case .null:
            return sqlite3_bind_null(handle, index)
        case .integer(let number):
            return sqlite3_bind_int64(handle, index, number)
        case .real(let number):
            return sqlite3_bind_double(handle, index, number)
        case .text(let text):
            if let code = text.utf8.withContiguousStorageIfAvailable({ bind($0, at: index) }) {
                return code
            }
            // Only on Apple platforms: a text that is still an NSString.
            var copy = text
            return copy.withUTF8 { bind($0, at: index) }
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                guard bytes.count > 0 else { return sqlite3_bind_zeroblob(handle, index, 0) }
                return sqlite3_bind_blob64(
                    handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count),
                    csqlcipher_transient())
            }
        }
    }

    private func bind(_ utf8: UnsafeBufferPointer<UInt8>, at index: Int32) -> Int32 {
        utf8.withMemoryRebound(to: CChar.self) { bytes in
            // A null pointer would be NULL, so the empty text needs some address.
            withUnsafePointer(to: CChar(0)) { empty in
                sqlite3_bind_text64(
                    handle, index, bytes.baseAddress ?? empty, sqlite3_uint64(bytes.count),
                    csqlcipher_transient(), UInt8(SQLITE_UTF8))
            }
        }
    }
}

/// Passes the content of an optional; `if let` and `?.` would copy it, since it is copyable.
@inline(__always)
private func lend<Wrapped: ~Copyable, R>(
    _ value: borrowing Wrapped?, _ body: (borrowing Wrapped) throws -> R
) rethrows -> R? {
    switch value {
    case .some(let wrapped): try body(wrapped)
    case .none: nil
    }
}
