internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// One member's log in the store.
///
/// Strangers may put objects under its names, so the first object with a number that the member
/// signed is its batch. A name taken by another object costs the writer one more attempt, and
/// readers nothing.
struct MemberLog: Sendable {
    let store: any ObjectStore
    let keys: GroupKeys
    let member: MemberID

    /// A listed number, and its attempts that have an object of a batch's size.
    struct Place: Equatable, Sendable {
        var number: UInt64
        var tries: [UInt64]
    }

    /// The result of reading a number.
    enum Found {
        case batch(Data, name: String)
        /// Objects, none signed by the member.
        case other(name: String)
        case nothing
    }

    static let isOther = "it is not what the log's member has signed"

    /// Lists the numbers from `first` on.
    func places(from first: UInt64 = 1) async throws -> [Place] {
        let prefix = SyncNames.log(group: keys.group, member: member)
        let after = first < 2 ? nil : name(first - 1)
        return Self.places(in: try await store.listAll(prefix, after: after), prefix)
            .filter { $0.number >= first }
    }

    private static func places(in objects: [StoredObject], _ prefix: String) -> [Place] {
        var tries: [UInt64: [UInt64]] = [:]
        for object in objects where object.size <= SealedObject.longest {
            guard let (number, attempt) = SyncNames.batch(of: object.name, after: prefix) else {
                continue
            }
            tries[number, default: []].append(attempt)
        }
        return tries.sorted { $0.key < $1.key }.map { Place(number: $0, tries: $1.sorted()) }
    }

    /// Reads the batch with a listed number.
    ///
    /// - Throws: ``SyncError/newerFormat(_:)``; the store's errors.
    func read(_ place: Place) async throws -> Found {
        var found = Found.nothing
        for attempt in place.tries {
            let name = name(place.number, attempt)
            if !keys.invalid.contains(name) {
                guard let bytes = try await store.read(name) else { continue }
                if isSigned(bytes, place.number) { return .batch(bytes, name: name) }
                keys.invalid.insert(name, size: bytes.count)
            }
            found = .other(name: name)
        }
        return found
    }

    /// Reads the batch with a number.
    ///
    /// - Throws: ``SyncError/newerFormat(_:)``; the store's errors.
    func read(_ number: UInt64) async throws -> Found {
        let name = name(number)
        // Nearly always this name has the batch; otherwise the other attempts have to be listed.
        if let bytes = try await store.read(name), isSigned(bytes, number) {
            return .batch(bytes, name: name)
        }
        let prefix = SyncNames.log(group: keys.group, member: member)
        guard let place = Self.places(in: try await store.listAll(name), prefix).first else {
            return .nothing
        }
        return try await read(place)
    }

    /// Whether the store has a batch with this number that the member signed.
    func hasBatch(_ number: UInt64) async throws -> Bool {
        if case .batch = try await read(number) { return true }
        return false
    }

    /// Whether one of these numbers has a batch.
    ///
    /// Nothing can be read after a gap. A few numbers show whether a batch is missing or a stranger
    /// put an object there.
    func hasBatch(in places: some Collection<Place>) async throws -> Bool {
        for place in places.prefix(4) {
            if case .batch = try await read(place) { return true }
        }
        return false
    }

    /// The first missing batch that a snapshot contains; nil if none is missing.
    ///
    /// Batches are removed from the beginning: if the store has any of a log, it has the last one
    /// that any snapshot contains, or the snapshot is wrong.
    func missing(upTo position: UInt64) async throws -> UInt64? {
        guard position > 0, try await places(from: position).isEmpty,
            let last = try await places().last?.number
        else { return nil }
        return last + 1
    }

    /// The last batch whose hash begins with what `applied` gives for its number, among those up to
    /// `last`; 0 if there is none, or the store does not show it.
    func lastCommon(
        _ last: BatchPosition, applied: (UInt64) -> Data?
    ) async throws -> UInt64 {
        var (number, hash) = (last.number, last.hash)
        while number > 0 {
            if let applied = applied(number), hash.starts(with: applied) { return number }
            guard case .batch(let bytes, _) = try await read(number),
                MembershipState.hash(of: bytes) == hash
            else { return 0 }
            (number, hash) = (number - 1, try BatchHeader(reading: bytes).previous)
        }
        return 0
    }

    func isSigned(_ bytes: Data, _ number: UInt64) -> Bool {
        guard let envelope = try? SealedEnvelope(reading: bytes, .batch) else { return false }
        return envelope.group == keys.group && envelope.member == member
            && envelope.number == number
            && envelope.isSigned { keys.isValid($0, for: $1, by: member) }
    }

    func name(_ number: UInt64, _ attempt: UInt64 = 0) -> String {
        SyncNames.batch(group: keys.group, member: member, number: number, attempt: attempt)
    }
}
