import Foundation

/// The functions of the preloaded library.
struct Faults {
    typealias Begin = @convention(c) (UnsafePointer<CChar>, Int, Int32, Int32, UInt32) -> Void
    typealias End = @convention(c) () -> Int
    typealias First = @convention(c) () -> UnsafePointer<CChar>

    let begin: Begin
    let end: End
    let first: First

    /// Fails in a process that was not started with the library.
    init?() {
        guard let begin = dlsym(nil, "faults_begin"), let end = dlsym(nil, "faults_end"),
            let first = dlsym(nil, "faults_first")
        else { return nil }
        self.begin = unsafeBitCast(begin, to: Begin.self)
        self.end = unsafeBitCast(end, to: End.self)
        self.first = unsafeBitCast(first, to: First.self)
    }
}

/// Which calls fail and how.
struct Mode: Codable, Hashable {
    let name: String
    let isForever: Bool
    /// The error number; -1 kills the process in place of the call.
    let code: Int32
    /// The kinds of calls that fail: bits, as in faults.c.
    let kinds: UInt32

    private static let everything: UInt32 = 0x7ff & ~128
    private static let places: UInt32 = 1 | 32 | 1024

    static let all = [
        Mode(name: "EIO once", isForever: false, code: EIO, kinds: everything),
        Mode(name: "EIO for ever", isForever: true, code: EIO, kinds: everything),
        Mode(
            name: "EIO for ever, reads work", isForever: true, code: EIO,
            kinds: everything & ~(1 | 2 | 64 | 256)),
        Mode(name: "ENOSPC for ever", isForever: true, code: ENOSPC, kinds: 4 | 16 | places),
        Mode(name: "EACCES once", isForever: false, code: EACCES, kinds: places),
        Mode(name: "EMFILE once", isForever: false, code: EMFILE, kinds: 1),
        Mode(name: "EMFILE for ever", isForever: true, code: EMFILE, kinds: 1),
        Mode(
            name: "EINTR once", isForever: false, code: EINTR, kinds: 1 | 2 | 4 | 8 | 16 | 64 | 256),
        Mode(name: "names for ever", isForever: true, code: EIO, kinds: 32),
        Mode(name: "looks once", isForever: false, code: EIO, kinds: 128),
        Mode(name: "kill", isForever: false, code: -1, kinds: everything & ~2),
    ]
}

/// Several runs of one workload, in a process with the library: RUN DIRECTORY WORKLOAD MODE FROM
/// STRIDE COUNT.
struct FaultyRun {
    let directory: String
    let workload: Workload
    let mode: Mode
    let calls: [Int]

    init(_ arguments: [String]) throws {
        directory = arguments[1]
        guard arguments.count == 7, let from = Int(arguments[4]), let step = Int(arguments[5]),
            let count = Int(arguments[6]),
            let workload = Workload.all.first(where: { $0.name == arguments[2] }),
            let mode = Mode.all.first(where: { $0.name == arguments[3] })
        else { throw CocoaError(.featureUnsupported) }
        self.workload = workload
        self.mode = mode
        calls = (0..<count).map { from + $0 * step }
    }

    func run() throws {
        guard let faults = Faults() else { throw CocoaError(.featureUnsupported) }
        for call in calls {
            let place = Place(directory: "\(directory)/\(call)")
            try FileManager.default.copyItem(
                atPath: directory + "/template", toPath: place.directory)
            let log = Log(call: call, path: "\(directory)/\(call).record")
            faults.begin(place.directory, call, mode.isForever ? 1 : 0, mode.code, mode.kinds)
            workload.run(place, log)
            let failures = faults.end()
            log.end(failed: failures > 0 ? String(cString: faults.first()) : "")
            if failures == 0 {
                print("end")
                return
            }
        }
    }
}

/// Checks what runs left behind, in a separate process, and prints a line for each problem.
struct FaultyCheck {
    let directory: String
    let workload: String

    /// Whether an error names a cause that no run has: the files are sound, the keys right, and
    /// nobody else changes anything.
    private static func isUntrue(_ error: String) -> Bool {
        [
            "damaged", "not as it was written", "truncated", "malformed", "wrong key",
            "does not open the file", "plaintext header", "salt, were changed", "not an error",
            "disk full", "changed while being opened", "not a SQLCipher database",
        ].contains { error.contains($0) }
    }

    func run() throws {
        guard let workload = Workload.all.first(where: { $0.name == workload }) else { return }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        for name in names.sorted() where name.hasSuffix(".record") {
            let data = try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name))
            let record = try JSONDecoder().decode(Record.self, from: data)
            let place = Place(directory: "\(directory)/\(record.call)")
            var problems = record.strangers.map { "no error of the library's: \($0)" }
            problems += record.errors.filter { Self.isUntrue($0.value) }.map { "untrue: \($0)" }
            do {
                problems += try workload.check(place, record)
            } catch {
                problems.append("not got out of: \(error)")
            }
            for problem in problems {
                print("problem\t\(record.call)\t\(record.failed)\t\(problem)\t\(record.errors)")
            }
            print("checked\t\(record.call)\t\(record.failed)")
        }
    }
}
