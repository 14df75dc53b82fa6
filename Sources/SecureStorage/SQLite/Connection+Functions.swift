internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Registers `function` for the statements of this connection, replacing one of the same
    /// signature.
    ///
    /// - Throws: `.backingStoreError` code `.busy` when it replaces one while a statement
    ///   is running.
    func install(_ function: SQLFunction) throws {
        let handle = try requireHandle()
        let installed = Unmanaged.passRetained(InstalledFunction(function, on: self)).toOpaque()
        // SQLite calls the destructor when it drops the function, and also when the call itself
        // fails.
        let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { installed in
            if let installed { Unmanaged<InstalledFunction>.fromOpaque(installed).release() }
        }
        let count = Int32(function.signature.argumentCount ?? -1)
        let name = function.signature.name.text
        switch function.body {
        case .scalar:
            try check(
                sqlite3_create_function_v2(
                    handle, name, count, function.flags, installed,
                    { InstalledFunction.of($0)?.call($0, $1, $2) }, nil, nil, release))
        case .aggregate:
            try check(
                sqlite3_create_function_v2(
                    handle, name, count, function.flags, installed, nil,
                    { InstalledFunction.of($0)?.step($0, $1, $2) },
                    { InstalledFunction.of($0)?.finish($0) }, release))
        }
        // If any function of a name is not innocuous, foreign SQL may call none of that name.
        if !function.isInnocuous { authorizer.directFunctions.insert(name.lowercased()) }
    }

    func remove(_ signature: SQLFunction.Signature) throws {
        let handle = try requireHandle()
        let count = Int32(signature.argumentCount ?? -1)
        try check(
            sqlite3_create_function_v2(
                handle, signature.name.text, count, SQLITE_UTF8, nil, nil, nil, nil, nil))
    }
}

extension SQLFunction {
    /// The flags for SQLite; without INNOCUOUS a schema from outside must not call the function,
    /// not even where the engine trusts that schema.
    fileprivate var flags: Int32 {
        SQLITE_UTF8 | (isDeterministic ? SQLITE_DETERMINISTIC : 0)
            | (isInnocuous ? SQLITE_INNOCUOUS : SQLITE_DIRECTONLY)
    }
}

/// A function on one connection; SQLite owns it.
private final class InstalledFunction {
    private let function: SQLFunction
    /// Unsafe, but SQLite calls functions of an open connection only.
    private unowned(unsafe) let connection: Connection

    init(_ function: SQLFunction, on connection: Connection) {
        self.function = function
        self.connection = connection
    }

    static func of(_ context: OpaquePointer?) -> InstalledFunction? {
        sqlite3_user_data(context).map {
            Unmanaged<InstalledFunction>.fromOpaque($0).takeUnretainedValue()
        }
    }

    // MARK: - What SQLite calls

    func call(
        _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard case .scalar(let body) = function.body else { return }
        guarded(context) {
            guard let arguments = arguments(context, count, values) else { return }
            setResult(try body(arguments), of: context)
        }
    }

    func step(
        _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard case .aggregate(let makeState) = function.body else { return }
        // SQLite zeroes the memory at its first use in a group and always ends the group with
        // `finish`.
        guard let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<Slot>.size)) else {
            return sqlite3_result_error_nomem(context)
        }
        let slot = memory.assumingMemoryBound(to: Slot.self)
        guarded(context) {
            guard let arguments = arguments(context, count, values) else { return }
            let group = slot.pointee?.takeUnretainedValue() ?? Group(makeState())
            if slot.pointee == nil { slot.pointee = .passRetained(group) }
            group.hasFailed = true
            try group.state.step(arguments)
            group.hasFailed = false
        }
    }

    func finish(_ context: OpaquePointer?) {
        guard case .aggregate(let makeState) = function.body else { return }
        // nil for a group without rows.
        let group = sqlite3_aggregate_context(context, 0)?
            .assumingMemoryBound(to: Slot.self).pointee?.takeRetainedValue()
        guard group?.hasFailed != true else { return }
        guarded(context) {
            setResult(try (group?.state ?? makeState()).result(), of: context)
        }
    }

    private typealias Slot = Unmanaged<Group>?

    private final class Group {
        let state: any SQLAccumulator
        var hasFailed = false

        init(_ state: any SQLAccumulator) { self.state = state }
    }

    // MARK: - Calling the caller

    /// Runs the caller's code inside SQLite's step, and turns an error or a call of `close()` into
    /// an error of the function.
    private func guarded(_ context: OpaquePointer?, _ body: () throws -> Void) {
        guard connection.callbacks.functionDepth < Callbacks.maximumDepth else {
            return fail(context, "is nested too deeply in calls of functions")
        }
        let wasCloseRefused = connection.callbacks.wasCloseRefused
        connection.callbacks.wasCloseRefused = false
        connection.callbacks.functionDepth += 1
        // Statements in the function check for damaged pages too; the reads that they account for
        // must not count as checked for the enclosing statement.
        let misses = connection.damage.knownCacheMisses
        do {
            try body()
        } catch {
            fail(context, error)
        }
        connection.damage.knownCacheMisses = misses
        connection.callbacks.functionDepth -= 1
        if connection.callbacks.wasCloseRefused {
            fail(context, "called close() on its store, which stays open", SQLITE_MISUSE)
        }
        connection.callbacks.wasCloseRefused = wasCloseRefused
    }

    /// Returns the arguments; nil, with the error set, when one is text that no `String` can hold.
    private func arguments(
        _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) -> [SQLiteValue]? {
        var arguments: [SQLiteValue] = []
        arguments.reserveCapacity(Int(count))
        for value in UnsafeBufferPointer(start: values, count: Int(count)) {
            guard let argument = SQLiteValue(argument: value) else {
                fail(context, "received text that is not UTF-8")
                return nil
            }
            arguments.append(argument)
        }
        return arguments
    }

    private func setResult(
        _ result: (any SQLiteDatatypeBridgeable)?, of context: OpaquePointer?
    ) {
        guard let value = try? result?.sqliteValue ?? .null else {
            return fail(context, "returned a value that SQLite cannot hold")
        }
        value.setResult(of: context)
    }

    /// Reports the type of the error and SQLite's code, no more: a description may quote the
    /// arguments.
    private func fail(_ context: OpaquePointer?, _ error: any Error) {
        if let error = error as? SecureDatabaseFunctionError { return fail(context, error) }
        var kind = String(describing: type(of: error))
        if case SecureStorageError.backingStoreError(let code, _) = error {
            kind += ", code \(code)"
        }
        let interruption = SecureDatabaseInterruption(error)
        // The enclosing statement is interrupted as well, for the same reason.
        if let interruption { connection.interruption?.note(interruption) }
        fail(context, "failed: \(kind)", interruption == nil ? SQLITE_ERROR : SQLITE_INTERRUPT)
    }

    private func fail(_ context: OpaquePointer?, _ reason: String, _ code: Int32 = SQLITE_ERROR) {
        report(context, "the function \(function.signature.name.text) \(reason)", code)
    }

    private func fail(_ context: OpaquePointer?, _ error: SecureDatabaseFunctionError) {
        // SQLite's message ends at a NUL.
        var message = error.message.replacingOccurrences(of: "\0", with: "\u{fffd}")
        var code = SQLITE_ERROR
        if Self.mayReport(error.code) {
            code = Int32(error.code.rawValue)
        } else {
            message += "; a function cannot end a statement with \(error.code)"
        }
        connection.callbacks.functionMessage = message
        report(context, message, code)
    }

    private func report(_ context: OpaquePointer?, _ message: String, _ code: Int32) {
        sqlite3_result_error(context, message, -1)
        // This call keeps the message.
        if code != SQLITE_ERROR { sqlite3_result_error_code(context, code) }
    }

    /// Whether the engine ends the statement with this code, and does nothing else.
    ///
    /// For other codes it rolls the transaction back (out of memory, interrupted, I/O error, full),
    /// considers the file damaged, runs the statement again (schema), or sees no error at all.
    private static func mayReport(_ code: SQLiteResultCode) -> Bool {
        let harmless: Set<SQLiteResultCode> = [
            .error, .permission, .abort, .busy, .locked, .readOnly, .notFound, .tooBig, .constraint,
            .mismatch, .misuse, .notAuthorized, .range,
        ]
        return harmless.contains(code.primary) && (1...Int(Int32.max)).contains(code.rawValue)
    }
}

extension SQLiteValue {
    /// Reads a function's argument; nil for TEXT that is not UTF-8.
    fileprivate init?(argument: OpaquePointer?) {
        switch StorageClass(rawValue: sqlite3_value_type(argument)) {
        case .integer: self = .integer(sqlite3_value_int64(argument))
        case .real: self = .real(sqlite3_value_double(argument))
        case .text:
            // The pointer before the length: the call may convert the value.
            guard let start = sqlite3_value_text(argument) else { return nil }
            let count = Int(sqlite3_value_bytes(argument))
            let bytes = UnsafeBufferPointer(start: start, count: count)
            guard let text = String(validatingUTF8: bytes) else { return nil }
            self = .text(text)
        case .blob:
            let start = sqlite3_value_blob(argument)
            let count = Int(sqlite3_value_bytes(argument))
            self = .blob(start.map { Data(bytes: $0, count: count) } ?? Data())
        default: self = .null
        }
    }

    /// Passes the value with its length; SQLite itself refuses a value that exceeds its limit.
    fileprivate func setResult(of context: OpaquePointer?) {
        switch self {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number): sqlite3_result_double(context, number)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    // A null pointer would be NULL, so the empty text needs some address.
                    withUnsafePointer(to: CChar(0)) { empty in
                        sqlite3_result_text64(
                            context, bytes.baseAddress ?? empty, sqlite3_uint64(bytes.count),
                            csqlcipher_transient(), UInt8(SQLITE_UTF8))
                    }
                }
            }
        case .blob(let data):
            guard !data.isEmpty else { return sqlite3_result_zeroblob(context, 0) }
            data.withUnsafeBytes { bytes in
                sqlite3_result_blob64(
                    context, bytes.baseAddress, sqlite3_uint64(bytes.count),
                    csqlcipher_transient())
            }
        }
    }
}
