/// The names of a statement's columns and their indexes.
///
/// A class, so that lookups in its table need no exclusivity check.
final class ColumnNames {
    let names: [String]
    /// The names, in lower case, that more than one column has; nil as long as nobody has asked.
    @exclusivity(unchecked) private var repeated: Set<String>?
    /// Beside the set, so that the usual answer copies none.
    @exclusivity(unchecked) private var hasNoRepeated = false
    @exclusivity(unchecked) private var exactIndexes: [ByteString: Int]?
    @exclusivity(unchecked) private var foldedIndexes: [String: Int]?
    /// The names that were looked up, in the order of first use.
    ///
    /// An entry is found by where its text is stored, without reading the text: a literal is always
    /// stored in one place.
    private let asked: UnsafeMutablePointer<Asked>
    private static let askedCapacity = 32
    @exclusivity(unchecked) private var askedCount = 0
    /// The entry after the one found last: rows are mostly read in one order.
    @exclusivity(unchecked) private var expected = 0
    /// The columns of each property that has columns of its own, by its name.
    @exclusivity(unchecked) private var nested: [String: NestedColumns?] = [:]

    private struct Asked {
        /// Keeps its storage alive, so that no other text can have the same identity.
        let name: String
        let index: Int
    }

    init(_ names: [String]) {
        self.names = names
        asked = .allocate(capacity: Self.askedCapacity)
    }

    deinit {
        asked.deinitialize(count: askedCount)
        asked.deallocate()
    }

    /// Returns the index of the column with this name, or else of the first one that differs only
    /// in case; nil if no column matches.
    func index(of name: String) -> Int? {
        let identity = TextIdentity(name)
        var place = expected
        for _ in 0..<askedCount {
            if place >= askedCount { place = 0 }
            if TextIdentity(asked[place].name) == identity {
                expected = place + 1
                return asked[place].index
            }
            place += 1
        }
        guard let index = find(name) else { return nil }
        if askedCount < Self.askedCapacity {
            (asked + askedCount).initialize(to: Asked(name: name, index: index))
            askedCount += 1
        }
        return index
    }

    /// Returns the columns whose names begin with `name` and a dot; nil if there are none.
    func nested(_ name: String) -> NestedColumns? {
        if let known = nested[name] { return known }
        let found = NestedColumns(of: name, in: names)
        nested[name] = .some(found)
        return found
    }

    /// Whether more than one column has this name.
    @inline(__always)
    func isRepeated(_ name: String) -> Bool { !hasNoRepeated && findRepeated(name) }

    private func findRepeated(_ name: String) -> Bool {
        if let repeated { return repeated.contains(name.lowercased()) }
        var known: Set<String> = []
        let found = Set(names.map { $0.lowercased() }.filter { !known.insert($0).inserted })
        (repeated, hasNoRepeated) = (found, found.isEmpty)
        return found.contains(name.lowercased())
    }

    private func find(_ name: String) -> Int? {
        let indexes = exactIndexes ?? makeIndexes { ByteString($0) }
        exactIndexes = indexes
        if let index = indexes[ByteString(name)] { return index }
        let folded = foldedIndexes ?? makeIndexes { $0.lowercased() }
        foldedIndexes = folded
        return folded[name.lowercased()]
    }

    /// Maps each transformed name to its index; among columns of one name, the first one counts.
    private func makeIndexes<Name: Hashable>(_ transform: (String) -> Name) -> [Name: Int] {
        Dictionary(
            names.enumerated().map { (transform($1), $0) },
            uniquingKeysWith: { first, _ in first })
    }
}

/// The columns `name.…` of a row, which are the properties of one property.
final class NestedColumns {
    /// What follows the dot.
    let names: ColumnNames
    /// The index in the row of each of them.
    let indexes: [Int]

    private init(_ names: ColumnNames, _ indexes: [Int]) {
        self.names = names
        self.indexes = indexes
    }

    /// The same names, with other indexes.
    func moved(_ index: (Int) -> Int) -> NestedColumns {
        NestedColumns(names, indexes.map(index))
    }

    /// Returns nil if no name begins with `name`, in any case, and a dot.
    init?(of name: String, in names: [String]) {
        let prefix = name.lowercased() + "."
        // SQLite names an expression by its text, such as `folder.id IS NULL`.
        let found = names.enumerated().filter {
            $1.lowercased().hasPrefix(prefix) && !$1.contains { " ()=<>|+*/,'\"".contains($0) }
        }
        guard !found.isEmpty else { return nil }
        self.names = ColumnNames(found.map { String($1.dropFirst(prefix.count)) })
        indexes = found.map(\.offset)
    }
}
