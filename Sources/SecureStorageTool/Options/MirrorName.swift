internal import Foundation
internal import ObjectStores

/// The name of a mirror: as given, or the file's own.
enum MirrorName {
    /// Returns the name for the mirror of a file.
    ///
    /// With its extension, so that two files of a directory have two names.
    static func of(_ file: String, given: String?) throws -> String {
        if let given { return try check(given) }
        let name = URL(fileURLWithPath: file).lastPathComponent
        guard ObjectName.isValid(name) else {
            throw Failure.usage(
                "the file's name \"\(name)\" cannot be the name of a mirror; pass another one "
                    + "with --name",
                hint: Failure.ruleOfNames)
        }
        return name
    }

    static func check(_ name: String) throws -> String {
        guard ObjectName.isValid(name) else {
            throw Failure.usage(
                "\"\(name)\" cannot be the name of a mirror", hint: Failure.ruleOfNames)
        }
        return name
    }
}
