internal import Crypto
internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// An object of a mirror: a header, pages as the database stores them, and a MAC over both.
///
/// The layout is in `Docs/FileFormats.md`; numbers are big-endian. The MAC's key is derived from
/// the database's. Each object names the MAC of the one before it, so that objects cannot be left
/// out, swapped or mixed with those of another generation.
struct MirrorObject: Sendable {
    enum Kind: UInt8, Sendable {
        /// Begins a generation.
        case generation = 1
        /// Pages of the snapshot.
        case part
        /// Makes a generation one that can be restored.
        case manifest
        /// Pages that commits have changed, each in its newest version.
        case segment
        /// Ends a generation, so that whoever still writes to it notices. Its MAC is a checksum
        /// only, since it may be another key's holder that ends it.
        case end
        /// Stands for a generation that was thinned out: a later one names it.
        case thinned
    }

    var kind: Kind
    /// Whether it is the first of the objects whose contents were committed together.
    var beginsCommit = false
    /// Whether it is the last one: only then the state may be restored.
    var endsCommit = false
    /// Whether it is a segment of a generation that had its manifest.
    var followsManifest = false
    var generation: UInt64
    /// The first and the last number that it stands for.
    var numbers: ClosedRange<UInt64>
    /// Milliseconds since 1970.
    var time: UInt64
    /// The number of pages of the database after it.
    var pageCount: UInt32 = 0
    var pageSize: UInt32
    /// Where the log was read to; for a segment that does not end a commit, before that commit.
    var position: LogPosition?
    /// The MAC of the object before it.
    var previous: [UInt8]
    /// The MAC of the last one of the segments that this one was merged of; zeros if it was not.
    ///
    /// In a manifest, that of the last segment of `follows`, if it could be read.
    var merged: [UInt8] = Self.noMAC
    /// The file's salt.
    var salt: [UInt8]
    /// In a manifest, the generation that was the newest complete one before; 0 if there was none.
    var follows: UInt64 = 0
    /// The numbers of the pages that follow; for a manifest, none.
    var pages: [UInt32] = []

    static let version: UInt16 = 1
    static let macLength = 32
    static let headerLength = 168
    /// Bytes of an object without pages.
    static let emptyLength = headerLength + macLength
    static let magic = Array("SSMIRROR".utf8)
    static let noMAC = [UInt8](repeating: 0, count: macLength)

    /// Bytes that make an object unlike any other.
    static func randomMAC() -> [UInt8] {
        (0..<macLength).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// The key of ends' MACs, which is not secret.
    static let publicKey = SymmetricKey(data: SHA256.hash(data: magic))

    /// Returns the MAC of an object.
    static func mac(of bytes: Data) -> [UInt8] { Array(bytes.suffix(macLength)) }

    // MARK: - Writing

    /// Returns the object with its content and MAC.
    ///
    /// - Parameters:
    ///   - content: The pages.
    ///   - key: The key of the MAC; not used for an end.
    /// - Returns: The bytes to store.
    func sealed(_ content: Data = Data(), _ key: SymmetricKey = publicKey) -> Data {
        var header = ByteWriter(capacity: Self.headerLength + pages.count * 4)
        header.raw(Self.magic)
        header.integer(Self.version)
        header.byte(kind.rawValue)
        header.byte((beginsCommit ? 1 : 0) | (endsCommit ? 2 : 0) | (followsManifest ? 4 : 0))
        header.integer(generation)
        header.integer(numbers.lowerBound)
        header.integer(numbers.upperBound)
        header.integer(time)
        header.integer(pageSize)
        header.integer(pageCount)
        header.integer(UInt32(pages.count))
        header.raw(position?.bytes ?? [UInt8](repeating: 0, count: LogPosition.byteCount))
        header.raw(previous)
        header.raw(merged)
        header.raw(salt)
        header.integer(follows)
        for page in pages { header.integer(page) }
        var bytes = Data(capacity: header.bytes.count + content.count + Self.macLength)
        bytes += header.bytes
        bytes += content
        bytes += Data(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        return bytes
    }

    // MARK: - Reading

    /// An object that was read, with what follows its header.
    struct Read: Sendable {
        var object: MirrorObject
        var content: Data
        var mac: [UInt8]

        /// What the next object of the chain names as the one before it.
        var end: [UInt8] { object.merged == MirrorObject.noMAC ? mac : object.merged }

        /// Whether it holds whole commits only.
        var isWhole: Bool { object.beginsCommit && object.endsCommit }

        /// Returns one page after the other.
        func forEachPage(_ body: (UInt32, Data) throws -> Void) rethrows {
            let size = Int(object.pageSize)
            for (index, page) in object.pages.enumerated() {
                let start = content.startIndex + index * size
                try body(page, content[start..<(start + size)])
            }
        }
    }

    /// Returns the header of an object, whose MAC is not checked: only to find the salt.
    static func header(of bytes: Data, named name: String) throws -> MirrorObject {
        guard bytes.count >= headerLength + macLength, bytes.starts(with: magic) else {
            throw MirrorError.damaged(name, "it is not an object of a mirror")
        }
        func reader(_ bytes: Data) -> ByteReader {
            ByteReader([UInt8](bytes)[...]) { MirrorError.damaged(name, $0) }
        }
        var header = reader(bytes.prefix(headerLength).dropFirst(magic.count))
        guard try header.integer(UInt16.self) == version else {
            throw MirrorError.newerFormat(name)
        }
        let kind = Kind(rawValue: try header.byte())
        let flags = try header.byte()
        let generation = try header.integer(UInt64.self)
        let first = try header.integer(UInt64.self)
        let last = try header.integer(UInt64.self)
        let time = try header.integer(UInt64.self)
        let pageSize = try header.integer(UInt32.self)
        let pageCount = try header.integer(UInt32.self)
        let pagesLength = UInt64(try header.integer(UInt32.self)) * 4
        // The sum before an `Int` of 32 bits would have to hold it.
        guard let kind, first <= last, last <= UInt64(Int64.max), MirrorNames.isValid(generation),
            UInt64(bytes.count) >= UInt64(headerLength + macLength) + pagesLength
        else { throw MirrorError.damaged(name, "its header is not valid") }
        let count = Int(pagesLength) / 4
        var pages = reader(bytes.dropFirst(headerLength).prefix(count * 4))
        return MirrorObject(
            kind: kind, beginsCommit: flags & 1 != 0, endsCommit: flags & 2 != 0,
            followsManifest: flags & 4 != 0, generation: generation, numbers: first...last,
            time: time, pageCount: pageCount, pageSize: pageSize,
            position: LogPosition(Array(try header.take(LogPosition.byteCount))),
            previous: Array(try header.take(macLength)), merged: Array(try header.take(macLength)),
            salt: Array(try header.take(16)), follows: try header.integer(UInt64.self),
            pages: try (0..<count).map { _ in try pages.integer(UInt32.self) })
    }

    /// Checks an object and returns it.
    ///
    /// - Throws: `.damaged`, also for another key.
    static func open(_ bytes: Data, named name: String, _ key: SymmetricKey) throws -> Read {
        let object = try header(of: bytes, named: name)
        let end = bytes.endIndex - macLength
        let mac = bytes[end...]
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                mac, authenticating: bytes[..<end],
                using: object.kind == .end ? publicKey : key)
        else {
            throw MirrorError.damaged(
                name, "it was changed, or belongs to a database with another key")
        }
        let content = bytes[(bytes.startIndex + headerLength + object.pages.count * 4)..<end]
        guard content.count == object.pages.count * Int(object.pageSize), !object.pages.contains(0)
        else { throw MirrorError.damaged(name, "its pages are not complete") }
        return Read(object: object, content: content, mac: Array(mac))
    }
}
