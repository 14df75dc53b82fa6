internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage kv list`: lists the keys with their values.
struct KeyValueList: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List keys with their types and values.",
        discussion: """
            Keys are sorted by their bytes. Expired values are left out.

            EXAMPLES
              securestorage kv list settings.db
              securestorage kv list settings.db --prefix window. --json
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup
    var store: StoreOptions

    @Option(help: "Only keys with this prefix.")
    var prefix = ""

    @Flag(help: "Print an array of objects.")
    var json = false

    func run() throws {
        let open = try store.open(self, for: .reading)
        defer { open.close() }
        let keys = try open.keys(withPrefix: prefix)
        try json ? writeJSON(keys, open) : write(keys, open)
    }

    private func write(_ keys: [String], _ store: SecureKeyValueStore) throws {
        let output = Output.standard
        guard !keys.isEmpty else { return }
        let names = keys.map { Visible.text($0) }
        let width = min(40, max(3, names.map { DisplayWidth.of($0) }.max() ?? 0))
        let typeWidth = 7
        func line(_ name: String, _ type: String, _ value: String) throws {
            let blanks = String(repeating: " ", count: max(0, width - DisplayWidth.of(name)))
            let type = type.padding(toLength: typeWidth, withPad: " ", startingAt: 0)
            let start = name + blanks + "  " + type + "  "
            let room = Terminal.width().map { max(6, $0 - DisplayWidth.of(start)) }
            try output.write(
                line: start + (room.map { DisplayWidth.cut(value, to: $0) } ?? value))
        }
        try line("key", "type", "value")
        try output.write(
            line: [width, typeWidth, 5].map { String(repeating: "─", count: $0) }
                .joined(separator: "  "))
        for (key, name) in zip(keys, names) {
            guard let value = try StoredValue(key, in: store) else { continue }
            try line(name, value.type, shown(value))
        }
    }

    private func shown(_ value: StoredValue) throws -> String {
        switch value {
        case .plain(let value): ValueText.shown(value)
        case .json: Visible.text(try value.json() ?? "")
        case .object: "(an archived object)"
        }
    }

    private func writeJSON(_ keys: [String], _ store: SecureKeyValueStore) throws {
        let output = Output.standard
        try output.write("[")
        var separator = "\n"
        for key in keys {
            guard let value = try StoredValue(key, in: store) else { continue }
            let json = try value.json() ?? "null"
            try output.write(separator)
            try output.write(
                "{\"key\":\(JSONText.quoted(key)),\"type\":\"\(value.type)\",\"value\":\(json)}")
            separator = ",\n"
        }
        try output.write(line: separator == "\n" ? "]" : "\n]")
    }
}

/// `securestorage kv get`: prints one value.
struct KeyValueGet: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print one value.",
        discussion: """
            Text is printed unchanged, a number as a number, a blob as its bytes, a Codable value as JSON, null as \
            nothing; --json prints each as JSON, a blob as base64. For a missing key nothing is printed and the exit \
            status is \(FailureKind.notFound.status).

            EXAMPLES
              securestorage kv get settings.db theme
              securestorage kv get settings.db icon > icon.png
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @OptionGroup
    var store: StoreOptions

    @Argument(help: "The key of the value.")
    var key: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let open = try store.open(self, for: .reading)
        defer { open.close() }
        guard let value = try StoredValue(key, in: open) else {
            throw Failure.shown("no such key: \"\(key)\"", .notFound)
        }
        let output = Output.standard
        guard let text = try value.json() else {
            throw Failure("the value is an object that only its app can read", .otherFormat)
        }
        if json {
            try output.write(line: text)
            return
        }
        switch value {
        case .plain(.text(let text)): try output.write(line: text)
        case .plain(.blob(let bytes)): try bytes.withUnsafeBytes { try output.write($0) }
        case .plain(.null): break
        default: try output.write(line: text)
        }
    }
}
