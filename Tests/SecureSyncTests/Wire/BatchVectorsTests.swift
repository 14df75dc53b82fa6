import Crypto
import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Batches of a program in Python that has nothing but the description of the format, and ours in
/// its hands; see `Vectors`.
struct BatchVectorsTests {
    static func vectors() throws -> [BatchVector] {
        let url = try require(Bundle.module.url(forResource: "batches", withExtension: "json"))
        return try JSONDecoder().decode([BatchVector].self, from: Data(contentsOf: url))
    }

    @Test func `rows have the bytes that the other program has written`() throws {
        for vector in try Self.vectors() {
            let body = try vector.body()
            check(Hex.text(body.encoded()), equals: vector.encoded, "batch \(vector.number)")
            let read = try BatchBody(decoding: Hex.bytes(vector.encoded))
            check(read, equals: body, "batch \(vector.number)")
        }
    }

    @Test func `the example of the description is the first batch`() throws {
        let page = try String(contentsOf: Checkout.file("Docs/SyncFormat.md"), encoding: .utf8)
        let example = try require(page.components(separatedBy: "## An example").last)
        let lines = example.components(separatedBy: "```")[1].split(separator: "\n")
        let hex = lines.compactMap { $0.split(separator: " ").first }.joined()
        let first = try require(try Self.vectors().first)
        check(hex, equals: first.batch)
        for known in [first.signer, first.encoded] { check(example.contains(known)) }
    }

    @Test func `a log of the other program is verified, opened and chained`() throws {
        var previous = Data(count: 32)
        for vector in try Self.vectors() {
            let batch = try SealedBatch(reading: Data(Hex.bytes(vector.batch)))
            check(batch.header, equals: (try vector.header()))
            check(batch.header.previous, equals: previous)
            let signer = try Curve25519.Signing.PublicKey(
                rawRepresentation: Hex.bytes(vector.signer))
            try batch.verify { signer.isValidSignature($0, for: $1) }
            try check(batch.open(key: vector.dataKey()), equals: (try vector.body()))
            previous = batch.hash
        }
    }

    @Test(.enabled(if: python != nil, "python3 with cryptography and cbor2 is missing"))
    func `the other program opens batches of this one`() throws {
        let python = try require(Self.python)
        let signing = Curve25519.Signing.PrivateKey()
        let ours = try Self.vectors().map { vector in
            var ours = vector
            let batch = try SealedBatch.seal(
                vector.body(), vector.header(), key: vector.dataKey()
            ) { try signing.signature(for: $0) }
            ours.batch = Hex.text(batch.bytes)
            ours.signer = Hex.text(signing.publicKey.rawRepresentation)
            return ours
        }
        let script = Checkout.file("Tests/SecureSyncTests/Vectors/batches.py").path
        let answers = try JSONDecoder().decode(
            [BatchVector].self,
            from: Self.run(python, [script, "read"], input: JSONEncoder().encode(ours)))
        try require(answers.count == ours.count)
        for (answer, vector) in zip(answers, ours) {
            try check(answer.body(), equals: vector.body())
            try check(answer.header(), equals: vector.header())
            check(answer.encoded, equals: vector.encoded)
        }
    }

    private static let python: String? = {
        [
            Checkout.file(".build/stores/venv/bin/python3").path, "/usr/bin/python3",
            "/usr/local/bin/python3",
        ].first {
            FileManager.default.isExecutableFile(atPath: $0)
                && (try? run($0, ["-c", "import cbor2, cryptography"])) != nil
        }
    }()

    private struct Failure: Error {}

    private static func run(
        _ program: String, _ arguments: [String], input: Data = Data()
    ) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = FileHandle.nullDevice
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: input)
        try stdin.fileHandleForWriting.close()
        let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
        return output
    }
}
