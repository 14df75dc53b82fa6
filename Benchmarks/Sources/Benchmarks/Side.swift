import Foundation

/// A side of the comparison, which runs in a separate program.
enum Side: String, CaseIterable, Sendable {
    /// The C code on the C API of SQLCipher.
    case c
    /// The library.
    case ours
    /// GRDB on SQLCipher.
    case grdb
    /// The C code on the C API of the system's SQLite, without encryption.
    case plain

    static let encrypted: [Side] = [.c, .ours, .grdb]

    var title: String {
        switch self {
        case .c: "C"
        case .ours: "ours"
        case .grdb: "GRDB"
        case .plain: "plain"
        }
    }

    private var program: String {
        switch self {
        case .c: "CWorker"
        case .ours: "OursWorker"
        case .grdb: "GRDBWorker"
        case .plain: "PlainWorker"
        }
    }

    /// Starts the side's program, which is in the same folder as this one.
    func start() throws -> WorkerProcess {
        try WorkerProcess(executable(), side: self, environment: environment())
    }

    /// Starts the side's program as an argument of another one, which follows what it executes.
    ///
    /// - Parameters:
    ///   - wrapper: The other program, with its arguments.
    ///   - directory: A folder for a copy of the side's program without debug information, which
    ///     valgrind may not be able to read.
    /// - Returns: The running program.
    /// - Throws: `BenchmarkFailure` if the program is missing or does not answer.
    func start(in wrapper: [String], _ directory: URL) throws -> WorkerProcess {
        let copy = directory.appendingPathComponent(program)
        let strip = try Process.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            arguments: ["strip", "--strip-debug", "-o", copy.path, executable().path])
        strip.waitUntilExit()
        guard strip.terminationStatus == 0 else {
            throw BenchmarkFailure("strip has failed; it is part of binutils")
        }
        return try WorkerProcess(copy, side: self, environment: environment(), wrapper: wrapper)
    }

    private func executable() throws -> URL {
        guard let own = Bundle.main.executableURL else {
            throw BenchmarkFailure("cannot find the folder of this program")
        }
        let executable = own.deletingLastPathComponent().appendingPathComponent(program)
        guard FileManager.default.isExecutableFile(atPath: executable.path) else {
            throw BenchmarkFailure(
                "cannot find \(program) beside this program; build the whole package: make bench")
        }
        return executable
    }

    private func environment() throws -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        if self == .grdb {
            // GRDB is linked with SQLite; the library that is loaded first provides the symbols.
            environment["LD_PRELOAD"] = try SharedLibrary.sqlCipher()
        }
        return environment
    }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

enum SharedLibrary {
    /// Returns the path of the SQLCipher that the other sides are linked with.
    static func sqlCipher() throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["pkg-config", "--variable=libdir", "sqlcipher"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let folder = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
        let path = folder + "/libsqlcipher.so"
        guard process.terminationStatus == 0, FileManager.default.fileExists(atPath: path) else {
            throw BenchmarkFailure("cannot find SQLCipher's shared library; run Scripts/setup")
        }
        return path
    }
}
