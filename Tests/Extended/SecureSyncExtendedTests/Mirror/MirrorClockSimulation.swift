import Foundation
@testable import ObjectStores
@testable import SecureMirror
import SecureStorage
import SecureStoragePlatform
import TestSupport
@testable import SecureSync
@testable import SecureSyncTests

/// The history of a mirror on a machine whose clock is wrong now and then; in some, a small object
/// is damaged or lost.
///
/// What has to be kept follows from `Docs/BeyondOneMachine.md`, with the times that the store has.
struct MirrorClockSimulation {
    /// A state that was stored: each commit adds a row.
    private struct State {
        let time: UInt64
        let rows: Int
        let generation: UInt64
    }

    /// A start of the mirror.
    private struct Session {
        let mirror: DatabaseMirror
        let begin: Double
        /// The newest time in the store at the start.
        let newest: UInt64?
    }

    private let home: TemporaryDatabase
    private let store: DirectoryObjectStore
    private let pool: SecureDatabasePool
    private let place: MirrorPlace
    private let keys: PageKeys
    private var settings = DatabaseMirror.Settings()
    private var random: SplitMix64

    /// Seconds that have really passed.
    private let passed = Locked(0.0)
    /// What the clock is wrong by.
    private let wrong = Locked(0.0)
    private var drift = 0.0
    private let isContinuous: Bool
    private let isDamaging: Bool
    private var session: Session?
    /// The most that the clock was ahead in this session.
    private var ahead = -Double.infinity

    private var rows = 0
    private var states: [State] = []
    /// The latest time, in milliseconds, that may have decided what is removed.
    private var removal = 0.0
    private var damage: (name: String, generation: UInt64)?
    private(set) var findings: [String] = []

    private static let start = 1_700_000_000.0

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        home = try TemporaryDatabase()
        store = DirectoryObjectStore(beside: home)
        pool = try home.openPool()
        place = MirrorPlace(names: try MirrorNames("notes"), store: store)
        settings.keepsPoints = .seconds(Double.random(in: 0...6, using: &random) * 3600)
        settings.keepsHours = .seconds(Double.random(in: 8...48, using: &random) * 3600)
        isContinuous = Bool.random(using: &random)
        isDamaging = Int.random(in: 0..<3, using: &random) == 0
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)") }
        let source = try CommittedPages(of: pool)
        keys = source.keys
        source.end()
    }

    /// Lets the mirror run so often, and restores states in between.
    mutating func run(steps: Int) async throws {
        let damageStep = isDamaging ? Int.random(in: steps / 4..<steps, using: &random) : steps
        for step in 0..<steps {
            let longest = Bool.random(using: &random) ? 900.0 : 7200
            pass(.random(in: 60...longest, using: &random))
            if Int.random(in: 0..<8, using: &random) == 0 { setClock() }
            try await mirror()
            if step == damageStep { try await damageOne() }
            if step % 8 == 7 { try await restoreSome() }
        }
        for index in states.indices.suffix(3) { try await restore(index) }
        try await settle()
        await pool.close()
    }

    private mutating func find(_ text: String) {
        let (rows, time) = (rows, passed.withLock { $0 })
        findings.append("\(text) (\(rows) rows, second \(time), damaged: \(damage?.name ?? "-"))")
    }

    // MARK: - Time

    private func pass(_ seconds: Double) {
        passed.withLock { $0 += seconds }
        wrong.withLock { $0 += seconds * drift }
    }

    private mutating func setClock() {
        drift =
            Int.random(in: 0..<3, using: &random) == 0
            ? .random(in: -0.01...0.01, using: &random) : 0
        let possible: [Double] = [0, 0, 0, 90, 3600, 2 * 86_400, 10 * 366 * 86_400]
        let most = possible.randomElement(using: &random) ?? 0
        let error = Double.random(in: -most...most, using: &random)
        wrong.withLock { $0 = error }
    }

    private var clock: Double {
        Self.start + passed.withLock { $0 } + wrong.withLock { $0 }
    }

    // MARK: - The mirror

    private mutating func begin() async throws {
        session = nil
        // As if the file had been closed; the old mirror may be in the way for a moment.
        _ = try? await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        let begin = passed.withLock { $0 }
        let mirror = try DatabaseMirror(
            of: pool, in: store, name: "notes", settings: settings,
            uptime: { [passed] in .seconds(passed.withLock { $0 } - begin) },
            clock: { [passed, wrong] in
                Date(
                    timeIntervalSince1970: Self.start + passed.withLock { $0 }
                        + wrong.withLock { $0 })
            })
        let newest = try await newestTime()
        session = Session(mirror: mirror, begin: begin, newest: newest)
        ahead = -.infinity
    }

    private func newestTime() async throws -> UInt64? {
        try await place.newestTime(place.key(from: keys))
    }

    /// Adds a row, and lets the mirror store it, and tidy up.
    private mutating func mirror() async throws {
        let isOver = !isContinuous || Int.random(in: 0..<12, using: &random) == 0
        if session == nil || isOver { try await begin() }
        guard let session else { return }
        try await pool.write {
            try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(1000))")
        }
        rows += 1
        ahead = max(ahead, wrong.withLock { $0 })
        let now = passed.withLock { $0 }
        // Half a minute for what the uptime and the clock may differ by.
        let limit = session.newest.map { Double($0) / 1000 + 86_400 + now - session.begin }
        let latest = min(Self.start + now + ahead, limit ?? .infinity) + 30
        removal = max(removal, latest * 1000)
        do {
            try await session.mirror.flush()
            try await note()
            let before = try await place.generations()
            do {
                try await session.mirror.maintain()
            } catch let error as MirrorError where error.isFinding && damage != nil {
                // It says what it found.
            }
            let removed = try await Set(before).subtracting(place.generations())
            if removed.count > 3 { find("\(removed.count) generations were removed at once") }
            try await session.mirror.flush()
            try await note()
        } catch {
            find("the mirror failed: \(error)")
            self.session = nil
        }
    }

    private mutating func note() async throws {
        guard let time = try await newestTime(), let number = try await place.generations().last
        else { return }
        guard time > states.last?.time ?? 0 else {
            if damage == nil, states.last?.rows != rows { find("a time went back") }
            return
        }
        states.append(State(time: time, rows: rows, generation: number))
    }

    private mutating func damageOne() async throws {
        let largest = Bool.random(using: &random) ? 400 : 10_000
        let objects = try await store.listAll("notes/").filter { $0.size < largest }
        guard let object = objects.randomElement(using: &random),
            var bytes = try await store.read(object.name)
        else { return }
        let words = object.name.split(separator: "/")
        let number = MirrorNames.number(in: String(words[1])) ?? MirrorNames.number(in: object.name)
        damage = (object.name, number ?? 0)
        try await store.remove([object.name])
        guard Bool.random(using: &random) else { return }
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(
            1 << Int.random(in: 0..<8, using: &random))
        _ = try await store.create(object.name, bytes)
    }

    // MARK: - What has to be there

    /// Whether the guide promises that a state can be restored.
    private func isPromised(_ index: Int) -> Bool {
        let state = states[index]
        guard state.generation != damage?.generation else { return false }
        guard index + 1 < states.count else { return true }
        let next = states[index + 1].time
        func keeps(_ duration: Duration) -> Bool {
            removal - Double(next) <= duration / .milliseconds(1)
        }
        if keeps(max(settings.keepsPoints, .seconds(60))) { return true }
        return keeps(settings.keepsHours) && state.time / 3_600_000 != next / 3_600_000
    }

    private mutating func restoreSome() async throws {
        for _ in 0..<4 {
            let promised = states.indices.filter { isPromised($0) }
            if let index = promised.randomElement(using: &random) { try await restore(index) }
        }
        if let index = states.indices.randomElement(using: &random) { try await restore(index) }
        guard let first = states.first?.time, let last = states.last?.time else { return }
        try await restore(at: .random(in: Double(first)...Double(last), using: &random), nil)
    }

    private mutating func restore(_ index: Int) async throws {
        try await restore(at: Double(states[index].time) + 0.5, index)
    }

    /// Restores the state of a time, which is that of an index if that is promised.
    private mutating func restore(at time: Double, _ index: Int?) async throws {
        let expected = index.flatMap { isPromised($0) ? states[$0] : nil }
        let target = try TemporaryDatabase(name: "restored.db")
        do {
            let restored = try await DatabaseMirror.restore(
                "notes", from: store, to: target.url,
                key: .raw(SecretBytes(copying: TemporaryDatabase.key)),
                at: .date(Date(timeIntervalSince1970: time / 1000)))
            let date = UInt64((restored.date.timeIntervalSince1970 * 1000).rounded())
            let db = try target.openStore()
            defer { db.close() }
            let rows = try db.int("SELECT count(*) FROM t")
            let state = states.last { $0.time == date }
            if state?.rows != rows {
                find("state \(date) has \(rows ?? 0) rows instead of \(state?.rows ?? 0)")
            }
            if let expected, expected.time != date {
                find("instead of the state of \(expected.time), that of \(date) is there")
            }
        } catch let error as MirrorError {
            if let expected { find("the state of \(expected.time) is not there: \(error)") }
        }
    }

    /// Checks what is left when the clock is right and the mirror has had time.
    private mutating func settle() async throws {
        wrong.withLock { $0 = 0 }
        drift = 0
        for _ in 0..<2 {
            pass(120)
            try await begin()
            try await mirror()
        }
        var left = -1
        for _ in 0..<400 {
            let count = try await place.generations().count
            if count == left { break }
            left = count
            try? await session?.mirror.maintain()
            try await session?.mirror.flush()
        }
        guard damage == nil else { return }
        let report = try await DatabaseMirror.verify(
            "notes", in: store, key: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        for problem in report.problems { find("not sound: \(problem)") }
        let history = try await DatabaseMirror.history(of: "notes", in: store)
        for (generation, next) in zip(history, history.dropFirst()) {
            let age = Date(timeIntervalSince1970: clock).timeIntervalSince(next.begin)
            let hours = [generation, next].map { Int($0.begin.timeIntervalSince1970 / 3600) }
            let isKept =
                age <= max(settings.keepsPoints / .seconds(1), 60) + 30
                || (hours[0] != hours[1] && age <= settings.keepsHours / .seconds(1) + 30)
            if !isKept { find("generation \(generation.number) is left, \(Int(age)) s old") }
        }
    }
}
