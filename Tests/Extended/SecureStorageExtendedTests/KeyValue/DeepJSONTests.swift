import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

/// JSON of any depth, on a thread with the small stack that Dispatch and Apple platforms give to
/// all threads but the main one.
struct DeepJSONTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    /// A list whose JSON is as deep as the list is long.
    final class Link: Codable, Sendable {
        let next: Link?
        init(_ next: Link?) { self.next = next }

        var length: Int { 1 + (next?.length ?? 0) }

        static func chain(_ length: Int) -> Link {
            var last = Link(nil)
            for _ in 1..<length { last = Link(last) }
            return last
        }
    }

    /// Runs `body` on a thread with a stack of 512 KiB.
    private func onSmallStack(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        done.wait()
    }

    private static func json(_ depth: Int) -> String {
        String(repeating: #"{"next":"#, count: depth) + "{}" + String(repeating: "}", count: depth)
    }

    @Test(arguments: [500, 100_000])
    func `a stored JSON value that is nested too deeply is an error`(_ depth: Int) throws {
        let db = try database.openStore()
        let store = try SecureKeyValueStore(databaseStore: db, name: "values")
        try store.put([1], forKey: "deep")
        try db.executeUpdate(
            "UPDATE securestorage_kv_1 SET value = ?", "[" + Self.json(depth) + "]")
        onSmallStack {
            check(
                storageError { _ = try store.get("deep", as: Link.self) },
                equals: .typeConversionFailed)
        }
    }

    @Test(arguments: [500, 100_000])
    func `a column of JSON that is nested too deeply is an error`(_ depth: Int) throws {
        let database = database
        onSmallStack {
            let error = storageError {
                let db = try database.openStore()
                _ = try db.fetchAll(Row.self, "SELECT ? AS links", values: [Self.json(depth)])
            }
            check(error, equals: .typeConversionFailed)
        }
    }

    @Test func `a value that is nested too deeply is not written, however it is encoded`() throws {
        let store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
        onSmallStack {
            for length in [65, 500] {
                check(
                    storageError { try store.put(Link.chain(length), forKey: "deep") },
                    equals: .typeConversionFailed)
            }
            for depth in [64, 500] {
                check(
                    storageError { try store.put(Tree.chain(depth), forKey: "deep") },
                    equals: .typeConversionFailed)
            }
        }
        try check(!store.hasKey("deep"))
    }

    @Test func `a value of 63 levels round-trips on a small stack`() throws {
        let store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
        let database = database
        onSmallStack {
            let error = storageError {
                try store.put(Link.chain(63), forKey: "links")
                try check(store.get("links", as: Link.self)?.length, equals: 63)
                try store.put(Tree.chain(63), forKey: "tree")
                try check(store.get("tree", as: Tree.self)?.depth, equals: 63)
                let db = try database.openStore()
                let found = try db.fetchOne(Row.self, "SELECT ? AS links", values: [Self.json(63)])
                check(found?.links.length, equals: 64)
            }
            check(error == nil)
        }
    }

    @Test(arguments: [
        #"["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]"#,
        #"["\"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{\\"]"#,
    ])
    func `brackets in a string are not counted as levels`(_ json: String) throws {
        let decoder = JSONDecoder()
        let texts = try StoredJSON.decode([String].self, from: Data(json.utf8), with: decoder)
        check(texts.first?.count ?? 0 > 64)
    }

    /// A decoder accepts these too, but their brackets and quotation marks are different bytes.
    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian])
    func `JSON in an encoding other than UTF-8 is refused`(_ encoding: String.Encoding) throws {
        let json = try require(#"["\u{225b}"]"#.data(using: encoding))
        check(
            storageError {
                _ = try StoredJSON.decode([String].self, from: json, with: JSONDecoder())
            }, equals: .typeConversionFailed)
    }

    struct Row: Decodable { var links: Link }

    /// A type that makes several calls for each level.
    indirect enum Tree: Codable {
        case leaf
        case list([Tree])
        case keyed([String: Tree])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .leaf
            } else if let list = try? container.decode([Tree].self) {
                self = .list(list)
            } else {
                self = .keyed(try container.decode([String: Tree].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .leaf: try container.encodeNil()
            case .list(let list): try container.encode(list)
            case .keyed(let keyed): try container.encode(keyed)
            }
        }

        static func chain(_ depth: Int) -> Tree {
            var tree = Tree.leaf
            for number in 0..<depth { tree = number % 2 == 0 ? .list([tree]) : .keyed(["a": tree]) }
            return tree
        }

        var depth: Int {
            switch self {
            case .leaf: 0
            case .list(let list): 1 + (list.first?.depth ?? 0)
            case .keyed(let keyed): 1 + (keyed["a"]?.depth ?? 0)
            }
        }
    }
}
