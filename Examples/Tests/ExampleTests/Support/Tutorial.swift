import Foundation
import ExampleSupport

/// The steps of a tutorial that show a file.
struct Tutorial {
    /// A file that a step shows, and the name that the reader gives it.
    struct Step {
        let name: String
        let file: String

        var isTranscript: Bool { file.hasSuffix(".txt") }
    }

    let name: String
    let steps: [Step]

    static let folder = Checkout.file("Sources/SecureStorage/SecureStorage.docc/Tutorials")
    static let resources = folder.appendingPathComponent("Resources")

    /// Returns the tutorials in the order of their table of contents.
    static func all() throws -> [Tutorial] {
        let contents = try text("Notebook")
        return try contents.matches(of: /@TutorialReference\(tutorial: "doc:(\w+)"\)/).map {
            let name = String($0.1)
            let steps = try text(name).matches(of: /@Code\(name: "([^"]+)", file: "([^"]+)"/)
            return Tutorial(
                name: name,
                steps: steps.map { Step(name: String($0.1), file: String($0.2)) })
        }
    }

    private static func text(_ name: String) throws -> String {
        try String(
            contentsOf: folder.appendingPathComponent(name + ".tutorial"), encoding: .utf8)
    }

    static func resource(_ file: String) throws -> String {
        try String(contentsOf: resources.appendingPathComponent(file), encoding: .utf8)
    }
}
