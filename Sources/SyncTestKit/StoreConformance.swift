internal import Foundation
public import ObjectStores

/// What every store has to do, as checks that run against a real one.
///
/// ```swift
/// @Test(arguments: StoreConformance.Check.allCases)
/// func `my store is one`(_ check: StoreConformance.Check) async throws {
///     try await StoreConformance(under: "test/\(check)/".lowercased()) { MyStore() }.run(check)
/// }
/// ```
///
/// Depends on no test library: a check that fails throws.
public struct StoreConformance: Sendable {
    /// A promise of ``/ObjectStores/ObjectStore``.
    public enum Check: String, CaseIterable, Sendable {
        /// An object is read as it was created, by another connection as well.
        case createsAndReads
        /// The second `create` of a name returns false and changes nothing.
        case createsOnce
        /// Of racing creators of a name exactly one succeeds, and its bytes are read.
        case decidesRaces
        /// Names with every character that is allowed, and long ones.
        case keepsNames
        /// Names against the rule are ``/ObjectStores/StoreError/invalidName(_:)``.
        case refusesOtherNames
        /// An empty object, and one of 64 MiB.
        case keepsSizes
        /// Lists are in the order of the bytes, page by page.
        case listsInOrder
        /// A list has exactly the names with the prefix.
        case listsByPrefix
        /// Removed objects are gone, and may be created again.
        case removes
        /// A mark is read as it was last set, and wakes a caller that waits.
        case marks
        /// Waiting ends in time.
        case endsWaiting
        /// A cancelled task ends its call.
        case endsWhenCancelled
        /// `probe(under:)` accepts the store, and leaves nothing.
        case passesProbe
    }

    /// A promise that was not kept.
    public struct Failure: Error, CustomStringConvertible {
        /// What was expected and seen.
        public let description: String
    }

    private let prefix: String
    private let makeStore: @Sendable () async throws -> any ObjectStore

    /// Creates the checks of a store.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of all names, such as `test/`; nothing else may use it.
    ///   - makeStore: Returns a store with connections of its own to the same place.
    public init(
        under prefix: String,
        _ makeStore: @escaping @Sendable () async throws -> any ObjectStore
    ) {
        self.prefix = prefix
        self.makeStore = makeStore
    }

    /// Runs one check, and removes the objects that it created.
    ///
    /// - Parameter check: The promise.
    /// - Throws: ``Failure``; the store's errors.
    public func run(_ check: Check) async throws {
        let store = try await makeStore()
        switch check {
        case .createsAndReads: try await createAndRead(store)
        case .createsOnce: try await createOnce(store)
        case .decidesRaces: try await race()
        case .keepsNames: try await keepNames(store)
        case .refusesOtherNames: try await refuseNames(store)
        case .keepsSizes: try await keepSizes(store)
        case .listsInOrder: try await listInOrder(store)
        case .listsByPrefix: try await listByPrefix(store)
        case .removes: try await remove(store)
        case .marks: try await mark(store)
        case .endsWaiting: try await endWaiting(store)
        case .endsWhenCancelled: try await endWhenCancelled(store)
        case .passesProbe: try await probe(store)
        }
        try await store.remove(store.listAll(prefix).map(\.name))
    }

    private func require(_ isKept: Bool, _ promise: @autoclosure () -> String) throws {
        guard isKept else { throw Failure(description: promise()) }
    }

    private func bytes(_ count: Int, seed: UInt8) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(seed)) })
    }

    // MARK: - Objects

    private func createAndRead(_ store: any ObjectStore) async throws {
        let content = bytes(10_000, seed: 1)
        try require(try await store.read(prefix + "a") == nil, "an object is found beforehand")
        try require(try await store.create(prefix + "a", content), "a new name exists")
        let other = try await makeStore()
        for store in [store, other] {
            try require(try await store.read(prefix + "a") == content, "other bytes are read")
            let listed = try await store.listAll(prefix)
            try require(
                listed == [StoredObject(name: prefix + "a", size: content.count)],
                "the list is \(listed)")
        }
    }

    private func createOnce(_ store: any ObjectStore) async throws {
        try require(try await store.create(prefix + "a", bytes(5, seed: 1)), "a new name exists")
        for content in [bytes(5, seed: 1), bytes(7, seed: 2), Data()] {
            try require(try await !store.create(prefix + "a", content), "a name is created twice")
        }
        try require(try await store.read(prefix + "a") == bytes(5, seed: 1), "it has changed")
    }

    private func race() async throws {
        for round in 0..<10 {
            let name = "\(prefix)race/\(round)"
            let winners = try await withThrowingTaskGroup(of: UInt8?.self) { group in
                for racer in 0..<8 as Range<UInt8> {
                    group.addTask {
                        let store = try await makeStore()
                        return try await store.create(name, bytes(50, seed: racer)) ? racer : nil
                    }
                }
                return try await group.reduce(into: [UInt8]()) {
                    if let one = $1 { $0.append(one) }
                }
            }
            try require(winners.count == 1, "\(winners.count) of 8 creators of a name succeed")
            let content = try await makeStore().read(name)
            try require(content == bytes(50, seed: winners[0]), "a loser's bytes are read")
        }
    }

    private func keepNames(_ store: any ObjectStore) async throws {
        let long = String(repeating: "x", count: 199 - prefix.utf8.count % 100)
        let names = [
            "abcdefghijklmnopqrstuvwxyz0123456789-_.", "a/b/c/d/e/f/g/h", "\(long)y",
            "\(long)/\(long)",
            "a-b", "a.b", "-", "_", "0",
        ].map { prefix + $0 }
        for name in names {
            try require(try await store.create(name, Data(name.utf8)), "\(name) exists")
        }
        for name in names {
            try require(try await store.read(name) == Data(name.utf8), "\(name) is another object")
        }
        let listed = try await store.listAll(prefix).map(\.name)
        try require(Set(listed) == Set(names), "the list is \(listed)")
    }

    private func refuseNames(_ store: any ObjectStore) async throws {
        let names = [
            "", "/", "a/", "/a", "a//b", "../a", "a/../b", ".a", "A", "a b", "a\u{0}", "ä", "a%b",
            "a\\b", String(repeating: "x", count: 201), String(repeating: "x/", count: 301) + "x",
        ]
        for name in names {
            for call in [
                { _ = try await store.create(name, Data()) }, { _ = try await store.read(name) },
                { try await store.remove([name]) }, { try await store.mark(name, Data()) },
            ] as [() async throws -> Void] {
                do {
                    try await call()
                } catch StoreError.invalidName(name) {
                    continue
                }
                throw Failure(description: "the name \"\(name)\" is accepted")
            }
        }
    }

    private func keepSizes(_ store: any ObjectStore) async throws {
        for count in [0, 1, 64 << 20] {
            let name = "\(prefix)size-\(count)"
            let content = bytes(min(count, 1 << 20), seed: 3)
            var large = Data(capacity: count)
            while large.count < count { large += content.prefix(count - large.count) }
            try require(try await store.create(name, large), "\(name) exists")
            try require(try await store.read(name) == large, "\(count) bytes are read differently")
        }
        let sizes = try await store.listAll(prefix + "size-").map(\.size)
        try require(sizes == [0, 1, 64 << 20], "the sizes are \(sizes)")
    }

    // MARK: - Lists

    private func listInOrder(_ store: any ObjectStore) async throws {
        // `-` and `.` come before `/`, and `0` after it.
        let names =
            ["a", "a-b", "a-b/c", "a.b", "a0", "b/1", "b/10", "b/2", "b-1", "b/1-", "b/1.x/y"]
            .map { prefix + $0 }
        // `a-b` and `a-b/c` do not exist together.
        let created = names.filter { $0 != prefix + "a-b" && $0 != prefix + "b/1" }
        for name in created { _ = try await store.create(name, Data()) }
        let sorted = created.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let listed = try await store.listAll(prefix).map(\.name)
        try require(listed == sorted, "the order is \(listed)")
        for (index, name) in sorted.enumerated() {
            let rest = try await store.listAll(prefix, after: name).map(\.name)
            try require(rest == Array(sorted[(index + 1)...]), "after \(name) follow \(rest)")
        }
        // More than a page of any store.
        let many = (0..<1200).map { prefix + "many/" + String(10_000 + $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in 0..<8 {
                group.addTask {
                    for index in stride(from: start, to: many.count, by: 8) {
                        _ = try await store.create(many[index], Data())
                    }
                }
            }
            try await group.waitForAll()
        }
        let pages = try await store.listAll(prefix + "many/").map(\.name)
        try require(pages == many, "\(pages.count) of \(many.count) objects are listed in order")
    }

    private func listByPrefix(_ store: any ObjectStore) async throws {
        for name in ["ab/c", "ab-c", "b/a", "abc"] {
            _ = try await store.create(prefix + name, Data())
        }
        for (start, expected) in [
            ("a", ["ab-c", "ab/c", "abc"]), ("ab/", ["ab/c"]), ("ab", ["ab-c", "ab/c", "abc"]),
            ("abc", ["abc"]), ("x", []), ("ab/c", ["ab/c"]), ("b", ["b/a"]),
        ] {
            let listed = try await store.listAll(prefix + start).map(\.name)
            try require(
                listed == expected.map { prefix + $0 }, "\(start) is the beginning of \(listed)")
        }
    }

    private func remove(_ store: any ObjectStore) async throws {
        let names = (0..<30).map { "\(prefix)r/\($0)" }
        for name in names { _ = try await store.create(name, Data("1".utf8)) }
        try await store.remove(Array(names.prefix(20)) + [prefix + "never", prefix + "r/0/x"])
        let rest = try await store.listAll(prefix + "r/").map(\.name)
        try require(Set(rest) == Set(names.dropFirst(20)), "\(rest) remain")
        try require(try await store.read(names[0]) == nil, "a removed object is read")
        try require(try await store.create(names[0], Data("2".utf8)), "a removed name exists")
        try require(try await store.read(names[0]) == Data("2".utf8), "the removed bytes are read")
        try await store.remove([])
    }

    // MARK: - Marks and waiting

    private func mark(_ store: any ObjectStore) async throws {
        let name = prefix + "mark"
        let other = try await makeStore()
        var tag: String?
        for round in 0..<5 {
            let last = tag
            async let seen = other.waitForMark(name, since: last, atMost: .seconds(30))
            try await Task.sleep(for: .milliseconds(50))
            try await store.mark(name, Data("\(round)".utf8))
            let next = try await seen
            try require(next != nil && next != last, "a mark did not wake its reader")
            try require(
                try await other.read(name) == Data("\(round)".utf8), "an earlier mark is read")
            // It may have been woken early.
            tag = try await other.waitForMark(name, since: next, atMost: .milliseconds(200)) ?? next
        }
    }

    private func endWaiting(_ store: any ObjectStore) async throws {
        let start = ContinuousClock.now
        let tag = try await store.waitForMark(prefix + "no", since: nil, atMost: .milliseconds(300))
        try require(tag == nil, "a mark that was never set is seen")
        try require(ContinuousClock.now - start < .seconds(20), "a wait has no end")
    }

    private func endWhenCancelled(_ store: any ObjectStore) async throws {
        let waiting = Task {
            try await store.waitForMark(prefix + "no", since: nil, atMost: .seconds(600))
        }
        try await Task.sleep(for: .milliseconds(100))
        let start = ContinuousClock.now
        waiting.cancel()
        switch await waiting.result {
        case .failure(is CancellationError): break
        case .failure(let error): throw error
        case .success: throw Failure(description: "a cancelled wait returns")
        }
        try require(ContinuousClock.now - start < .seconds(20), "a cancelled wait continues")
    }

    private func probe(_ store: any ObjectStore) async throws {
        try await store.probe(under: prefix)
        let rest = try await store.listAll(prefix)
        try require(rest.isEmpty, "\(rest) remain")
    }
}
