internal import Crypto
internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The objects of a generation that make up a state, from the snapshot on.
struct MirrorChain: Sendable {
    private let names: MirrorNames
    private let store: any SyncObjectStore
    private let key: SymmetricKey
    private let generation: UInt64
    private let manifest: MirrorObject.Read
    private let point: DatabaseMirror.Point

    /// Finds the newest generation that was complete at a time.
    ///
    /// - Throws: `.noMirror`, `.damaged`.
    static func find(
        _ names: MirrorNames, in store: any SyncObjectStore, at point: DatabaseMirror.Point,
        _ key: DatabaseKey, _ cipher: CipherConfiguration
    ) async throws -> MirrorChain {
        var keys: PageKeys?
        for entry in try await store.listAll(names.generations).reversed() {
            guard let generation = MirrorNames.number(in: entry.name) else { continue }
            let name = names.manifest(of: generation)
            guard let bytes = try await store.read(name) else { continue }
            let header = try MirrorObject.header(of: bytes, named: name)
            guard point.includes(header.time) else { continue }
            if keys?.salt != header.salt {
                keys = try await onOwnThread { try PageKeys(key, salt: header.salt, cipher) }
            }
            guard let macKey = keys?.key(for: MirrorWriter.purpose) else { continue }
            return MirrorChain(
                names: names, store: store, key: macKey, generation: generation,
                manifest: try MirrorObject.open(bytes, named: name, macKey), point: point)
        }
        throw SyncError.noMirror(names.mirror)
    }

    /// Writes the state, page by page.
    func write(to file: PageFile) async throws -> DatabaseMirror.Restoration {
        let snapshot = try await writeSnapshot(to: file)
        var last = snapshot.last
        // With the beginning and the manifest.
        var count = snapshot.partCount + 2
        guard last == manifest.object.previous else {
            throw SyncError.damaged(
                names.manifest(of: generation), "a part of the snapshot is missing or another one")
        }
        last = manifest.mac
        var state = manifest.object
        // The objects of a commit that is not known to be complete.
        var held: [MirrorObject.Read] = []
        var next: UInt64 = 1
        for entry in try await store.listAll(names.log(generation)) {
            guard let numbers = MirrorNames.numbers(in: entry.name) else { continue }
            guard numbers.lowerBound == next, let bytes = try await store.read(entry.name) else {
                throw SyncError.damaged(entry.name, "the object before it is missing")
            }
            // Not checked: a store that ends the log too early hides objects, as it can anyway.
            if try MirrorObject.header(of: bytes, named: entry.name).kind == .end { break }
            let read = try MirrorObject.open(bytes, named: entry.name, key)
            count += 1
            guard read.object.kind == .segment, read.object.generation == generation,
                read.object.numbers == numbers, read.object.previous == last
            else { throw SyncError.damaged(entry.name, "it does not follow the one before it") }
            guard point.includes(read.object.time) else { break }
            (last, next) = (read.mac, numbers.upperBound + 1)
            if read.object.beginsCommit { held = [] }
            held.append(read)
            guard read.object.endsCommit else { continue }
            for read in held { try await write(read, to: file) }
            held = []
            state = read.object
        }
        let pageCount = Int(state.pageCount)
        try await onOwnThread { try file.truncate(pages: pageCount) }
        return DatabaseMirror.Restoration(
            date: Date(timeIntervalSince1970: Double(state.time) / 1000), pageCount: pageCount,
            objectCount: count)
    }

    /// Writes the snapshot, and returns the MAC of its last part and the number of parts.
    private func writeSnapshot(
        to file: PageFile
    ) async throws -> (last: [UInt8], partCount: Int) {
        let recordName = names.generation(generation)
        guard let bytes = try await store.read(recordName) else {
            throw SyncError.damaged(recordName, "it is missing")
        }
        let record = try MirrorObject.open(bytes, named: recordName, key)
        guard record.object.kind == .generation, record.object.generation == generation else {
            throw SyncError.damaged(recordName, "it is another object")
        }
        var last = record.mac
        var next: UInt64 = 1
        var partCount = 0
        while next <= UInt64(manifest.object.pageCount) {
            let name = names.part(next, of: generation)
            guard let bytes = try await store.read(name) else {
                throw SyncError.damaged(name, "it is missing")
            }
            let part = try MirrorObject.open(bytes, named: name, key)
            guard part.object.kind == .part, part.object.generation == generation,
                part.object.numbers.lowerBound == next, part.object.previous == last
            else { throw SyncError.damaged(name, "it does not follow the one before it") }
            try await write(part, to: file)
            last = part.mac
            next = part.object.numbers.upperBound + 1
            partCount += 1
        }
        return (last, partCount)
    }

    private func write(_ read: MirrorObject.Read, to file: PageFile) async throws {
        try await onOwnThread {
            let size = Int(read.object.pageSize)
            for (index, page) in read.object.pages.enumerated() {
                let start = read.content.startIndex + index * size
                try file.write(read.content[start..<(start + size)], page: page)
            }
        }
    }
}

extension DatabaseMirror.Point {
    func includes(_ time: UInt64) -> Bool {
        switch self {
        case .latest: true
        case .date(let date): Double(time) <= date.timeIntervalSince1970 * 1000
        }
    }
}
