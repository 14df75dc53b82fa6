internal import CSQLCipher

/// The name of a placeholder, with and without its `:`, `@` or `$`.
struct ParameterName: CustomStringConvertible {
    let full: String
    let bare: String

    var description: String { full }
}

/// A statement's placeholders; their names are read at first use.
///
/// A class, so that reading it needs no exclusivity check.
final class StatementParameters {
    let count: Int
    private let handle: OpaquePointer
    /// The names in the order of the parameters' indexes; nil for `?` and `?1`.
    lazy var names: [ParameterName?] = (0..<count).map(name)
    /// The names without prefix, for values in order; none when two are alike or one has no name.
    lazy var bareNames: [String] = {
        let bare = names.compactMap(\.?.bare)
        return bare.count == distinctNameCount ? bare : []
    }()
    /// The number of distinct names: `:a` and `@a` are two parameters of one name.
    lazy var distinctNameCount = Set(names.map(\.?.bare)).count

    init(of handle: OpaquePointer) {
        self.handle = handle
        count = Int(sqlite3_bind_parameter_count(handle))
    }

    private func name(at offset: Int) -> ParameterName? {
        guard let name = sqlite3_bind_parameter_name(handle, Int32(offset + 1)),
            name.pointee != CChar(UInt8(ascii: "?"))
        else { return nil }
        return ParameterName(full: String(cString: name), bare: String(cString: name + 1))
    }
}
