internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Registers the configuration's tokenizers with the full-text module of this connection.
    ///
    /// - Throws: `.openFailed` code `.error` on an engine without FTS5.
    func installTokenizers() throws {
        try install(configuration.tokenizers)
    }

    func install(_ tokenizers: [any FullTextTokenizer.Type]) throws {
        guard !tokenizers.isEmpty else { return }
        var found: UnsafeMutablePointer<fts5_api>?
        let code = csqlcipher_fts5_api(try requireHandle(), &found)
        guard code == SQLITE_OK || code == SQLITE_ERROR else { return try check(code) }
        guard let api = found, let create = api.pointee.xCreateTokenizer else {
            throw SecureStorageError.openFailed(
                code: ResultCode.error.rawValue,
                message: "the configuration has tokenizers, but the engine was built without FTS5; "
                    + "build it with SQLITE_ENABLE_FTS5, or open the file without tokenizers")
        }
        for type in tokenizers {
            var methods = fts5_tokenizer(
                xCreate: { InstalledTokenizer.make($0, $1, $2, $3) },
                xDelete: { TokenizerOfTable.release($0) },
                xTokenize: { TokenizerOfTable.tokenize($0, $1, $2, $3, $4, $5) })
            let installed = Unmanaged.passRetained(InstalledTokenizer(type, on: self))
            let code = type.name.withCString {
                create(api, $0, installed.toOpaque(), &methods) { installed in
                    if let installed {
                        Unmanaged<InstalledTokenizer>.fromOpaque(installed).release()
                    }
                }
            }
            // The module calls the destructor only for what it took.
            if code != SQLITE_OK { installed.release() }
            try check(code)
        }
    }
}

/// A tokenizer's type on one connection; the full-text module owns it.
private final class InstalledTokenizer {
    private let type: any FullTextTokenizer.Type
    /// Unsafe, but SQLite calls the modules of an open connection only.
    private unowned(unsafe) let connection: Connection

    init(_ type: any FullTextTokenizer.Type, on connection: Connection) {
        self.type = type
        self.connection = connection
    }

    /// `xCreate`: makes the tokenizer of a table.
    static func make(
        _ context: UnsafeMutableRawPointer?,
        _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ count: Int32,
        _ result: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        guard let context, let result else { return SQLITE_MISUSE }
        let installed = Unmanaged<InstalledTokenizer>.fromOpaque(context).takeUnretainedValue()
        let words = UnsafeBufferPointer(start: arguments, count: Int(count))
            .map { $0.map { String(cString: $0) } ?? "" }
        let connection = installed.connection
        return connection.callTokenizer(installed.type.name) {
            let tokenizer = TokenizerOfTable(
                try installed.type.init(arguments: words), installed.type.name, connection)
            result.pointee = OpaquePointer(Unmanaged.passRetained(tokenizer).toOpaque())
        }
    }
}

/// The tokenizer of a table on one connection; the full-text module owns it.
private final class TokenizerOfTable {
    private let tokenizer: any FullTextTokenizer
    private let name: String
    private unowned(unsafe) let connection: Connection

    init(_ tokenizer: any FullTextTokenizer, _ name: String, _ connection: Connection) {
        self.tokenizer = tokenizer
        self.name = name
        self.connection = connection
    }

    /// `xDelete`.
    static func release(_ tokenizer: OpaquePointer?) {
        guard let tokenizer else { return }
        Unmanaged<TokenizerOfTable>.fromOpaque(UnsafeRawPointer(tokenizer)).release()
    }

    /// `xTokenize`.
    static func tokenize(
        _ tokenizer: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ flags: Int32,
        _ text: UnsafePointer<CChar>?, _ count: Int32, _ receiver: FullTextTokens.Receiver?
    ) -> Int32 {
        guard let tokenizer, let receiver else { return SQLITE_MISUSE }
        let own = Unmanaged<TokenizerOfTable>.fromOpaque(UnsafeRawPointer(tokenizer))
            .takeUnretainedValue()
        // A null pointer is the text of no bytes.
        let bytes = UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : max(Int(count), 0))
            .bindMemory(to: UInt8.self)
        let purpose: FullTextPurpose =
            flags & FTS5_TOKENIZE_QUERY != 0
            ? (flags & FTS5_TOKENIZE_PREFIX != 0 ? .prefixQuery : .query)
            : flags & FTS5_TOKENIZE_AUX != 0 ? .auxiliary : .document
        return withUnsafeTemporaryAllocation(of: FullTextTokens.State.self, capacity: 1) { state in
            state.initialize(repeating: FullTextTokens.State())
            guard let state = state.baseAddress else { return SQLITE_NOMEM }
            let code = own.connection.callTokenizer(own.name) {
                let tokens = FullTextTokens(
                    context: context, receiver: receiver, textLength: bytes.count, state: state)
                do {
                    try own.tokenizer.tokenize(bytes, for: purpose, into: tokens)
                } catch is FullTextTokens.Ended {}
            }
            return code == SQLITE_OK ? state.pointee.code : code
        }
    }
}

extension Connection {
    /// Runs the code of a tokenizer inside SQLite's step, and turns an error or a call of `close()`
    /// into a code.
    ///
    /// FTS5 drops the reason, so it is kept for the error of the statement.
    fileprivate func callTokenizer(_ name: String, _ body: () throws -> Void) -> Int32 {
        let wasCloseRefused = callbacks.wasCloseRefused
        callbacks.wasCloseRefused = false
        callbacks.functionDepth += 1
        defer {
            callbacks.functionDepth -= 1
            callbacks.wasCloseRefused = wasCloseRefused
        }
        do {
            try body()
            guard callbacks.wasCloseRefused else { return SQLITE_OK }
            tokenizerMessage =
                "the tokenizer \(name) called close() on its store, which stays open"
        } catch let error as SecureDatabaseFunctionError {
            tokenizerMessage = error.message.replacingOccurrences(
                of: "\0", with: "\u{fffd}")
        } catch {
            // No more: a description may quote the text.
            tokenizerMessage =
                "the tokenizer \(name) failed: \(String(describing: Swift.type(of: error)))"
        }
        return SQLITE_ERROR
    }

    /// Returns the error of a statement that failed in a tokenizer; nil for all others.
    func failedTokenizer(_ code: ResultCode, _ reason: String, _ sql: String?)
        -> SecureStorageError?
    {
        guard let message = tokenizerMessage else { return nil }
        tokenizerMessage = nil
        guard code == .error, Self.reasonsOfTokenizers.contains(where: { reason.hasPrefix($0) })
        else {
            return nil
        }
        return .statementFailed(code, message, in: sql)
    }

    /// What FTS5 says of an error of a tokenizer.
    private static let reasonsOfTokenizers = [
        "SQL logic error", "error in tokenizer constructor", "vtable constructor failed",
    ]
}
