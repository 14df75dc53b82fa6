internal import Foundation
internal import SecureStoragePlatform

/// The first bytes of a backup, which can be read without a key; the stream that follows
/// authenticates them.
struct VaultBackupHeader {
    static let magic: StaticString = "SSVB"
    static let version: UInt8 = 1
    /// The name of the backup's key, in its set and its stream, and of the derived key that wraps
    /// others.
    static let keyName = "vault backup"
    static let mostKeys = 64
    static let longestNote = 4096
    static let longestDeviceName = 255
    /// The length of magic, version and header length, which every version has.
    static let beginLength = 9
    static let lengths = 128...(1 << 20)

    let metadata: VaultBackupMetadata
    let keySet: WrappedKeySet
    let keys: [Key]
    /// The complete header, as stored in the file.
    let bytes: Data

    enum Key {
        case key(WrappedKey)
        case set(WrappedKeySet)

        var name: String {
            switch self {
            case .key(let key): key.dataKeyName
            case .set(let set): set.dataKeyName
            }
        }
    }

    init(
        identity: VaultIdentity, createdAt: Date, databaseSize: UInt64, label: VaultBackupLabel,
        keySet: WrappedKeySet, keys: [Key]
    ) throws {
        let milliseconds = Int64(
            max(-4e15, min(4e15, (createdAt.timeIntervalSince1970 * 1000).rounded(.down))))
        var body = ByteWriter(capacity: 1024)
        withUnsafeBytes(of: identity.id.uuid) { body.raw($0) }
        body.integer(identity.generation)
        body.integer(milliseconds)
        body.integer(databaseSize)
        for text in [label.deviceName, label.note] {
            body.integer(UInt16(truncatingIfNeeded: text.utf8.count))
            body.raw(text.utf8)
        }
        let set = keySet.bytes
        body.integer(UInt16(truncatingIfNeeded: set.count))
        body.raw(set)
        body.byte(UInt8(truncatingIfNeeded: keys.count))
        for key in keys {
            let (kind, bytes): (UInt8, Data) =
                switch key {
                case .key(let key): (0, key.bytes)
                case .set(let set): (1, set.bytes)
                }
            body.byte(kind)
            body.integer(UInt16(truncatingIfNeeded: bytes.count))
            body.raw(bytes)
        }
        let length = Self.beginLength + body.bytes.count + RecordFrame.checksumLength
        guard Self.lengths.contains(length) else {
            throw VaultBackupError.unacceptableContents(
                reason: "its header has \(length) bytes; the limit is 1 MiB")
        }
        var writer = RecordFrame.begin(Self.magic, version: Self.version)
        writer.integer(UInt32(truncatingIfNeeded: length))
        writer.raw(body.bytes)
        // Parse the bytes again, so that properties and bytes cannot differ.
        try self.init(bytes: RecordFrame.end(writer))
    }

    /// - Throws: `EnvelopeError`, for any bytes that were not written as above.
    init(bytes: Data) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: Self.version, lengths: Self.lengths)
        func damaged(_ reason: String) -> EnvelopeError { .damaged(reason: reason) }
        guard try reader.integer(UInt32.self) == bytes.count else {
            throw damaged("the length of its header differs from the recorded one")
        }
        let id = try reader.take(16)
        let generation = try reader.integer(UInt64.self)
        let milliseconds = Int64(bitPattern: try reader.integer(UInt64.self))
        let size = try reader.integer(UInt64.self)
        func text(_ longest: Int) throws -> String {
            let bytes = try reader.take(Int(reader.integer(UInt16.self)))
            let text = String(decoding: bytes, as: UTF8.self)
            guard bytes.count <= longest, text.utf8.elementsEqual(bytes) else {
                throw damaged("a text is too long or not valid UTF-8")
            }
            return text
        }
        let deviceName = try text(Self.longestDeviceName)
        let note = try text(Self.longestNote)
        keySet = try WrappedKeySet(
            bytes: Data(try reader.take(Int(reader.integer(UInt16.self)))))
        guard keySet.dataKeyName == Self.keyName else {
            throw damaged("its key has a wrong name")
        }
        let count = Int(try reader.byte())
        guard count <= Self.mostKeys else { throw damaged("\(count) data keys") }
        var keys: [Key] = []
        for _ in 0..<count {
            let kind = try reader.byte()
            let bytes = Data(try reader.take(Int(reader.integer(UInt16.self))))
            switch kind {
            case 0: keys.append(.key(try WrappedKey(bytes: bytes)))
            case 1: keys.append(.set(try WrappedKeySet(bytes: bytes)))
            default: throw damaged("data key kind \(kind) is unknown")
            }
        }
        try reader.expectEnd()
        self.keys = keys
        self.bytes = bytes
        metadata = VaultBackupMetadata(
            vaultID: UUID(id), generation: generation,
            createdAt: Date(timeIntervalSince1970: Double(milliseconds) / 1000),
            databaseSize: size, label: VaultBackupLabel(deviceName: deviceName, note: note),
            dataKeyNames: keys.map(\.name))
        try checkCosts()
    }

    /// Checks every password that may have to be derived, before any is, so that a received file
    /// cannot demand more than twice the default's work, and with it twice its memory, 256 MiB.
    private func checkCosts() throws {
        var records = keySet.records
        for key in keys {
            switch key {
            case .key(let key): records.append(key)
            case .set(let set): records += set.records
            }
        }
        for parameters in records.lazy.compactMap(\.origin.scryptParameters)
        where parameters.isWorkMoreThanTwiceTheDefault {
            throw EnvelopeError.unacceptableParameters(
                reason: "\(parameters) costs more than a backup may require: 256 MiB and twice "
                    + "the work of the default")
        }
    }
}

extension ScryptParameters {
    fileprivate var isWorkMoreThanTwiceTheDefault: Bool {
        let most = 2 * Self.default.cost * Self.default.blockSize * Self.default.parallelism
        return cost * blockSize * parallelism > most
    }
}

extension UUID {
    /// Creates a UUID from 16 bytes.
    init(_ bytes: some Sequence<UInt8>) {
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { target in
            for (index, byte) in zip(target.indices, bytes) { target[index] = byte }
        }
        self.init(uuid: uuid)
    }
}
