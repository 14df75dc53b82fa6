import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct SealedStreamTests {
    private let key: DataEncryptionKey
    private static let chunk = SealedStream.chunkLength
    private static let header = 4 + 1 + 1 + 4 + 16

    init() throws { key = try .random(name: "data") }

    @Test(arguments: [
        0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 5 * chunk + 77,
    ])
    func `a stream round-trips whatever the sizes of its parts`(_ count: Int) throws {
        let data = Self.data(count)
        for part in [1 << 20, 10_007, 65_536] {
            let sealed = try seal(data, parts: part)
            check(
                sealed.count, equals: Self.header + count + 16 * max(1, (count + 65_535) / 65_536))
            try check(open(sealed, parts: part == 10_007 ? 777 : .max), equals: data)
        }
    }

    @Test func `two streams of the same data share only the start of the header`() throws {
        let (one, two) = try (seal(Self.data(100)), seal(Self.data(100)))
        check(one.prefix(10), equals: two.prefix(10))
        check(one.dropFirst(10).prefix(16) != two.dropFirst(10).prefix(16))
        check(one.suffix(100) != two.suffix(100))
    }

    @Test func `a stream truncated anywhere is an error`() throws {
        let sealed = try seal(Self.data(2 * Self.chunk + 100))
        let borders = [0, 1, 2].flatMap { chunk in
            (-17...17).map { Self.header + chunk * SealedStream.sealedChunkLength + $0 }
        }
        for count in borders + [0, 1, 5, 6, 10, sealed.count - 1, sealed.count - 16] {
            guard count >= 0, count < sealed.count else { continue }
            check(isDamage(envelopeError { _ = try open(sealed.prefix(count)) }), "\(count)")
        }
    }

    @Test func `swapped, repeated, missing and added chunks are errors`() throws {
        let sealed = try seal(Self.data(4 * Self.chunk + 10))
        let header = sealed.prefix(Self.header)
        let length = SealedStream.sealedChunkLength
        let chunks = stride(from: Self.header, to: sealed.count, by: length).map {
            sealed[$0..<min($0 + length, sealed.count)]
        }
        check(chunks.count, equals: 5)
        try check(open(header + chunks.joined()).count, equals: 4 * Self.chunk + 10)
        for order in [
            [1, 0, 2, 3, 4], [0, 1, 3, 2, 4], [0, 1, 2, 4], [1, 2, 3, 4], [0, 1, 2, 3],
            [0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4], [0, 1, 2, 3, 3, 4], [4], [0, 1, 2, 3, 4, 0], [],
        ] {
            let moved = header + Data(order.map { chunks[$0] }.joined())
            check(isDamage(envelopeError { _ = try open(moved) }), "\(order)")
        }
        for extra in [Data([0]), Data(repeating: 0, count: 16), sealed, header] {
            check(isDamage(envelopeError { _ = try open(sealed + extra) }))
        }
        // Chunks of another stream with the same key.
        let other = try seal(Self.data(4 * Self.chunk + 10))
        let mixed = sealed.prefix(Self.header + length) + other.dropFirst(Self.header + length)
        check(isDamage(envelopeError { _ = try open(mixed) }))
        check(
            isDamage(
                envelopeError { _ = try open(header + other.dropFirst(Self.header)) }))
    }

    @Test func `an empty last chunk after a full one is not a second valid encoding`() throws {
        let salt = RandomBytes.make(16)
        let header = SealedStream.header(keyName: "data", salt: salt)
        let cipher = try SealedStreamCipher(key, header: header, salt: salt, context: Data())
        var sealed = Data(header)
        sealed.append(try cipher.seal(Self.data(Self.chunk), isLast: false))
        sealed.append(try cipher.seal(Data(), isLast: true))
        #expect(
            throws: EnvelopeError.notAuthentic(reason: "the last chunk of the stream is empty")
        ) { try open(sealed) }
    }

    @Test func `another key, key name or context does not open a stream`() throws {
        let sealed = try seal(Self.data(10), context: Data("backup 7".utf8))
        try check(open(sealed, context: Data("backup 7".utf8)), equals: Self.data(10))
        for context in ["backup 8", "", "backup 7 "] {
            check(isDamage(envelopeError { _ = try open(sealed, context: Data(context.utf8)) }))
        }
        let other = try DataEncryptionKey.random(name: "data")
        check(
            isDamage(
                envelopeError {
                    _ = try open(sealed, context: Data("backup 7".utf8), with: other)
                }))
        let renamed = try DataEncryptionKey(name: "other", bytes: key.material.secret())
        #expect(throws: EnvelopeError.wrongKey(name: "data")) { try open(sealed, with: renamed) }
    }

    @Test func `each bit of the header counts`() throws {
        let sealed = try seal(Self.data(10))
        for bit in 0..<(Self.header * 8) {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            check(isDamage(envelopeError { _ = try open(changed) }), "bit \(bit)")
        }
    }

    @Test(arguments: [0, 2, 255] as [UInt8])
    func `a stream of another version is named by it`(_ version: UInt8) throws {
        var sealed = try seal(Self.data(10))
        sealed[4] = version
        #expect(throws: EnvelopeError.unsupportedVersion(Int(version))) { try open(sealed) }
    }

    @Test(arguments: 0..<4)
    func `an input that returns more than was requested is an error`(_ call: Int) throws {
        let sealed = try seal(Self.data(3 * Self.chunk))
        let source = SealedBytes.source(sealed)
        var calls = 0
        #expect(
            throws: EnvelopeError.damaged(reason: "the input returned more bytes than requested")
        ) {
            let reader = try SealedStreamReader(with: key) { count in
                defer { calls += 1 }
                return source(calls == call ? count + 1 : count)
            }
            while try reader.read() != nil {}
        }
    }

    @Test func `a stream is over after its end and after an error`() throws {
        var sealed = Data()
        let writer = try SealedStreamWriter(with: key) { sealed.append($0) }
        try writer.write(Data([1]))
        try writer.finish()
        #expect(throws: EnvelopeError.streamEnded) { try writer.write(Data([1])) }
        #expect(throws: EnvelopeError.streamEnded) { try writer.finish() }

        var writes = 0
        let full = try SealedStreamWriter(with: key) { _ in
            writes += 1
            if writes == 2 { throw CocoaError(.fileWriteOutOfSpace) }
        }
        #expect(throws: CocoaError.self) { try full.write(Self.data(2 * Self.chunk)) }
        #expect(throws: EnvelopeError.streamEnded) { try full.finish() }

        sealed[sealed.count - 1] ^= 1
        let reader = try SealedStreamReader(with: key, from: SealedBytes.source(sealed))
        check(isDamage(envelopeError { _ = try reader.read() }))
        #expect(throws: EnvelopeError.streamEnded) { try reader.read() }
        sealed[sealed.count - 1] ^= 1
        let good = try SealedStreamReader(with: key, from: SealedBytes.source(sealed))
        check(good.keyName, equals: "data")
        try check(good.read(), equals: Data([1]))
        try check(good.read() == nil)
        try check(good.read() == nil)
    }

    @Test func `files are sealed and opened, and the key may be cleared once a stream has begun`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "SecureKeysTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let data = Self.data(3 * Self.chunk + 5)
        func handle(_ name: String, writing: Bool) throws -> FileHandle {
            let url = folder.appendingPathComponent(name)
            guard writing else { return try FileHandle(forReadingFrom: url) }
            try Data().write(to: url)
            return try FileHandle(forWritingTo: url)
        }
        try data.write(to: folder.appendingPathComponent("plain"))
        try SealedStream.seal(
            handle("plain", writing: false), to: handle("sealed", writing: true), with: key)
        try SealedStream.open(
            handle("sealed", writing: false), to: handle("opened", writing: true), with: key)
        try check(Data(contentsOf: folder.appendingPathComponent("opened")), equals: data)
        let sealed = try Data(contentsOf: folder.appendingPathComponent("sealed"))
        check(sealed.range(of: data.prefix(32)) == nil)
        let reader = try SealedStreamReader(with: key, from: SealedBytes.source(sealed))
        key.clear()
        var read = Data()
        while let part = try reader.read() { read.append(part) }
        check(read, equals: data)
    }

    // MARK: -

    private func seal(_ data: Data, parts: Int = .max, context: Data = Data()) throws -> Data {
        var sealed = Data()
        let writer = try SealedStreamWriter(with: key, context: context) { sealed.append($0) }
        var rest = data[...]
        while !rest.isEmpty {
            try writer.write(rest.prefix(parts))
            rest = rest.dropFirst(parts)
        }
        try writer.finish()
        return sealed
    }

    private func open(
        _ sealed: Data, parts: Int = .max, context: Data = Data(),
        with other: DataEncryptionKey? = nil
    ) throws -> Data {
        var opened = Data()
        let reader = try SealedStreamReader(
            with: other ?? key, context: context, from: SealedBytes.source(sealed, parts: parts))
        while let part = try reader.read() {
            check(part.count <= Self.chunk)
            opened.append(part)
        }
        return opened
    }

    static func data(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: ($0 >> 8) ^ ($0 &* 7)) })
    }
}
