internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage kv`: accesses the values of a key-value store.
struct KeyValue: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv",
        abstract: "List, read, write and remove values of a key-value store.",
        discussion: """
            A file can contain any number of named stores; --store selects one (default: "default").

            EXAMPLES
              securestorage kv list settings.db
              securestorage kv put settings.db theme dark
              securestorage kv get settings.db theme
              securestorage kv remove settings.db theme
            """,
        subcommands: [
            KeyValueList.self, KeyValueGet.self, KeyValuePut.self, KeyValueRemove.self,
        ])
}

/// The options of the store in a file.
struct StoreOptions: ParsableArguments {
    @Option(name: .customLong("store"), help: "The name of the store in the file.")
    var name = SecureKeyValueStore.defaultName

    /// Returns an open store; only a verb that puts values creates one.
    func open(_ verb: some FileVerb, for use: FileUse) throws -> SecureKeyValueStore {
        guard !name.utf8.contains(0) else {
            throw Failure.usage("a store's name must not contain a NUL")
        }
        let (database, key) = try verb.storeAndKey(for: use)
        let store = try SecureKeyValueStore(databaseStore: database, name: name)
        if use == .creating {
            try verb.explaining(key) { try store.open(with: key) }
            return store
        }
        // Check first, because the library would create what is missing.
        try verb.explaining(key) { try database.open(with: key) }
        guard try names(in: database).contains(name) else {
            let names = try names(in: database).map { "\"\($0)\"" }.joined(separator: ", ")
            throw Failure(
                "the file has no key-value store \"\(name)\"",
                hint: names.isEmpty ? "it has none at all" : "it has \(names)", .notFound)
        }
        return store
    }

    private func names(in database: SecureDatabaseStore) throws -> [String] {
        guard try database.tableExists("securestorage_kv") else { return [] }
        return try database.names("SELECT name FROM securestorage_kv ORDER BY name")
    }
}

/// A value of a key-value store, with the kind that it was stored as.
enum StoredValue {
    case plain(SQLiteValue)
    case json(JSONValue)
    /// An object that only the app that stored it can read.
    case object

    init?(_ key: String, in store: SecureKeyValueStore) throws {
        guard try store.hasKey(key) else { return nil }
        do {
            let value: SQLiteValue? = try store.get(key)
            self = .plain(value ?? .null)
        } catch SecureStorageError.typeConversionFailed {
            do {
                self = .json(try store.get(key, as: JSONValue.self) ?? .null)
            } catch SecureStorageError.typeConversionFailed {
                self = .object
            }
        }
    }

    var type: String {
        switch self {
        case .plain(.null): "null"
        case .plain(.integer): "integer"
        case .plain(.real): "real"
        case .plain(.text): "text"
        case .plain(.blob): "blob"
        case .json: "json"
        case .object: "object"
        }
    }

    /// Returns the value as JSON text, or nil for an object.
    func json() throws -> String? {
        switch self {
        case .plain(.null): return "null"
        case .plain(.integer(let number)): return String(number)
        case .plain(.real(let number)):
            return number.isInfinite ? (number < 0 ? "-9e999" : "9e999") : "\(number)"
        case .plain(.text(let text)): return JSONText.quoted(text)
        case .plain(.blob(let bytes)): return JSONText.quoted(bytes.base64EncodedString())
        case .json(let value):
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        case .object: return nil
        }
    }
}
