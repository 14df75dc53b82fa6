extension ArchiveGraph {
    /// The maximum number of paths from the root, summed over all objects.
    ///
    /// A shared object is built once, but code that compares, prints or copies the result follows
    /// every path to it. An archive with little sharing may have any number of objects.
    private static let maximumPaths = 1_000_000
    private static let maximumPathsPerReference = 64

    /// Checks that all of the archive's references lead to objects.
    func checkReferences(_ top: some Sequence<PropertyListValue>) throws {
        for value in top { try forEachReference(in: value) { try checkReference($0) } }
        for case .object(_, let fields) in entries {
            for value in fields.values {
                try forEachReference(in: value) { try checkReference($0) }
            }
        }
    }

    /// Checks that no object contains itself, and bounds the nesting depth and the sharing of
    /// objects.
    func checkShape() throws {
        var walk = Walk(count: entries.count)
        let measure = try visit(root, depth: 1, walk: &walk)
        let limit = max(
            Self.maximumPaths,
            walk.references.multipliedReportingOverflow(by: Self.maximumPathsPerReference)
                .partialValue)
        guard measure.paths <= limit else { throw SecureStorageError.typeConversionFailed }
    }

    private func checkReference(_ uid: Int) throws {
        guard entries.indices.contains(uid) else { throw SecureStorageError.typeConversionFailed }
        if case .classDescription = entries[uid] { throw SecureStorageError.typeConversionFailed }
    }

    private func forEachReference(
        in value: PropertyListValue, _ body: (Int) throws -> Void
    ) rethrows {
        switch value {
        case .uid(let uid): try body(uid)
        case .array(let values), .set(let values):
            for value in values { try forEachReference(in: value, body) }
        case .dictionary(let fields):
            for value in fields.values { try forEachReference(in: value, body) }
        default: break
        }
    }

    /// The measurements of an object together with everything it refers to.
    private struct Measure {
        var height = 1
        var paths = 1
    }

    private struct Walk {
        var measures: [Measure?]
        var isOpen: [Bool]
        var references = 0

        init(count: Int) {
            measures = Array(repeating: nil, count: count)
            isOpen = Array(repeating: false, count: count)
        }
    }

    private func visit(_ uid: Int, depth: Int, walk: inout Walk) throws -> Measure {
        walk.references += 1
        if let known = walk.measures[uid] { return known }
        // nil and plain values contain nothing and do not count towards the depth.
        guard case .object(_, let fields) = entries[uid] else {
            let measure = Measure(height: 0)
            walk.measures[uid] = measure
            return measure
        }
        guard depth <= Self.maximumDepth, !walk.isOpen[uid] else {
            throw SecureStorageError.typeConversionFailed
        }
        walk.isOpen[uid] = true
        var measure = Measure()
        for value in fields.values {
            try forEachReference(in: value) { child in
                let inner = try visit(child, depth: depth + 1, walk: &walk)
                measure.height = max(measure.height, inner.height + 1)
                let (sum, overflow) = measure.paths.addingReportingOverflow(inner.paths)
                measure.paths = overflow ? .max : sum
            }
        }
        guard measure.height <= Self.maximumDepth else {
            throw SecureStorageError.typeConversionFailed
        }
        walk.isOpen[uid] = false
        walk.measures[uid] = measure
        return measure
    }
}
