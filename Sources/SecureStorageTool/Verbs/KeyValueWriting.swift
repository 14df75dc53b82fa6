internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage kv put`: stores one value.
struct KeyValuePut: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store one value.",
        discussion: """
            The file and the store are created if they are missing. Other users can see arguments while the program \
            runs: pass a secret value on standard input, which is read to its end. "put" and the key are printed when \
            the value is committed.

            EXAMPLES
              securestorage kv put settings.db theme dark
              securestorage kv put settings.db launches 3 --type integer
              securestorage kv put settings.db window '{"width":640}' --type json
              securestorage kv put settings.db icon --type blob < icon.png
            """)

    enum ValueType: String, ExpressibleByArgument, CaseIterable {
        case text, integer, real, blob, json, null
    }

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup
    var store: StoreOptions

    @Argument(help: "The key of the value.")
    var key: String

    @Argument(help: "The value (default: standard input, to its end).")
    var value: String?

    @Option(help: "text, integer, real, blob, json or null. A blob's argument is base64.")
    var type = ValueType.text

    @Option(help: ArgumentHelp("The value expires after this time.", valueName: "seconds"))
    var expiresIn: Double?

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard type != .null || value == nil else {
            throw ValidationError("null takes no value")
        }
        if let expiresIn, !(expiresIn > 0 && expiresIn < 1e12) {
            throw ValidationError("--expires-in must be a number of seconds above 0")
        }
    }

    func run() throws {
        // Detects a value that cannot be stored before a file is created.
        let value = try parsed()
        let open = try store.open(self, for: .creating)
        defer { open.close() }
        let lifetime = expiresIn.map { Duration.seconds($0) }
        switch value {
        case .json(let value): try open.put(value, forKey: key, expiresIn: lifetime)
        case .plain(let value):
            if let lifetime {
                try open.put(value, forKey: key, expiresIn: lifetime)
            } else {
                try open.put(value, forKey: key)
            }
        case .object: break
        }
        try acknowledge(
            "put \(Visible.text(key))", json: json,
            KeyAnswer(file: file, store: store.name, key: key))
    }

    private func parsed() throws -> StoredValue {
        if type == .null { return .plain(.null) }
        if type == .blob {
            guard let value else { return .plain(.blob(try standardInput())) }
            guard let bytes = Data(base64Encoded: value) else {
                throw Failure(
                    "the value is not valid base64", hint: "standard input accepts raw bytes", .data
                )
            }
            return .plain(.blob(bytes))
        }
        let text = try value ?? textOfStandardInput()
        switch type {
        case .integer:
            guard let number = Int64(text) else {
                throw Failure("the value is not an integer", .data)
            }
            return .plain(.integer(number))
        case .real:
            guard let number = Double(text), !number.isNaN else {
                throw Failure("the value is not a number", .data)
            }
            return .plain(.real(number))
        case .json:
            guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
            else { throw Failure("the value is not valid JSON", .data) }
            return .json(value)
        case .text, .blob, .null: return .plain(.text(text))
        }
    }

    private func standardInput() throws -> Data {
        try FileHandle.standardInput.readToEnd() ?? Data()
    }

    /// Returns standard input as text, without the line feed at its end.
    private func textOfStandardInput() throws -> String {
        let bytes = try standardInput()
        guard var text = String(bytes: bytes, encoding: .utf8) else {
            throw Failure(
                "the value is not valid UTF-8", hint: "--type blob stores any bytes", .data)
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}

/// `securestorage kv remove`: removes one key.
struct KeyValueRemove: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a key and its value.",
        discussion: """
            "removed" and the key are printed when the removal is committed; for a missing key the exit status is \
            \(FailureKind.notFound.status).

            EXAMPLES
              securestorage kv remove settings.db theme
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup
    var store: StoreOptions

    @Argument(help: "The key of the value.")
    var key: String

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let open = try store.open(self, for: .writing)
        defer { open.close() }
        guard try open.remove(key) else { throw Failure("no such key: \"\(key)\"", .notFound) }
        try acknowledge(
            "removed \(Visible.text(key))", json: json,
            KeyAnswer(file: file, store: store.name, key: key))
    }
}

/// What `kv put` and `kv remove` print with `--json`.
private struct KeyAnswer: Encodable {
    let file: String
    let store: String
    let key: String
}
