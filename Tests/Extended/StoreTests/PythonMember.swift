import Foundation
import StoreChecks
import SecureStoragePlatform
import TestSupport

/// The program Tests/Programs/SyncPython/member.py.
final class PythonMember: Sendable {
    /// A Python with the packages that the program needs; nil if there is none.
    static let python: String? = {
        [Checkout.file(".build/stores/venv/bin/python3").path, "/usr/bin/python3"].first {
            let script = "import cbor2; from cryptography.hazmat.primitives.asymmetric import mlkem"
            return FileManager.default.isExecutableFile(atPath: $0)
                && (try? ChildProcess($0, ["-c", script]).status) == 0
        }
    }()

    private struct Order: Encodable {
        var `do`: String
        var folder: String?
        var code: String?
        var name: String?
        var seed: UInt64?
    }

    private let process: pid_t
    private let (orders, answers): (FileHandle, FileHandle)
    private let errors: FileHandle

    init() throws {
        let (input, output) = (Pipe(), Pipe())
        let path = NSTemporaryDirectory() + "PythonMember-\(UUID().uuidString)"
        let file = try Descriptor(creating: path)
        unlink(path)
        process = try ChildProcess.start(
            [Self.python ?? "python3", Checkout.file("Tests/Programs/SyncPython/member.py").path],
            ProcessInfo.processInfo.environment,
            [
                input.fileHandleForReading.fileDescriptor,
                output.fileHandleForWriting.fileDescriptor, file.number,
            ])
        (orders, answers) = (input.fileHandleForWriting, output.fileHandleForReading)
        errors = FileHandle(fileDescriptor: dup(file.number), closeOnDealloc: true)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    deinit {
        try? orders.close()
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Joins a group, and reads its rows.
    func join(_ folder: URL, _ code: String) throws {
        let _: Int = try ask(.init(do: "join", folder: folder.path, code: code, name: "python"))
    }

    /// - Returns: How many transactions were applied.
    func sync() throws -> Int { try ask(.init(do: "sync")) }

    /// - Returns: How many rows were written.
    func scribble(_ seed: UInt64) throws -> Int { try ask(.init(do: "scribble", seed: seed)) }

    func rows() throws -> [String] { try ask(.init(do: "rows")) }

    private func ask<Answer: Decodable>(_ order: Order) throws -> Answer {
        try orders.write(contentsOf: JSONEncoder().encode(order) + Data("\n".utf8))
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            guard let byte = try answers.read(upToCount: 1), !byte.isEmpty else {
                try errors.seek(toOffset: 0)
                let text = String(decoding: try errors.readToEnd() ?? Data(), as: UTF8.self)
                throw Failure("the program in Python has ended: \(text)")
            }
            line += byte
        }
        return try JSONDecoder().decode(Answer.self, from: line)
    }
}
