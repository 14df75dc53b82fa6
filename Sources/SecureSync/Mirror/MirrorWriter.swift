internal import Crypto
internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// Ships what a database has committed into a generation of a mirror.
///
/// One call of `ship()` at a time, which `DatabaseMirror` ensures: an actor alone would begin
/// another one while the first waits for the store.
actor MirrorWriter {
    private let database: any SecureDatabaseReader
    private let names: MirrorNames
    private let store: any SyncObjectStore

    /// Whether the log may be emptied without another `ship()`.
    nonisolated let leavesLog = Locked(true)

    private var isProbed = false
    private var session: Session?

    /// A generation that this writer goes on with.
    private struct Session {
        let source: CommittedPages
        let keys: PageKeys
        let key: SymmetricKey
        let generation: UInt64
        /// The number of the next segment.
        var next: UInt64
        /// The MAC of the last object.
        var last: [UInt8]
        /// What could not be shipped whole yet.
        var unfinished: Unfinished?
        /// When a segment was last created, or the generation was last seen to be the newest.
        var lastSeen: ContinuousClock.Instant
    }

    private struct Unfinished {
        let changes: CommittedPages.Changes
        let time: UInt64
        /// Where the changes begin.
        let start: LogPosition
        /// The pages that were shipped.
        var done = 0
        /// The object that was sent last, without an answer.
        var sent: Data?
    }

    /// Pages in an object: 4 MiB of the usual size.
    static func pagesPerObject(_ pageSize: Int) -> Int { max((4 << 20) / pageSize, 1) }

    init(_ database: any SecureDatabaseReader, _ names: MirrorNames, _ store: any SyncObjectStore) {
        self.database = database
        self.names = names
        self.store = store
    }

    /// Ends the read transaction; the next `ship()` begins again.
    func rest() {
        session?.source.end()
        session = nil
        leavesLog.withLock { $0 = true }
    }

    /// Ships everything that was committed before the call.
    ///
    /// - Parameter shipped: Called with the bytes of each object.
    /// - Throws: `SyncError`; the errors of the database.
    func ship(_ shipped: @Sendable (Int) -> Void) async throws {
        do {
            if !isProbed {
                try await store.probe(under: names.mirror + "/")
                isProbed = true
            }
            do {
                try await shipAll(shipped)
            } catch let error as SecureStorageError where error.resultCode == .busySnapshot {
                // The key has changed, or the log was lost: a new snapshot is needed.
                rest()
                try await shipAll(shipped)
            }
        } catch let error as SyncError where error.isTransient {
            throw error
        } catch {
            rest()
            throw error
        }
    }

    private func shipAll(_ shipped: @Sendable (Int) -> Void) async throws {
        if session == nil { try await begin(shipped) }
        leavesLog.withLock { $0 = false }
        while try await shipNext(shipped) {}
        let leaves = session?.source.leavesLog ?? true
        leavesLog.withLock { $0 = leaves }
    }

    // MARK: - Generations

    private func begin(_ shipped: @Sendable (Int) -> Void) async throws {
        let source = try await onOwnThread { [database] in try CommittedPages(of: database) }
        do {
            let keys = source.keys
            let key = keys.key(for: Self.purpose)
            let newest = try await store.listAll(names.generations).last
            let number = newest.flatMap { MirrorNames.number(in: $0.name) } ?? 0
            if number > 0, let found = try await resumed(number, source, keys, key) {
                session = found
                return
            }
            if number > 0 { try await endGeneration(number, keys, key, source.pageSize) }
            session = try await newGeneration(number + 1, source, keys, key, shipped)
        } catch {
            source.end()
            throw error
        }
    }

    static let purpose = "SecureStorage mirror"

    /// Returns the session that goes on with a generation; nil if that is impossible: it has ended,
    /// is of another state of the database or of another key, or has no snapshot.
    private func resumed(
        _ generation: UInt64, _ source: CommittedPages, _ keys: PageKeys, _ key: SymmetricKey
    ) async throws -> Session? {
        let manifestName = names.manifest(of: generation)
        guard let manifest = try await store.read(manifestName),
            let start = try? MirrorObject.open(manifest, named: manifestName, key)
        else { return nil }
        var position = start.object.position
        // Back to the last object that ends a commit.
        var last: MirrorObject.Read?
        for entry in try await store.listAll(names.log(generation)).reversed() {
            guard let bytes = try await store.read(entry.name),
                let read = try? MirrorObject.open(bytes, named: entry.name, key),
                read.object.kind == .segment
            else { return nil }
            last = last ?? read
            position = read.object.position
            if read.object.endsCommit { break }
        }
        guard let position, try await onOwnThread({ try source.resume(at: position) }) else {
            return nil
        }
        let end = last ?? start
        return Session(
            source: source, keys: keys, key: key, generation: generation,
            next: end.object.numbers.upperBound + 1, last: end.mac, lastSeen: .now)
    }

    /// Ends a generation, so that another mirror that still writes to it notices.
    private func endGeneration(
        _ generation: UInt64, _ keys: PageKeys, _ key: SymmetricKey, _ pageSize: Int
    ) async throws {
        while true {
            let last = try await store.listAll(names.log(generation)).last
            let number = last.flatMap { MirrorNames.numbers(in: $0.name) }?.upperBound ?? 0
            if let last, let bytes = try await store.read(last.name),
                (try? MirrorObject.header(of: bytes, named: last.name))?.kind == .end
            {
                return
            }
            let object = MirrorObject(
                kind: .end, generation: generation, numbers: (number + 1)...(number + 1),
                time: Self.now, pageSize: UInt32(pageSize), previous: MirrorObject.noMAC,
                salt: keys.salt)
            let name = names.segment(object.numbers, of: generation)
            if try await store.create(name, object.sealed(Data(), key)) { return }
        }
    }

    private func newGeneration(
        _ generation: UInt64, _ source: CommittedPages, _ keys: PageKeys, _ key: SymmetricKey,
        _ shipped: @Sendable (Int) -> Void
    ) async throws -> Session {
        var object = MirrorObject(
            kind: .generation, generation: generation, numbers: 0...0, time: Self.now,
            pageCount: UInt32(source.pageCount), pageSize: UInt32(source.pageSize),
            previous: MirrorObject.noMAC, salt: keys.salt)
        let record = object.sealed(Data(), key)
        try await create(names.generation(generation), record)
        var last = MirrorObject.mac(of: record)
        object.kind = .part
        let step = Self.pagesPerObject(source.pageSize)
        for first in stride(from: 1, through: source.pageCount, by: step) {
            let count = min(step, source.pageCount - first + 1)
            object.numbers = UInt64(first)...UInt64(first + count - 1)
            object.pages = (first..<(first + count)).map { UInt32($0) }
            object.previous = last
            let pages = try await onOwnThread { try source.snapshotPages(first, count: count) }
            let bytes = object.sealed(pages, key)
            last = MirrorObject.mac(of: bytes)
            try await create(names.part(UInt64(first), of: generation), bytes)
            shipped(bytes.count)
        }
        object.kind = .manifest
        object.numbers = 0...0
        object.pages = []
        object.time = Self.now
        object.position = source.position
        object.previous = last
        object.endsCommit = true
        let manifest = object.sealed(Data(), key)
        try await create(names.manifest(of: generation), manifest)
        return Session(
            source: source, keys: keys, key: key, generation: generation, next: 1,
            last: MirrorObject.mac(of: manifest), lastSeen: .now)
    }

    // MARK: - Segments

    /// Ships what is new; returns false if nothing is.
    private func shipNext(_ shipped: @Sendable (Int) -> Void) async throws -> Bool {
        guard var session else { return false }
        if session.unfinished == nil {
            let (source, start) = (session.source, session.source.position)
            let changes = try await onOwnThread { try source.next() }
            guard let changes else { return false }
            session.unfinished = Unfinished(changes: changes, time: Self.now, start: start)
            self.session = session
        }
        try await requireNewest(&session)
        let step = Self.pagesPerObject(session.source.pageSize)
        while var unfinished = session.unfinished {
            let bytes = try unfinished.sent ?? nextObject(unfinished, session)
            unfinished.sent = bytes
            session.unfinished = unfinished
            self.session = session
            try await create(name(session), bytes)
            shipped(bytes.count)
            unfinished.sent = nil
            unfinished.done += step
            session.unfinished =
                unfinished.done < unfinished.changes.pages.count ? unfinished : nil
            session.last = MirrorObject.mac(of: bytes)
            session.next += 1
            session.lastSeen = .now
            self.session = session
        }
        return true
    }

    private func name(_ session: Session) -> String {
        names.segment(session.next...session.next, of: session.generation)
    }

    private func nextObject(_ unfinished: Unfinished, _ session: Session) throws -> Data {
        let changes = unfinished.changes
        let step = Self.pagesPerObject(session.source.pageSize)
        let pages = changes.pages.dropFirst(unfinished.done).prefix(step)
        let isLast = unfinished.done + step >= changes.pages.count
        let object = MirrorObject(
            kind: .segment, beginsCommit: unfinished.done == 0, endsCommit: isLast,
            generation: session.generation, numbers: session.next...session.next,
            time: unfinished.time, pageCount: UInt32(changes.pageCount),
            pageSize: UInt32(session.source.pageSize),
            position: isLast ? changes.end : unfinished.start, previous: session.last,
            salt: session.keys.salt, pages: Array(pages))
        return object.sealed(try changes.bytes(of: pages), session.key)
    }

    /// Creates an object of this writer's own; the answer to an earlier try may have been lost.
    private func create(_ name: String, _ bytes: Data) async throws {
        guard try await !store.create(name, bytes), try await store.read(name) != bytes else {
            return
        }
        throw SyncError.otherMirror(names.mirror)
    }

    /// Checks after a pause that no other mirror has begun a newer generation, whose retention may
    /// have removed the end of this one.
    private func requireNewest(_ session: inout Session) async throws {
        guard ContinuousClock.now - session.lastSeen > .seconds(60) else { return }
        let newer = try await store.list(
            names.generations, after: names.generation(session.generation))
        guard newer.isEmpty else { throw SyncError.otherMirror(names.mirror) }
        session.lastSeen = .now
    }

    private static var now: UInt64 { UInt64(max(Date().timeIntervalSince1970 * 1000, 0)) }
}

extension SyncError {
    /// Whether the same call may succeed later.
    var isTransient: Bool {
        if case .store(_, _, let isTransient) = self { return isTransient }
        return false
    }
}
