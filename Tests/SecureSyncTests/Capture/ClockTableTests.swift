import SecureStorage
import TestSupport
import Testing

@testable import SecureSync

struct ClockTableTests {
    private let file: CapturedFile
    private let shape: TableShape

    init() throws {
        file = try CapturedFile(
            "CREATE TABLE pair (a INTEGER NOT NULL, b NOT NULL, c, PRIMARY KEY (a, b))",
            tables: "pair")
        shape = try file.capture.shapes(in: file.db)[0]
    }

    private func change<R>(_ body: (ClockTable) throws -> R) throws -> R {
        try file.write {
            try body(ClockTable(of: shape, members: MemberNumbers(in: file.db), in: file.db))
        }
    }

    private func clock(_ time: UInt64) -> RowClock {
        RowClock(incarnation: Timestamp(time: time, member: .numbered(1)), isAlive: true)
    }

    private func key(_ number: Int) -> [SQLiteValue] { [.integer(Int64(number)), .text("x")] }

    /// Clocks in the small table and in the large one.
    private func counts() throws -> [Int?] {
        try shape.clockTables.map {
            try file.db.int("SELECT count(*) FROM \($0)")
        }
    }

    private func all() throws -> [Int: RowClock] {
        var all: [Int: RowClock] = [:]
        try change { clocks in
            for number in 0..<100 { all[number] = try clocks.clock(of: key(number)) }
        }
        return all
    }

    @Test func `clocks move to the large table when they are many, and each is found`() throws {
        var expected: [Int: RowClock] = [:]
        for round in 0..<40 {
            try change { clocks in
                for number in [7 * round % 50, 11 * round % 50, 13 * round % 50] {
                    let new = clock(UInt64(round + 1))
                    try clocks.set(new, of: key(number))
                    expected[number] = new
                }
                try clocks.moveRecent(keeping: 5)
            }
            try check(all(), equals: expected)
            let counts = try counts().map { $0 ?? -1 }
            check(counts[0] <= 5 && counts[0] + counts[1] == expected.count)
        }
        try check(counts()[1] ?? 0 > 30)
    }

    @Test func `a row has one clock, wherever the clock before it lies`() throws {
        try change { try $0.set(clock(1), of: key(1)) }
        try change { try $0.set(clock(2), of: key(1)) }
        try check(counts(), equals: [1, 0])
        try change {
            try $0.set(clock(3), of: key(2))
            try $0.moveRecent(keeping: 0)
            try $0.set(clock(4), of: key(1))
        }
        try check(counts(), equals: [0, 2])
        try check(all(), equals: [1: clock(4), 2: clock(3)])
        try change {
            try $0.set(clock(5), of: key(3))
            try $0.remove(key(1))
            try $0.remove(key(3))
        }
        try check(counts(), equals: [0, 1])
        try check(all(), equals: [2: clock(3)])
    }

    @Test func `a clock is claimed only for a row that has none in either table`() throws {
        try change {
            try check($0.claim(clock(1), of: key(1)))
            try check(!$0.claim(clock(2), of: key(1)))
            try $0.moveRecent(keeping: 0)
            try check(!$0.claim(clock(2), of: key(1)))
            try check($0.claim(clock(2), of: key(2)))
        }
        try check(counts(), equals: [1, 1])
        try check(all(), equals: [1: clock(1), 2: clock(2)])
    }

    @Test func `all clocks are passed in the order of their keys, and can be changed`() throws {
        try change { clocks in
            for number in stride(from: 99, through: 1, by: -2) {
                try clocks.set(clock(1), of: key(number))
            }
            try clocks.moveRecent(keeping: 10)
            for number in stride(from: 98, through: 0, by: -2) {
                try clocks.set(clock(1), of: key(number))
            }
        }
        try check(counts(), equals: [50, 50])
        var passed: [SQLiteValue] = []
        try change { clocks in
            try clocks.forEach { key, _ in
                passed.append(key[0])
                if passed.count % 2 == 0 {
                    try clocks.remove(key)
                } else {
                    try clocks.set(clock(2), of: key)
                }
            }
        }
        check(passed, equals: (0..<100).map { .integer($0) })
        let left = stride(from: 0, to: 100, by: 2).map { ($0, clock(2)) }
        try check(all(), equals: Dictionary(uniqueKeysWithValues: left))
    }

    @Test func `keys that are equal to the engine have one clock, with the newer key`() throws {
        for isSettled in [false, true] {
            try change {
                try $0.set(clock(1), of: [.integer(1), .integer(2)])
                if isSettled { try $0.moveRecent(keeping: 0) }
                try $0.set(clock(2), of: [.integer(1), .real(2)])
            }
            var passed: [[SQLiteValue]] = []
            try change { try $0.forEach { key, _ in passed.append(key) } }
            check(passed, equals: [[.integer(1), .real(2)]])
            try change { try $0.remove([.integer(1), .integer(2)]) }
            try check(counts(), equals: [0, 0])
        }
    }

    @Test func `a file with one table of clocks gets the other one`() throws {
        try change {
            try $0.set(clock(1), of: key(1))
            try $0.moveRecent(keeping: 0)
        }
        try file.run("DROP TABLE \(shape.recentClockTable)")
        try file.install()
        try change { try $0.set(clock(2), of: key(2)) }
        try check(all(), equals: [1: clock(1), 2: clock(2)])
    }

    @Test func `many new rows of others leave few clocks in the small table`() throws {
        let changes = (0..<20).map { number in
            RowChange(
                table: "pair", key: key(number),
                incarnation: .init(timestamp: clock(9).incarnation, isAlive: true),
                columnGroups: [
                    .init(columns: ["c"], values: [.null], timestamp: clock(9).incarnation)
                ])
        }
        try file.write {
            for change in changes { _ = try file.capture.apply([change], in: file.db) }
        }
        try check(counts().map { $0 ?? -1 }.reduce(0, +), equals: 20)
        try check(counts()[0] ?? 99 <= file.capture.recentClockLimit)
    }
}
