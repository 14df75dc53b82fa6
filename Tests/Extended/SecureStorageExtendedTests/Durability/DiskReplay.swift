import FaultyDisk
import Foundation
import TestSupport
@testable import SecureStorageTests

/// The possible contents of a disk after a power cut, from a record of the operations on it.
///
/// Synced data is present. Unsynced data may be present, absent or partial, sector by sector and in
/// any order. Names appear and disappear in order, up to any point.
struct DiskReplay {
    /// A file by its identity: a name that is removed and recreated is another file.
    private struct File {
        var durable = Data()
        var pending: [Change] = []
        var content: Data { pending.reduce(into: durable) { $1.apply(to: &$0) } }

        mutating func sync(writtenBefore number: Int) {
            for change in pending.prefix(while: { $0.number < number }) {
                change.apply(to: &durable)
            }
            pending.removeAll { $0.number < number }
        }
    }

    private struct Change {
        /// Where bytes are written, or the length to which the file is cut.
        let offset: Int
        let bytes: Data?
        /// The number of the event.
        let number: Int

        func apply(to data: inout Data) {
            if let bytes {
                if data.count < offset { data.append(Data(count: offset - data.count)) }
                let end = min(offset + bytes.count, data.count)
                data.replaceSubrange(offset..<end, with: bytes)
            } else if offset < data.count {
                data = data.prefix(offset)
            } else {
                data.append(Data(count: offset - data.count))
            }
        }

        /// Returns a random choice of the 512-byte sectors, those that reach the disk.
        func torn(_ random: inout SplitMix64) -> [Change] {
            guard bytes != nil else { return Bool.random(using: &random) ? [self] : [] }
            return parts(of: 512) { _ in Bool.random(using: &random) }
        }

        /// Returns the parts of a write in those units of `size` bytes that `isKept` chooses by
        /// their numbers; a cut is kept.
        func parts(of size: Int, where isKept: (Int) -> Bool) -> [Change] {
            guard let bytes else { return [self] }
            var kept: [Change] = []
            var start = 0
            while start < bytes.count {
                let end = min(start + size - (offset + start) % size, bytes.count)
                if isKept((offset + start) / size) {
                    kept.append(
                        Change(
                            offset: offset + start,
                            bytes: bytes.subdata(in: start..<end), number: number))
                }
                start = end
            }
            return kept
        }
    }

    private enum Naming {
        case appears(String, Int)
        case disappears(String)
    }

    private var files: [Int: File] = [:]
    private var nextFile = 0
    /// The directory as processes see it, and as it is on the disk.
    private var names: [String: Int] = [:]
    private var durableNames: [String: Int] = [:]
    private var pendingNames: [Naming] = []

    /// - Parameter files: The content of the disk at the beginning.
    init(files: [String: Data]) {
        for (name, content) in files {
            self.files[nextFile] = File(durable: content)
            names[name] = nextFile
            nextFile += 1
        }
        durableNames = names
    }

    private var nextEvent = 0

    mutating func play(_ event: faulty_disk_event) {
        defer { nextEvent += 1 }
        guard let path = event.path else { return }
        let name = URL(fileURLWithPath: String(cString: path)).lastPathComponent
        switch event.kind {
        case faulty_disk_create:
            files[nextFile] = File()
            names[name] = nextFile
            pendingNames.append(.appears(name, nextFile))
            nextFile += 1
        case faulty_disk_write, faulty_disk_cut:
            guard let file = names[name] else { return }
            let bytes = event.bytes.map { Data(bytes: $0, count: event.count) }
            files[file]?.pending.append(
                Change(offset: Int(event.offset), bytes: bytes, number: nextEvent))
        case faulty_disk_sync:
            guard let file = names[name] else { return }
            files[file]?.sync(writtenBefore: Int(event.offset))
            // The sync also makes a new file's name durable, and all earlier changes of the
            // directory.
            if let last = pendingNames.lastIndex(where: {
                if case .appears(_, file) = $0 { true } else { false }
            }) {
                for naming in pendingNames[...last] { Self.apply(naming, to: &durableNames) }
                pendingNames.removeSubrange(...last)
            }
        case faulty_disk_remove:
            names[name] = nil
            pendingNames.append(.disappears(name))
            if event.is_durable != 0 {
                for naming in pendingNames { Self.apply(naming, to: &durableNames) }
                pendingNames = []
            }
        default:
            break
        }
    }

    private static func apply(_ naming: Naming, to names: inout [String: Int]) {
        switch naming {
        case .appears(let name, let file): names[name] = file
        case .disappears(let name): names[name] = nil
        }
    }

    /// The state with every operation: the process died, but not the system.
    var everything: [String: Data] { names.mapValues { files[$0]?.content ?? Data() } }

    /// The state with only what was synced.
    var syncedOnly: [String: Data] { durableNames.mapValues { files[$0]?.durable ?? Data() } }

    /// Returns a random state between the two.
    func something(_ random: inout SplitMix64) -> [String: Data] {
        var names = durableNames
        for naming in pendingNames.prefix(Int.random(in: 0...pendingNames.count, using: &random)) {
            Self.apply(naming, to: &names)
        }
        // Some files are complete, so that states with a single late file occur.
        return names.mapValues { number in
            guard let file = files[number] else { return Data() }
            switch Int.random(in: 0...4, using: &random) {
            case 0: return file.durable
            case 1: return file.content
            case 2:
                // Most pages of the system's cache, in any order, each with all writes to it.
                var isWritten: [Int: Bool] = [:]
                return file.pending.flatMap { change in
                    change.parts(of: 4096) { page in
                        let known = isWritten[page] ?? (Int.random(in: 0...4, using: &random) > 0)
                        isWritten[page] = known
                        return known
                    }
                }
                .reduce(into: file.durable) { $1.apply(to: &$0) }
            default:
                return file.pending.flatMap { $0.torn(&random) }
                    .reduce(into: file.durable) { $1.apply(to: &$0) }
            }
        }
    }
}

/// What the disk has recorded since `faulty_disk_record()`.
func recordedEvents() -> [faulty_disk_event] {
    (0..<faulty_disk_stop()).map { faulty_disk_event_at($0) }
}

/// The number of recorded syncs of a write-ahead log.
func recordedLogSyncs() -> Int {
    recordedEvents().count { event in
        event.kind == faulty_disk_sync
            && event.path.map { String(cString: $0).hasSuffix("-wal") } == true
    }
}
