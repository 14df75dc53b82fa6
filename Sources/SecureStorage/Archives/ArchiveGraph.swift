internal import Foundation

/// The objects of a keyed archive, validated as far as possible without building one.
///
/// Every reference leads to an object, and every object has a class. No object reachable from the
/// root contains itself or is nested deeper than ``maximumDepth``. Later code can follow references
/// unchecked.
struct ArchiveGraph: Sendable {
    /// The maximum nesting depth of objects; plain values do not count.
    static let maximumDepth = 64

    /// An entry of `$objects`.
    enum Entry: Sendable {
        /// The first entry, which represents nil.
        case null
        /// A plain value: a string, a number or data.
        case value(PropertyListValue)
        /// An object: the name of its class and its fields without `$class`.
        case object(className: String, fields: [ByteString: PropertyListValue])
        /// The description of a class, to which only a `$class` may refer.
        case classDescription
    }

    let entries: [Entry]
    /// The entry index of the archived object.
    let root: Int

    /// Reads and validates an archive.
    ///
    /// - Parameter data: The output of `NSKeyedArchiver`, a binary property list.
    /// - Throws: `.typeConversionFailed` for anything else.
    init(_ data: Data) throws {
        guard case .dictionary(let archive) = try BinaryPropertyList.root(of: data),
            archive["$version"] == .integer(100_000),
            archive["$archiver"] == .string("NSKeyedArchiver"),
            case .dictionary(let top) = archive["$top"],
            case .uid(let root) = top["root"],
            case .array(let objects) = archive["$objects"],
            objects.first == .string("$null")
        else { throw SecureStorageError.typeConversionFailed }
        self.root = root
        entries = try [.null] + objects.dropFirst().map { try Self.entry($0, in: objects) }
        try checkReferences(top.values)
        try checkShape()
    }

    private static func entry(
        _ value: PropertyListValue, in objects: [PropertyListValue]
    ) throws -> Entry {
        switch value {
        case .string, .bool, .integer, .unsigned, .real, .data: return .value(value)
        case .dictionary(var fields):
            guard let reference = fields.removeValue(forKey: "$class") else {
                _ = try className(fields)
                return .classDescription
            }
            guard case .uid(let uid) = reference, objects.indices.contains(uid),
                case .dictionary(let description) = objects[uid], description["$class"] == nil
            else { throw SecureStorageError.typeConversionFailed }
            return .object(className: try className(description), fields: fields)
        default: throw SecureStorageError.typeConversionFailed
        }
    }

    /// Returns the name in a class description.
    ///
    /// The superclass names must be present, but nothing is derived from them.
    private static func className(_ description: [ByteString: PropertyListValue]) throws -> String {
        guard let name = description["$classname"], case .string(let text) = name, !text.isEmpty,
            case .array(let classes) = description["$classes"], classes.first == name,
            classes.allSatisfy({ if case .string = $0 { true } else { false } })
        else { throw SecureStorageError.typeConversionFailed }
        return text
    }
}
