public import Foundation

// Objects of classes with `NSCoding`, as keyed archives.

extension SecureKeyValueStore {
    /// Stores an object as a keyed archive.
    ///
    /// - Parameters:
    ///   - value: An object of Foundation or of the app; nil stores an explicit nil. On Linux its
    ///     class and those of what it contains must be at the top of a file and neither private nor
    ///     generic, or their archives could not be read again, and of Foundation's only texts,
    ///     numbers (no decimal ones), dates, data, UUIDs, URLs, null and collections can be
    ///     archived. Put by itself, a collection of Foundation cannot hold objects of the app.
    ///     `encode(with:)` must name the points, sizes and rectangles that it encodes: without a
    ///     key, Foundation's own coder is the only one that takes them, and the process ends.
    ///   - key: Any text; what it held before is replaced, whatever its kind.
    /// - Throws: `.closed`; `.typeConversionFailed` for an object that could not be read again,
    ///   such as one that contains itself, or is nested more than 64 objects deep;
    ///   `.backingStoreError`.
    public func put<T: NSCoding>(_ value: T?, forKey key: String) throws {
        try put(Self.entry(archiving: value), forKey: key)
    }

    /// Stores an object that expires.
    ///
    /// - Parameters:
    ///   - value: As for `put(_:forKey:)`.
    ///   - key: Any text.
    ///   - lifetime: After this time, by the wall clock, the key counts as absent.
    /// - Throws: As `put(_:forKey:)`.
    public func put<T: NSCoding>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration
    ) throws {
        try put(Self.entry(archiving: value), forKey: key, lifetime: lifetime)
    }

    /// Stores several objects, all of them or, when one fails, none.
    ///
    /// - Parameter keyValueDict: The objects by key; nil stores an explicit nil.
    /// - Throws: As `put(_:forKey:)`; the store is then as before.
    public func putAll(_ keyValueDict: [String: (any NSCoding)?]) throws {
        try putAll(Self.entries(archiving: keyValueDict))
    }

    /// Reads an object.
    ///
    /// An archive is checked as a whole before an object is made of it. A class with
    /// `NSSecureCoding` is decoded securely: what the archive holds must be of the classes that it
    /// asks for.
    ///
    /// - Parameter key: Any text.
    /// - Returns: An object of exactly the class that was put, which is `T` or derives from it; nil
    ///   for an absent key and for an explicit nil.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value is of another kind (a plain or a
    ///   `Codable` value), of another class, or a damaged archive; `.backingStoreError`.
    public func get<T: NSCoding>(_ key: String) throws -> T? {
        guard let entry = try entry(key) else { return nil }
        return try Self.object(entry)
    }

    /// Reads an object, or gives another one.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: Returned for an absent key and for an explicit nil.
    /// - Returns: The object.
    /// - Throws: As `get(_:)`.
    public func get<T: NSCoding>(_ key: String, defaultValue: T?) throws -> T? {
        try get(key) ?? defaultValue
    }

    /// Reads bytes that were put as `Data` or as `NSData`; nil for an absent key and for an
    /// explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The bytes.
    /// - Throws: `.typeConversionFailed` for a value of another kind.
    public func getData(_ key: String) throws -> NSData? {
        guard let entry = try entry(key) else { return nil }
        return try Self.data(entry)
    }

    /// Reads bytes, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The bytes to give instead.
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

    static func object<T: NSCoding>(_ entry: KeyValueTable.Entry) throws -> T? {
        switch (entry.kind, entry.value) {
        case (.null, _): return nil
        case (.archive, .blob(let archive)): return try KeyedArchive.decode(archive, as: T.self)
        default: throw SecureStorageError.typeConversionFailed
        }
    }
}
