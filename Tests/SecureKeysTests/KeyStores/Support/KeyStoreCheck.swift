import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport
import Vaults

/// The checks that every key store must pass, each run on an empty store.
enum KeyStoreCheck: String, CaseIterable, Codable {
    case storedReplacedReadRemoved
    case namesAreListedByTheirBytes
    case allSizesAndAllBytes
    case emptyAndLargeSecretsAreRefused
    case hostileNamesStayApart
    case invalidNamesAreRefused
    case insertChangesNothingThatIsThere
    case ofSixteenThreadsThatInsertOneWins
    case sixteenThreadsReadOrInsertTheSame
    case sixteenThreadsMixed
    case errorsHoldNoSecret

    func run(on store: any KeyStore) throws {
        switch self {
        case .storedReplacedReadRemoved: try Self.storedReplacedReadRemoved(store)
        case .namesAreListedByTheirBytes: try Self.namesAreListed(store)
        case .allSizesAndAllBytes: try Self.allSizesAndAllBytes(store)
        case .emptyAndLargeSecretsAreRefused: try Self.sizesAreRefused(store)
        case .hostileNamesStayApart: try Self.hostileNames(store)
        case .invalidNamesAreRefused: try Self.invalidNames(store)
        case .insertChangesNothingThatIsThere: try Self.insertChangesNothing(store)
        case .ofSixteenThreadsThatInsertOneWins: try Self.oneInsertWins(store)
        case .sixteenThreadsReadOrInsertTheSame: try Self.threadsReadOrInsert(store)
        case .sixteenThreadsMixed: try Self.threadsMixed(store)
        case .errorsHoldNoSecret: try Self.errorsHoldNoSecret(store)
        }
    }

    static let hostileNames = [
        "../x", "a/b", "/etc/passwd", "a\0b", "a\0", "\0", "🔑", ".", "..", "...", " ", "\n",
        "key", "Key", "KEY", "caf\u{e9}", "cafe\u{301}", "%", "%00", "%2F", "a%", "\\", "'\"$(x)",
        "-rf", "*", "\u{202e}", "\u{7f}", "\u{1b}[2J", "nul", "CON", "a:b", "service",
        String(repeating: "x", count: 255), String(repeating: "/", count: 255),
        String(repeating: "\0", count: 255), String(repeating: "é", count: 127) + "x",
        String(repeating: "🔑", count: 63) + "xyz",
    ]

    private static func bytes(_ names: [String]) -> [Data] { names.map { Data($0.utf8) } }

    private static func storedReplacedReadRemoved(_ store: any KeyStore) throws {
        check(keyStoreError { _ = try store.read("k") }, equals: .notFound(name: "k"))
        try check(!store.remove("k"))
        try store.store(.uniform(1), forName: "k")
        let first = try store.read("k")
        check(first, equals: .uniform(1))
        try store.store(SecretBytes(copying: Data("longer, or shorter".utf8)), forName: "k")
        try check(store.read("k"), equals: SecretBytes(copying: Data("longer, or shorter".utf8)))
        check(first, equals: .uniform(1), "a secret that was read does not change")
        try check(store.names(), equals: ["k"])
        try check(store.remove("k"))
        try check(!store.remove("k"))
        check(keyStoreError { _ = try store.read("k") }, equals: .notFound(name: "k"))
        try check(store.names(), equals: [])
        try store.insert(.uniform(2), forName: "k")
        try check(store.read("k"), equals: .uniform(2))
    }

    private static func namesAreListed(_ store: any KeyStore) throws {
        try check(store.names(), equals: [])
        let names = ["b", "a", "ä", "B", "aa", "~", "z\u{301}"]
        for name in names { try store.store(.uniform(3), forName: name) }
        try check(bytes(store.names()), equals: bytes(["B", "a", "aa", "b", "z\u{301}", "~", "ä"]))
    }

    private static func allSizesAndAllBytes(_ store: any KeyStore) throws {
        for size in [1, 2, 3, 4, 5, 16, 31, 32, 33, 255, 256, 4095, 4096, 65_535, 65_536] {
            let secret = SecretBytes.random(count: size)
            try store.store(secret, forName: "k")
            try check(store.read("k"), equals: secret, "\(size) bytes")
        }
        let all = SecretBytes(copying: Data((0...255).map { UInt8($0) }))
        for secret in [all, .uniform(0), .uniform(255), .uniform(10)] {
            try store.store(secret, forName: "k")
            try check(store.read("k"), equals: secret)
        }
    }

    private static func sizesAreRefused(_ store: any KeyStore) throws {
        for size in [0, 65_537, 1_000_000] {
            let secret = SecretBytes(count: size) { _ in }
            check(keyStoreError { try store.store(secret, forName: "k") }?.kind, equals: .refused)
            check(keyStoreError { try store.insert(secret, forName: "k") }?.kind, equals: .refused)
        }
        try check(store.names(), equals: [])
    }

    private static func hostileNames(_ store: any KeyStore) throws {
        for (number, name) in hostileNames.enumerated() {
            try store.insert(.uniform(UInt8(number)), forName: name)
        }
        for (number, name) in hostileNames.enumerated() {
            try check(
                store.read(name).uniformByte, equals: UInt8(number), "\(name.debugDescription)")
        }
        try check(
            bytes(store.names()),
            equals: bytes(hostileNames).sorted { $0.lexicographicallyPrecedes($1) })
        for name in hostileNames {
            try check(store.remove(name), "\(name.debugDescription)")
            check(keyStoreError { _ = try store.read(name) }?.kind, equals: .notFound)
        }
        try check(store.names(), equals: [])
    }

    private static func invalidNames(_ store: any KeyStore) throws {
        let long = String(repeating: "x", count: 256)
        for name in ["", long, String(repeating: "é", count: 128), long + long] {
            let errors = store.errors(forName: name)
            check(errors, equals: [.invalidName, .invalidName, .invalidName, .invalidName, nil])
        }
        try check(store.names(), equals: [])
    }

    private static func insertChangesNothing(_ store: any KeyStore) throws {
        try store.store(.uniform(4), forName: "k")
        check(
            keyStoreError { try store.insert(.uniform(5), forName: "k") },
            equals: .alreadyExists(name: "k"))
        try check(store.read("k"), equals: .uniform(4))
        try check(store.read("k", orInsert: { .uniform(6) }), equals: .uniform(4))
    }

    private static func oneInsertWins(_ store: any KeyStore) throws {
        for round in 0..<4 {
            let winners = Gathered<UInt8>()
            let losers = Gathered<KeyStoreError.Kind?>()
            onThreads(16) { thread in
                let error = keyStoreError {
                    try store.insert(.uniform(UInt8(thread)), forName: "k\(round)")
                    winners.add(UInt8(thread))
                }
                if let error { losers.add(error.kind) }
            }
            check(winners.values.count, equals: 1)
            check(losers.values, equals: Array(repeating: .alreadyExists, count: 15))
            try check(store.read("k\(round)").uniformByte, equals: winners.values.first)
        }
    }

    private static func threadsReadOrInsert(_ store: any KeyStore) throws {
        let found = Gathered<UInt8?>()
        onThreads(16) { thread in
            let secret = try? store.read("k", orInsert: { .uniform(UInt8(thread)) })
            found.add(secret?.uniformByte)
        }
        check(found.values.count, equals: 16)
        check(Set(found.values), equals: [try store.read("k").uniformByte])
        check(!found.values.contains(nil))
    }

    private static func threadsMixed(_ store: any KeyStore) throws {
        let problems = Gathered<String>()
        onThreads(16) { thread in
            for call in 0..<20 {
                let name = "k\((thread + call) % 3)"
                do {
                    switch (thread &* 7 + call) % 5 {
                    case 0: try store.store(.uniform(UInt8(thread)), forName: name)
                    case 1: try store.insert(.uniform(UInt8(thread)), forName: name)
                    case 2: try store.remove(name)
                    case 3:
                        if try store.read(name).uniformByte == nil { problems.add("a mixture") }
                    default:
                        if !Set(["k0", "k1", "k2"]).isSuperset(of: try store.names()) {
                            problems.add("an unknown name")
                        }
                    }
                } catch KeyStoreError.notFound, KeyStoreError.alreadyExists {
                    continue
                } catch {
                    problems.add("\(error)")
                }
            }
        }
        check(problems.values, equals: [])
    }

    private static func errorsHoldNoSecret(_ store: any KeyStore) throws {
        let marker = "markedsecret7f3ac2"
        let secret = SecretBytes(copying: Data(marker.utf8))
        let large = SecretBytes(copying: Data(String(repeating: marker, count: 4000).utf8))
        try store.store(secret, forName: "k")
        let errors = [
            keyStoreError { try store.insert(secret, forName: "k") },
            keyStoreError { try store.store(large, forName: "k") },
            keyStoreError { try store.store(secret, forName: "") },
            keyStoreError { _ = try store.read("absent") },
        ]
        let encoded = Data(marker.utf8).base64EncodedString()
        for error in errors {
            let error = try require(error)
            var dumped = ""
            dump(error, to: &dumped)
            dump(store, to: &dumped)
            for text in [error.description, String(reflecting: error), dumped] {
                check(!text.contains(marker) && !text.contains(encoded))
            }
        }
    }
}
