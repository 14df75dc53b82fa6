import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport
@testable import SecureSyncTests

/// A store that changes, loses, swaps or repeats what it was given.
struct MirrorDamageTests {
    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
    }

    private struct State {
        let date: Date
        let rows: [String?]
    }

    /// Fills the store with two generations, merged segments and, on request, a transaction of many
    /// objects.
    private func mirroredStates(largeRows: Int = 0) async throws -> [State] {
        let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))
        let pool = try home.openPool()
        defer { pool.close() }
        try await pool.write { db in
            try db.executeStatements(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, x); CREATE TABLE large (x);")
        }
        var states: [State] = []
        for part in 0..<2 {
            if part == 1 {
                // The next mirror does not find its place in the log, and starts over.
                try await pool.writeWithoutTransaction { db in
                    try db.checkpoint(.truncate)
                    try db.executeUpdate("INSERT INTO large VALUES (1)")
                }
            }
            let mirror = try DatabaseMirror(of: pool, in: store, name: "notes", settings: .init()) {
                clock.withLock { $0 }
            }
            for step in 0..<30 {
                try await pool.write { db in
                    try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(?))", step * 20)
                    if part == 1, step == 10 {
                        for _ in 0..<largeRows {
                            try db.executeUpdate("INSERT INTO large VALUES (zeroblob(1000000))")
                        }
                    }
                }
                try await mirror.flush()
                let state = try await pool.read { try rows($0) }
                states.append(State(date: clock.withLock { $0 }, rows: state))
                // Hours, with several segments in a minute.
                clock.withLock { $0 += step % 3 == 2 ? 500 : 10 }
                if step % 10 == 9 { try await mirror.maintain() }
            }
        }
        return states
    }

    private func rows(_ db: SecureDatabaseStore) throws -> [String?] {
        try db.strings(
            "SELECT id || hex(x) FROM t UNION ALL SELECT 'large ' || count(*) FROM large")
    }

    private func restored(at point: DatabaseMirror.Point) async throws -> [String?] {
        try await store.restored(at: point) { try rows($0) }
    }

    // MARK: - Damages

    private struct Damage {
        let description: String
        /// The objects that are replaced, or removed.
        let changes: [(name: String, bytes: Data?)]
        /// Whether it makes a store that does not show the newest objects, which nobody can notice.
        var hidesNewest = false

        var isRemoval: Bool { changes.allSatisfy { $0.bytes == nil } }
    }

    private func damage(
        _ objects: [(name: String, bytes: Data)], _ random: inout SplitMix64
    ) throws -> Damage {
        let one = try require(objects.randomElement(using: &random))
        let other = try require(objects.randomElement(using: &random))
        var bytes = one.bytes
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1:
            // Half of them in the header, which decides what the rest means.
            let limit = Bool.random(using: &random) ? 160 : bytes.count
            let place = Int.random(in: 0..<limit, using: &random)
            bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            return Damage(
                description: "bit of byte \(place) of \(one.name)", changes: [(one.name, bytes)])
        case 2:
            let count = Int.random(in: 0..<bytes.count, using: &random)
            return Damage(
                description: "\(one.name) cut to \(count)",
                changes: [(one.name, bytes.prefix(count))])
        case 3:
            bytes += bytes.prefix(Int.random(in: 1...5000, using: &random))
            return Damage(description: "\(one.name) is longer", changes: [(one.name, bytes)])
        case 4:
            return Damage(
                description: "\(one.name) and \(other.name) swapped",
                changes: [(one.name, other.bytes), (other.name, one.bytes)])
        case 5:
            return Damage(
                description: "\(other.name) in the place of \(one.name)",
                changes: [(one.name, other.bytes)])
        case 6:
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(place + 4096, bytes.count)
            bytes.replaceSubrange(place..<end, with: Data(count: end - place))
            return Damage(description: "zeros in \(one.name)", changes: [(one.name, bytes)])
        case 7:
            return Damage(
                description: "\(one.name) is missing", changes: [(one.name, nil)],
                hidesNewest: one.name == objects.last { $0.name.contains("/log/") }?.name)
        default:
            // Under a name that nothing had.
            let number = String(Int.random(in: 1...80, using: &random), radix: 16)
            let text = String(repeating: "0", count: 16 - number.count) + number
            let level = ["log", "minutes", "hours"].randomElement(using: &random) ?? "log"
            let name =
                "notes/000000000000000\(Int.random(in: 1...3, using: &random))/\(level)/\(text)-\(text)"
            let isNew = !objects.contains { $0.name == name }
            return Damage(
                description: "\(one.name) repeated as \(name)",
                changes: isNew ? [(name, one.bytes)] : [(one.name, nil), (one.name, one.bytes)])
        }
    }

    private func apply(_ changes: [(name: String, bytes: Data?)]) async throws {
        try await store.remove(changes.map(\.name))
        for (name, bytes) in changes {
            guard let bytes else { continue }
            _ = try await store.create(name, bytes)
        }
    }

    /// In one object of each folder, with the least or the most number; `make campaign NAME=damage`
    /// has more.
    @Test func `numbers at their limits, in names and in headers, are errors`() async throws {
        let states = try await mirroredStates()
        let latest = states[states.count - 1].rows
        let (most, none) = (String(repeating: "f", count: 16), String(repeating: "0", count: 16))
        let segments = ["log", "minutes", "hours"].flatMap { level in
            ["\(most)-\(most)", "\(none)-\(none)", "\(none)-\(most)"]
                .map { "0000000000000002/\(level)/\($0)" }
        }
        for name in ["generations/\(most)", "generations/\(none)"] + segments {
            _ = try await store.create("notes/" + name, Data("1".utf8))
            let rows = try? await restored(at: .latest)
            check(rows == nil || rows == latest, "\(name)")
            _ = try await DatabaseMirror.history(of: "notes", in: store)
            _ = try await DatabaseMirror.verify("notes", in: store, key: key)
            try await store.remove(["notes/" + name])
        }
        let objects = try await store.listAll("notes/0000000000000002/")
        check(objects.count > 20)
        let isLong = environmentNumber("SECURESTORAGE_MIRROR_DAMAGES", default: 0) > 0
        var folders: Set<String> = []
        for (index, object) in objects.enumerated()
        where isLong && (object.name.contains("snapshot") || index % 15 == 0)
            || folders.insert(Self.folder(of: object.name)).inserted
        {
            let bytes = try await require(store.read(object.name))
            let fields = [11..<20, 20..<28, 28..<36, 36..<44, 44..<48, 48..<52, 52..<56]
            for (number, field) in fields.enumerated() {
                for byte in isLong ? [UInt8(0), 0xff] : [number % 2 == index % 2 ? 0 : 0xff] {
                    var changed = bytes
                    changed.replaceSubrange(
                        field, with: [UInt8](repeating: byte, count: field.count))
                    try await apply([(object.name, changed)])
                    let rows = try? await restored(at: .latest)
                    check(rows == nil || rows == latest, "\(object.name) \(field)")
                    _ = try? await DatabaseMirror.history(of: "notes", in: store)
                    _ = try await DatabaseMirror.verify("notes", in: store, key: key)
                }
            }
            try await apply([(object.name, bytes)])
        }
        try await check(restored(at: .latest), equals: latest)
    }

    /// Of a manifest its own name: it is unlike the other objects of a snapshot.
    private static func folder(of name: String) -> String {
        name.hasSuffix("manifest") ? name : (name as NSString).deletingLastPathComponent
    }

    @Test func `a manifest with another time does not move a point in time to another generation`()
        async throws
    {
        let states = try await mirroredStates()
        let name = "notes/0000000000000002/snapshot/manifest"
        let bytes = try await require(store.read(name))
        for byte in 36..<44 {
            var changed = bytes
            changed[byte] ^= 0x10
            try await apply([(name, changed)])
            for state in states.suffix(25) {
                let rows = try? await restored(at: .date(state.date))
                check(rows == nil || rows == state.rows, "\(byte)")
            }
        }
        let segment = "notes/0000000000000002/log/000000000000001b-000000000000001b"
        try await apply([(name, try await store.read(segment))])
        await #expect(throws: MirrorError.self) { try await restored(at: .date(states[43].date)) }
    }

    /// `make campaign NAME=damage` tries more.
    @Test func `changed, lost, swapped and repeated objects are errors, or change nothing`()
        async throws
    {
        let states = try await mirroredStates(largeRows: 3)
        var objects: [(name: String, bytes: Data)] = []
        for object in try await store.listAll("notes/") {
            objects.append((object.name, try await require(store.read(object.name))))
        }
        check(objects.count { $0.name.contains("/hours/") } >= 2)
        check(objects.count { $0.name.contains("/generations/") }, equals: 2)
        var random = SplitMix64(seed: Campaign.seeds(1)[0])
        var (errors, right) = (0, 0)
        for _ in 0..<environmentNumber("SECURESTORAGE_MIRROR_DAMAGES", default: 24) {
            let index = Int.random(in: 0..<states.count, using: &random)
            let isLatest = Bool.random(using: &random)
            let damage = try damage(objects, &random)
            try await apply(damage.changes)
            do {
                let rows = try await restored(
                    at: isLatest ? .latest : .date(states[index].date))
                let expected = isLatest ? states[states.count - 1].rows : states[index].rows
                let hidden = damage.hidesNewest && rows == states[states.count - 2].rows
                check(
                    rows == expected || hidden, "\(damage.description), \(isLatest ? -1 : index)")
                right += 1
            } catch is MirrorError {
                errors += 1
            } catch let error as SecureStorageError {
                Issue.record("\(error): \(damage.description)")
            }
            // Anything that a store has beside its objects is not damage.
            let known = Dictionary(uniqueKeysWithValues: objects.map { ($0.name, $0.bytes) })
            if damage.changes.allSatisfy({ known[$0.name] != nil }) {
                let isChanged = damage.changes.contains { change in
                    damage.changes.last { $0.name == change.name }?.bytes != known[change.name]
                }
                let report = try await DatabaseMirror.verify("notes", in: store, key: key)
                let isSound = report.isSound
                check(!isSound || !isChanged || damage.isRemoval, "\(damage.description)")
                check(isSound || isChanged, "\(damage.description): \(report.problems)")
                // A segment may be missing that another one contains.
                if isSound, isChanged, !damage.hidesNewest {
                    for state in states {
                        try await check(
                            restored(at: .date(state.date)), equals: state.rows,
                            "\(damage.description)")
                    }
                }
            }
            // As it was.
            try await apply(
                damage.changes.map { change in
                    (change.name, objects.first { $0.name == change.name }?.bytes)
                })
        }
        print("mirror: \(errors) damages were errors, \(right) changed nothing")
        check(errors > right / 30)
        try await check(restored(at: .latest), equals: states[states.count - 1].rows)
    }

    @Test func `a mirror of a copy of the database is not restored in the place of this one's`()
        async throws
    {
        let pool = try home.openPool()
        defer { pool.close() }
        try await pool.write { try $0.executeStatements("CREATE TABLE t (x)") }
        for name in ["production", "staging"] {
            let mirror = try DatabaseMirror(of: pool, in: store, name: name)
            try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES (?)", name) }
            try await mirror.flush()
        }
        let swapped = DirectoryObjectStore(
            directory: home.directory.appendingPathComponent("swapped"))
        for object in try await store.listAll("staging/") {
            let bytes = try require(await store.read(object.name))
            let name = "production" + object.name.dropFirst("staging".count)
            _ = try await swapped.create(name, bytes)
        }
        let target = home.directory.appendingPathComponent("restored.db")
        let error = await #expect(throws: MirrorError.self) {
            try await DatabaseMirror.restore(
                "production", from: swapped, to: target, key: key)
        }
        switch error {
        case .damaged, .wrongKey: break
        default: Issue.record("\(String(describing: error))")
        }
        check(!FileManager.default.fileExists(atPath: target.path))
    }
}
