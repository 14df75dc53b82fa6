import Foundation
import TestSupport
import Testing

@testable import SecureStorage

/// Which frames of a log count, as SQLite's file format has it.
struct WriteAheadLogTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private static let pageSize = 512

    /// A frame to write: its page, and the pages of the database if it is a commit's last one.
    private struct Frame {
        var page: UInt32
        var pages: UInt32 = 0
        var salt: UInt8 = 7
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) }
    }

    /// Returns a log with the right checksums.
    private static func log(_ frames: [Frame], magic: UInt32 = 0x377f_0682) -> [UInt8] {
        var log = bytes(magic) + bytes(3_007_000) + bytes(UInt32(pageSize)) + bytes(0)
        log += [UInt8](repeating: 7, count: 8) + bytes(0) + bytes(0)
        for (index, frame) in frames.enumerated() {
            log += bytes(frame.page) + bytes(frame.pages)
            log += [UInt8](repeating: frame.salt, count: 8) + bytes(0) + bytes(0)
            log += (0..<pageSize).map { UInt8(truncatingIfNeeded: $0 * 3 + index) }
        }
        LogChecksums.repair(&log, pageSize: pageSize)
        return log
    }

    private func read(_ log: [UInt8], pageSize: Int = pageSize) throws -> WriteAheadLog {
        let path = database.path + "-wal"
        try Data(log).write(to: URL(fileURLWithPath: path))
        return try WriteAheadLog(RawFile(path), pageSize: pageSize)
    }

    private static func offset(_ frame: Int) -> Int { 32 + frame * (24 + pageSize) + 24 }

    @Test func `of each page the newest version counts that a commit ends`() throws {
        let frames = [
            Frame(page: 1), Frame(page: 2, pages: 2), Frame(page: 2), Frame(page: 3, pages: 3),
            Frame(page: 3), Frame(page: 9),
        ]
        let log = try read(Self.log(frames))
        let offsets: [UInt32: Int] = [1: Self.offset(0), 2: Self.offset(2), 3: Self.offset(3)]
        check(log.offsets, equals: offsets)
        check(log.pageCount, equals: 3)
        check(log.committedFrames, equals: 4)
        check(log.wholeFrames, equals: 6)
        let uncommitted = try read(Self.log([Frame(page: 1), Frame(page: 2)]))
        check(uncommitted.offsets.isEmpty && uncommitted.pageCount == nil)
        check(uncommitted.wholeFrames, equals: 2)
    }

    @Test func `a log ends before a frame that is not its own, or not as it was written`() throws {
        let commit = Frame(page: 1, pages: 1)
        let whole = [commit, commit, commit]
        func wholeFrames(_ log: [UInt8]) throws -> Int { try read(log).wholeFrames }
        try check(wholeFrames(Self.log(whole)), equals: 3)
        try check(wholeFrames(Self.log([commit, Frame(page: 1, pages: 1, salt: 8)])), equals: 1)
        try check(wholeFrames(Self.log([commit, Frame(page: 0, pages: 1), commit])), equals: 1)
        let start = 32 + 24 + Self.pageSize
        for offset in [0, 7, 8, 15, 16, 23, 24, 23 + Self.pageSize] {
            var log = Self.log(whole)
            log[start + offset] ^= 1
            try check(wholeFrames(log), equals: 1, "byte \(offset)")
        }
        for missing in [1, Self.pageSize, Self.pageSize + 23] {
            try check(wholeFrames(Self.log(whole).dropLast(missing)), equals: 2)
        }
    }

    @Test func `nothing of a log counts whose header is not as it was written`() throws {
        let log = Self.log([Frame(page: 1, pages: 1)])
        for offset in 0..<32 {
            var log = log
            log[offset] ^= 0x10
            let found = try read(log)
            check(found.header == nil && found.pageCount == nil, "byte \(offset)")
        }
        for count in [0, 31, 32] { try check(read(Array(log[..<count])).offsets.isEmpty) }
        try check(read(Array(log[..<31])).header == nil)
        try check(read(Array(log[..<32])).header, equals: Array(log[..<32]))
        // Of a file with pages of another size.
        try check(read(log, pageSize: 1024).header == nil)
    }

    @Test func `what follows the last whole frame is told from what an earlier use has left`()
        throws
    {
        let commit = Frame(page: 1, pages: 1)
        let earlier = Frame(page: 1, pages: 1, salt: 6)
        func isFollowed(_ log: [UInt8]) throws -> Bool {
            let found = try read(log)
            return try found.isFollowed(
                in: RawFile(database.path + "-wal"), pageSize: Self.pageSize)
        }
        try check(!isFollowed(Self.log([commit])))
        try check(!isFollowed(Self.log([commit, earlier])))
        var log = Self.log([commit, commit, commit])
        log[Self.offset(1)] ^= 1
        try check(isFollowed(log))
        try check(!isFollowed(Array(log[..<(Self.offset(1) + 100)])))
        // Behind an earlier one.
        try check(isFollowed(Self.log([commit, earlier, commit])))
        log[0] ^= 0x10
        try check(isFollowed(log))
        try check(!isFollowed(Array(log[..<(Self.offset(0) + 100)])))
    }

    // MARK: - As the engine reads it

    /// Returns a copy of a file with a row in its log, changed.
    private func crashed(_ change: (inout [UInt8]) -> Void) throws -> TemporaryDatabase {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        try db.checkpoint()
        try db.executeUpdate("INSERT INTO t VALUES ('in the log')")
        let copy = try database.copiedFiles()
        let url = URL(fileURLWithPath: copy.path + "-wal")
        var log = [UInt8](try Data(contentsOf: url))
        change(&log)
        LogChecksums.repair(&log, pageSize: 4096)
        try Data(log).write(to: url)
        return copy
    }

    private func rows(_ database: TemporaryDatabase) throws -> [String?] {
        let db = try database.openStore()
        defer { db.close() }
        return try db.strings("SELECT x FROM t")
    }

    @Test(arguments: [0x82, 0x83] as [UInt8])
    func `a log with checksums of either byte order is read, as the engine does`(_ magic: UInt8)
        throws
    {
        let copy = try crashed { $0[3] = magic }
        let log = try WriteAheadLog(RawFile(copy.path + "-wal"), pageSize: 4096)
        check(log.committedFrames > 0)
        check(log.pageCount, equals: 2)
        check(log.offsets[2] != nil)
        try check(rows(copy), equals: ["in the log"])
    }

    @Test(
        arguments: [
            (0, 0x01), (0, 0x80), (1, 0x01), (1, 0x80), (2, 0x01), (2, 0x80), (3, 0x02), (3, 0x04),
            (3, 0x80),
        ] as [(Int, UInt8)])
    func `a log that does not begin like one is not read, as the engine does`(
        _ byte: Int, _ bit: UInt8
    ) throws {
        let copy = try crashed { $0[byte] ^= bit }
        let log = try WriteAheadLog(RawFile(copy.path + "-wal"), pageSize: 4096)
        check(log.header == nil && log.offsets.isEmpty)
        try check(rows(copy), equals: [])
    }
}
