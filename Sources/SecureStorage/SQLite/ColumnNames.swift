/// The names of a statement's columns, and where each of them is.
///
/// A class, so that a look into its table is not guarded against changes.
final class ColumnNames {
    let names: [String]
    private var exactIndexes: [ByteString: Int]?
    private var foldedIndexes: [String: Int]?
    /// Names that were asked for, in the order of their first time; found by where their text is
    /// stored, as a literal's always is in one place, which reads no text.
    private let asked: UnsafeMutablePointer<Asked>
    private static let askedCapacity = 32
    private var askedCount = 0
    /// The one after the last that was found: rows are mostly read in one order.
    private var expected = 0

    private struct Asked {
        /// Keeps its storage, so that no other text can have the same identity.
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

    /// The index of the column with this name, or else of the first one that differs in case only;
    /// nil if there is none.
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

    private func find(_ name: String) -> Int? {
        let indexes = exactIndexes ?? makeIndexes { ByteString($0) }
        exactIndexes = indexes
        if let index = indexes[ByteString(name)] { return index }
        let folded = foldedIndexes ?? makeIndexes { $0.lowercased() }
        foldedIndexes = folded
        return folded[name.lowercased()]
    }

    /// Of several columns of one name the first is meant.
    private func makeIndexes<Name: Hashable>(_ transform: (String) -> Name) -> [Name: Int] {
        Dictionary(
            names.enumerated().map { (transform($1), $0) },
            uniquingKeysWith: { first, _ in first })
    }
}
