internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// Where the objects of a mirror are.
struct MirrorPlace: Sendable {
    let names: MirrorNames
    let store: TranslatingStore
    let clock: MirrorClock

    init(names: MirrorNames, store: any ObjectStore, clock: MirrorClock = MirrorClock()) {
        self.names = names
        self.store = TranslatingStore(store) { MirrorError($0) }
        self.clock = clock
    }

    /// The numbers of all generations that have begun and are not removed, in ascending order.
    func generations() async throws -> [UInt64] {
        try await store.listAll(names.generations).compactMap { MirrorNames.number(in: $0.name) }
    }

    /// Returns them, with a new beginning for the newest if it has lost its own.
    ///
    /// It is damaged then, which is noticed, and is removed in time; without one, its number would
    /// be taken for a free one.
    func generations(
        beginning: @Sendable (UInt64) async -> Data
    ) async throws -> [UInt64] {
        var numbers = try await generations()
        while true {
            let next = (numbers.last ?? 0) + 1
            let left = try await store.list(names.everything(of: next), after: nil).objects
            if left.isEmpty { return numbers }
            // Unless another mirror has begun it just now.
            _ = try await store.create(names.generation(next), await beginning(next))
            numbers.append(next)
        }
    }

    /// Creates an object of this mirror's own; the answer to an earlier try may have been lost.
    ///
    /// - Throws: `.otherMirror` if the name has another object.
    func create(_ name: String, _ bytes: Data) async throws {
        guard try await !store.create(name, bytes), try await store.read(name) != bytes else {
            return
        }
        throw MirrorError.otherMirror(names.mirror)
    }

    /// Returns the manifest of a generation; nil if it has none, or was ended before.
    ///
    /// Its MAC is not checked.
    ///
    /// - Parameter generation: Its number.
    /// - Returns: The manifest.
    /// - Throws: `.damaged`, also if there must be one and it is missing.
    func manifest(of generation: UInt64) async throws -> (object: MirrorObject, bytes: Data)? {
        let name = names.manifest(of: generation)
        guard let bytes = try await store.read(name) else { return nil }
        let object = try MirrorObject.header(of: bytes, named: name)
        if object.kind == .manifest, object.generation == generation { return (object, bytes) }
        guard object.kind == .end else { throw MirrorError.damaged(name, "it is another object") }
        _ = try MirrorObject.open(bytes, named: name, MirrorObject.publicKey)
        return nil
    }

    /// Returns the newest time of an object that a restore reads; nil if there is none of this key.
    ///
    /// Others are not witnesses: whoever can write to the store could move all later times.
    func newestTime(_ key: SymmetricKey) async throws -> UInt64? {
        for generation in try await generations().reversed() {
            let name = names.manifest(of: generation)
            guard let manifest = try await sound(name, .manifest, of: generation, key) else {
                continue
            }
            var log = MirrorLog(self, generation)
            for entry in try await log.chain().reversed() {
                if let segment = try await sound(entry.name, .segment, of: generation, key) {
                    return max(manifest.object.time, segment.object.time)
                }
            }
            return manifest.object.time
        }
        return nil
    }

    /// Returns the MAC that the object after a generation's last segment would name; zeros if that
    /// cannot be known.
    func lastSegment(of generation: UInt64, _ key: SymmetricKey) async throws -> [UInt8] {
        let name = names.manifest(of: generation)
        guard let manifest = try await sound(name, .manifest, of: generation, key) else {
            return MirrorObject.noMAC
        }
        var log = MirrorLog(self, generation)
        for entry in try await log.chain().reversed() where try await !isEnd(entry) {
            return try await sound(entry.name, .segment, of: generation, key)?.end
                ?? MirrorObject.noMAC
        }
        return manifest.object.previous
    }

    /// Returns an object; nil also for whatever is wrong with it.
    func sound(
        _ name: String, _ kind: MirrorObject.Kind, of generation: UInt64, _ key: SymmetricKey
    ) async throws -> MirrorObject.Read? {
        do {
            return try await read(name, kind, of: generation, key)
        } catch MirrorError.damaged, MirrorError.newerFormat {
            return nil
        }
    }

    /// The key of the MACs: of this mirror, so that a store cannot show another one of the same
    /// database, or of a copy of it, in its place.
    func key(from keys: PageKeys) -> SymmetricKey {
        keys.key(for: "SecureStorage mirror \(names.mirror)")
    }

    /// Whether one of the first objects of a generation is of a key, so that others that are not
    /// were changed.
    func isOf(
        _ key: DatabaseKey, _ generation: UInt64, _ cipher: CipherConfiguration
    ) async throws -> Bool {
        for name in [names.generation(generation), names.part(1, of: generation)] {
            guard let bytes = try await store.read(name),
                let salt = try? MirrorObject.header(of: bytes, named: name).salt
            else { continue }
            let isSound = try await onOwnThread {
                let keys = try PageKeys(key, salt: salt, cipher)
                let key = self.key(from: keys)
                return (try? MirrorObject.open(bytes, named: name, key)) != nil
            }
            if isSound { return true }
        }
        return false
    }

    /// Whether something is where a generation's manifest would be, so that it gets none.
    func hasEnd(_ generation: UInt64) async throws -> Bool {
        try await store.read(names.manifest(of: generation)) != nil
    }

    /// Whether a generation can be restored, or what is wrong with its manifest, which nobody may
    /// take for none.
    enum Completeness {
        case never
        case complete(MirrorObject, Data)
        case unknown(MirrorError)
    }

    /// Returns whether a generation can be restored.
    ///
    /// - Parameter generation: Its number.
    /// - Returns: Damage as `.unknown`.
    /// - Throws: The store's errors.
    func completeness(of generation: UInt64) async throws -> Completeness {
        do {
            if let (object, bytes) = try await manifest(of: generation) {
                return .complete(object, bytes)
            }
            do {
                try await requireNeverComplete(generation)
                return .never
            } catch let error as MirrorError where error.isFinding {
                // It may have been completed between the two looks.
                guard let (object, bytes) = try await manifest(of: generation) else { throw error }
                return .complete(object, bytes)
            }
        } catch let error as MirrorError where error.isFinding {
            return .unknown(error)
        }
    }

    /// Checks that a generation without a manifest never had one.
    ///
    /// - Parameter generation: Its number.
    /// - Throws: `.damaged`.
    func requireNeverComplete(_ generation: UInt64) async throws {
        var log = MirrorLog(self, generation)
        guard let last = try await log.last(), let bytes = try await store.read(last.name) else {
            return
        }
        let object = try MirrorObject.header(of: bytes, named: last.name)
        if object.kind == .end || object.followsManifest {
            throw MirrorError.damaged(names.manifest(of: generation), "it is missing")
        }
    }

    /// Returns an object of this generation whose MAC is right; nil if it is missing.
    ///
    /// - Throws: `.damaged`.
    func read(
        _ name: String, _ kind: MirrorObject.Kind, of generation: UInt64, _ key: SymmetricKey
    ) async throws -> MirrorObject.Read? {
        guard let bytes = try await store.read(name) else { return nil }
        let read = try MirrorObject.open(bytes, named: name, key)
        guard read.object.kind == kind, read.object.generation == generation else {
            throw MirrorError.damaged(name, "it is another object")
        }
        return read
    }

    // MARK: - Ends

    /// Ends a generation: whoever still writes to it fails at its next object.
    ///
    /// - Parameters:
    ///   - generation: Its number.
    ///   - end: What the object has besides its number and generation.
    /// - Returns: Whether the generation can be restored; if nobody can know, both of its places
    ///   are ended.
    /// - Throws: `MirrorError`.
    func end(_ generation: UInt64, with end: MirrorObject) async throws -> Completeness {
        var object = end
        object.generation = generation
        object.numbers = 0...0
        let manifest = names.manifest(of: generation)
        _ = try await store.create(manifest, object.sealed())
        let completeness = try await completeness(of: generation)
        if case .never = completeness { return .never }
        while true {
            var log = MirrorLog(self, generation)
            let last = try await log.last()
            if let last, try await isEnd(last) { return completeness }
            let number = (last?.numbers.upperBound ?? 0) + 1
            object.numbers = number...number
            // Looked at again: where others have merged and removed segments, a name is free that
            // stops nobody.
            _ = try await store.create(
                names.segment(object.numbers, of: generation), object.sealed())
        }
    }

    func isEnd(_ entry: MirrorLog.Entry) async throws -> Bool {
        guard entry.size == MirrorObject.emptyLength, let bytes = try await store.read(entry.name)
        else { return false }
        let read = try? MirrorObject.open(bytes, named: entry.name, MirrorObject.publicKey)
        return read?.object.kind == .end
    }
}
