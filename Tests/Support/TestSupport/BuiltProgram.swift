internal import Foundation

/// The programs of this package, built together with the tests.
package enum BuiltProgram {
    /// Returns the path of a program: next to the bundle of the tests, or its name if it is not
    /// there.
    package static func path(_ name: String) -> String {
        let bundles = [CommandLine.arguments[0]] + Bundle.allBundles.map(\.bundlePath)
        let bundle = bundles.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let program = directory.appendingPathComponent(name).path
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        return name
    }
}
