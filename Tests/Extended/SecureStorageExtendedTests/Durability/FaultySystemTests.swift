import TestSupport

#if os(Linux)
    import Foundation
    import Testing

    /// Workloads whose system calls fail one after another, or whose process is killed in place of
    /// a call; then a new process examines the remains.
    ///
    /// A preloaded library (`Tests/Preload`) fails the calls of a program
    /// (`Tests/Programs/FaultyWork`).
    @Suite(.disabled(if: Sanitizer.isPresent))
    struct FaultySystemTests {
        /// The step between the calls that fail; `make campaign NAME=faults` tries each call of all
        /// workloads.
        private static let step = environmentNumber("SECURESTORAGE_FAULTS_STEP", default: 0)

        @Test func `nothing is lost, misreported or stuck after a failing system call`() throws {
            let directory = FileManager.default.temporaryDirectory
                .appendingPathComponent("FaultySystem-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let library = directory.appendingPathComponent("faults.so").path
            let source = Checkout.file("Tests/Preload/faults.c").path
            // The toolchain's own where the system has none.
            let compiler = try ChildProcess(
                ChildProcess.find("cc") == nil ? "clang" : "cc",
                ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source])
            try require(compiler.status == 0, "\(compiler.errors)")

            let program = try require(Self.program)
            var workloads = [
                "move with log and salt", "create with a header", "judge a file and its log",
            ]
            if Self.step > 0 {
                let list = try ChildProcess(program, ["list"])
                workloads = Campaign.part(of: list.output.split(separator: "\n").map(String.init))
            }
            let campaign = try ChildProcess(
                program,
                ["campaign", library, "\(Self.step > 0 ? Self.step : 149)"]
                    + workloads,
                environment: ["TMPDIR": Self.fastDirectory])

            check(campaign.status, equals: 0, "\(campaign.output)")
            if Self.step > 0 { print(campaign.output) }
        }

        /// A directory where syncs cost nothing; other tests cover what a power cut leaves on a
        /// disk.
        private static var fastDirectory: String {
            access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
        }

        /// The program, which is built beside the tests' bundle.
        private static var program: String? {
            let bundles = [CommandLine.arguments[0]] + Bundle.allBundles.map(\.bundlePath)
            guard let bundle = bundles.first(where: { $0.contains(".xctest") }) else { return nil }
            var directory = URL(fileURLWithPath: bundle)
            while directory.path != "/" {
                directory.deleteLastPathComponent()
                let program = directory.appendingPathComponent("FaultyWork").path
                if FileManager.default.isExecutableFile(atPath: program) { return program }
            }
            return nil
        }
    }
#endif
