public import Foundation

// Objects of classes that adopt `NSCoding`, stored as keyed archives.

extension SecureKeyValueStore {
    /// Stores an object as a keyed archive.
    ///
    /// - Parameters:
    ///   - value: A Foundation object or an object of the app; nil stores an explicit nil. On
    ///     Linux, its class and those of the objects it contains must be declared at file scope and
    ///     be neither private nor generic, because their archives could not be read back. Of
    ///     Foundation's classes, only strings, numbers (except decimals), dates, data, UUIDs, URLs,
    ///     `NSNull` and collections can be archived. A Foundation collection that is stored
    ///     directly cannot hold objects of the app. `encode(with:)` must encode points, sizes and
    ///     rectangles under a key: without one, only Foundation's own coder accepts them, and the
    ///     process ends.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    /// - Throws: `.closed`; `.typeConversionFailed` for an object that could not be read back, such
    ///   as one that contains itself or is nested more than 64 objects deep; `.backingStoreError`.
    public func put<T: NSCoding>(_ value: T?, forKey key: String) throws {
        try put(Self.entry(archiving: value), forKey: key)
    }

    /// Stores an object that expires.
    ///
    /// - Parameters:
    ///   - value: As for `put(_:forKey:)`.
    ///   - key: Any string.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent.
    /// - Throws: As `put(_:forKey:)`.
    public func put<T: NSCoding>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration
    ) throws {
        try put(Self.entry(archiving: value), forKey: key, lifetime: lifetime)
    }

    /// Stores several objects; if one fails, none is stored.
    ///
    /// - Parameter keyValueDict: The objects by key; nil stores an explicit nil.
    /// - Throws: As `put(_:forKey:)`; the store is then unchanged.
    public func putAll(_ keyValueDict: [String: (any NSCoding)?]) throws {
        try putAll(Self.entries(archiving: keyValueDict))
    }

    /// Reads an object.
    ///
    /// The whole archive is checked before an object is created from it. A class that adopts
    /// `NSSecureCoding` is decoded securely: the archive may only hold objects of the classes that
    /// it requests. In a store that is synced, other devices write archives: there, an object of a
    /// class without `NSSecureCoding` is not made, since an archive could name any class.
    ///
    /// - Parameter key: Any string.
    /// - Returns: An object of exactly the class that was stored, which is `T` or a subclass; nil
    ///   for an absent key or an explicit nil.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value is of another kind (a plain or a
    ///   `Codable` value), of another class, or a damaged archive; `.backingStoreError`, with code
    ///   `.misuse` (SQLITE_MISUSE) for a class without secure coding in a synced store.
    public func get<T: NSCoding>(_ key: String) throws -> T? {
        guard let entry = try archive(key, isSecure: KeyedArchive.isSecure(T.self)) else {
            return nil
        }
        return try Self.object(entry)
    }

    /// Reads an object, or returns a default.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The object to return for an absent key or an explicit nil.
    /// - Returns: The object.
    /// - Throws: As `get(_:)`.
    public func get<T: NSCoding>(_ key: String, defaultValue: T?) throws -> T? {
        try get(key) ?? defaultValue
    }

    /// Reads bytes that were stored as `Data` or `NSData`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The bytes; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind.
    public func getData(_ key: String) throws -> NSData? {
        guard let entry = try entry(key) else { return nil }
        return try Self.data(entry)
    }

    /// Reads bytes, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The bytes to return instead.
    /// - Returns: The bytes.
    /// - Throws: `.typeConversionFailed` for a value of another kind.
    public func getData(_ key: String, defaultValue: NSData?) throws -> NSData? {
        try getData(key) ?? defaultValue
    }

    // MARK: - Entries

    func putAll(_ entries: [String: KeyValueTable.Entry]) throws {
        try write { db, table in
            for (key, entry) in entries { try table.put(entry, forKey: key, lifetime: nil, in: db) }
        }
    }

    static func entries(
        archiving objects: [String: (any NSCoding)?]
    ) throws -> [String: KeyValueTable.Entry] {
        func entry<T: NSCoding>(_ object: T) throws -> KeyValueTable.Entry {
            try Self.entry(archiving: object)
        }
        let null = KeyValueTable.Entry(kind: .null, value: .null)
        return try objects.mapValues { object in try object.map { try entry($0) } ?? null }
    }

    static func entry<T: NSCoding>(archiving object: T?) throws -> KeyValueTable.Entry {
        guard let object else { return KeyValueTable.Entry(kind: .null, value: .null) }
        return KeyValueTable.Entry(kind: .archive, value: .blob(try KeyedArchive.encode(object)))
    }

    static func data(_ entry: KeyValueTable.Entry) throws -> NSData? {
        if entry.kind == .archive { return try object(entry) }
        let data: Data? = try plain(entry)
        return data.map { NSData(data: $0) }
    }

    /// The entry of a key, if an object may be made of what is in this store.
    ///
    /// `isSecure` is whether its class has secure coding.
    func archive(_ key: String, isSecure: Bool) throws -> KeyValueTable.Entry? {
        try read { db, table in
            guard try isSecure || !table.isSynced(in: db) else {
                throw SecureStorageError.backingStoreError(
                    code: SQLiteResultCode.misuse.rawValue,
                    message: "the object's class has no secure coding, and other devices write "
                        + "into this synced store; adopt NSSecureCoding, or store a Codable value")
            }
            return try table.entry(key, in: db)
        }
    }

    static func object<T: NSCoding>(_ entry: KeyValueTable.Entry) throws -> T? {
        switch (entry.kind, entry.value) {
        case (.null, _): return nil
        case (.archive, .blob(let archive)): return try KeyedArchive.decode(archive, as: T.self)
        default: throw SecureStorageError.typeConversionFailed
        }
    }
}
