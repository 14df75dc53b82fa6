package import Foundation

/// The checkout whose tests run, for those that read its documents, sources and scripts.
package enum Checkout {
    /// The examples' package has this file by a symbolic link.
    package static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .appendingPathComponent("../../../..").standardizedFileURL

    /// Returns a file by its path below the root.
    package static func file(_ path: String) -> URL { root.appendingPathComponent(path) }

    /// Returns the text of a file by its path below the root.
    package static func text(_ path: String) throws -> String {
        try String(contentsOf: file(path), encoding: .utf8)
    }
}
