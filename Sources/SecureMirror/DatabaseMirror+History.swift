internal import Crypto
public import Foundation
public import ObjectStores
public import SecureStorage
internal import SecureStoragePlatform

extension DatabaseMirror {
    /// A part of a mirror's history: a snapshot, and what was committed after it.
    public struct Generation: Sendable, Hashable {
        /// Its number, from 1.
        public let number: Int
        /// The first point in time that can be restored.
        public let begin: Date
        /// The last one.
        public let end: Date
        /// Whether a later generation continues, or none may.
        public let hasEnded: Bool
        /// The number of pages of the snapshot.
        public let pageCount: Int
        /// The number of states that are kept, besides the snapshot.
        public let stateCount: Int
        /// The number of objects.
        public let objectCount: Int
        /// Bytes of all objects.
        public let byteCount: Int
    }

    /// Returns what can be restored, the newest last.
    ///
    /// No key is needed, and so nothing is checked: see ``verify(_:in:key:configuration:progress:)``.
    ///
    /// - Parameters:
    ///   - name: The mirror's name.
    ///   - store: The store.
    /// - Returns: The complete generations, without those whose beginning is damaged.
    /// - Throws: ``MirrorError/noMirror(_:)``, ``MirrorError/damaged(_:_:)``; the errors of the store.
    public static func history(
        of name: String, in store: any ObjectStore
    ) async throws -> [Generation] {
        let place = MirrorPlace(names: try MirrorNames(name), store: store)
        var found: [Generation] = []
        var damage: MirrorError?
        for number in try await place.generations() {
            switch try await place.completeness(of: number) {
            case .never: continue
            case .unknown(let error): damage = error
            case .complete(let manifest, _):
                found.append(try await generation(number, manifest, place))
            }
        }
        guard !found.isEmpty else { throw damage ?? MirrorError.noMirror(name) }
        return found
    }

    /// Returns the names of all mirrors that have begun in a store.
    ///
    /// - Parameter store: The store; it may have other objects as well.
    /// - Returns: The names, in the order of their bytes.
    /// - Throws: The errors of the store.
    public static func names(in store: any ObjectStore) async throws -> [String] {
        let store = TranslatingStore(store) { MirrorError($0) }
        var names: [String] = []
        var after: String?
        while true {
            let page = try await store.list("", after: after)
            // What follows the first object of a mirror need not be listed.
            let found = page.objects.lazy.compactMap { MirrorNames.place(of: $0.name) }.first
            guard let found else {
                guard page.isTruncated, let last = page.objects.last else { return names }
                after = last.name
                continue
            }
            if found.isBeginning { names.append(found.mirror) }
            after = found.next
        }
    }

    private static func generation(
        _ number: UInt64, _ manifest: MirrorObject, _ place: MirrorPlace
    ) async throws -> Generation {
        let objects = try await place.store.listAll(place.names.everything(of: number))
        let segments = MirrorNames.Level.allCases.flatMap { level in
            objects.map(\.name).filter { $0.hasPrefix(place.names.segments(level, of: number)) }
        }
        let ends = Set(segments.compactMap { MirrorNames.numbers(in: $0)?.upperBound })
        var (end, hasEnded) = (manifest.time, false)
        var log = MirrorLog(place, number)
        if let last = try await log.last(), let bytes = try await place.store.read(last.name) {
            let object = try? MirrorObject.header(of: bytes, named: last.name)
            // What was shipped before the manifest belongs to the first state.
            (end, hasEnded) = (max(end, object?.time ?? end), object?.kind == .end)
        }
        return Generation(
            number: Int(clamping: number), begin: Date(milliseconds: manifest.time),
            end: Date(milliseconds: end), hasEnded: hasEnded, pageCount: Int(manifest.pageCount),
            stateCount: ends.count - (hasEnded ? 1 : 0), objectCount: objects.count + 1,
            byteCount: objects.reduce(MirrorObject.emptyLength) { $0 + $1.countedSize })
    }

    /// The findings of a check.
    public struct Verification: Sendable {
        /// The number of objects that were read.
        public internal(set) var objectCount = 0
        /// The number of pages whose HMACs were checked, each version counted.
        public internal(set) var pageCount = 0
        /// The generations that were stored with earlier keys of the database, so that nothing of
        /// them could be checked.
        public internal(set) var uncheckedGenerations: [Int] = []
        /// What was found; empty if all is sound.
        public internal(set) var problems: [MirrorError] = []

        /// Whether everything that could be checked is as it was written, and nothing is missing.
        public var isSound: Bool { problems.isEmpty }
    }

    /// Checks a mirror without writing anything: every object's MAC, its place in the chain, and
    /// every page's own HMAC.
    ///
    /// Generations from before a change of the key are only listed.
    ///
    /// - Parameters:
    ///   - name: The mirror's name.
    ///   - store: The store.
    ///   - key: The database's key.
    ///   - configuration: The cipher settings of the database.
    ///   - progress: Called on threads of its own, with bytes; may end the check by throwing.
    /// - Returns: The findings, which are not errors.
    /// - Throws: ``MirrorError/noMirror(_:)``; ``MirrorError/wrongKey(_:)`` if it is none of the
    ///   mirror's; ``MirrorError/otherPageSize(_:)``; the errors of the store; the error of
    ///   `progress`.
    public static func verify(
        _ name: String, in store: any ObjectStore, key: DatabaseKey,
        configuration: SecureDatabaseConfiguration = SecureDatabaseConfiguration(),
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> Verification {
        let place = MirrorPlace(names: try MirrorNames(name), store: store)
        var check = MirrorCheck(place: place, key, configuration.cipher, progress)
        return try await check.run()
    }
}
