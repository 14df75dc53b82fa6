#if os(Linux)
    import Foundation
    import Testing

    /// Workloads whose system calls fail one after the other, or whose process is killed in the
    /// place of one; then a new process looks at what they have left.
    ///
    /// A preloaded library (`Tests/FaultySystem`) fails the calls of a program
    /// (`Tests/FaultyWork`).
    @Suite(.timeLimit(.minutes(600)), .disabled(if: Sanitizer.isPresent))
    struct FaultySystemTests {
        /// Every so-many-th call; `make faults` tries each, of all workloads.
        private static let step = environmentNumber("SECURESTORAGE_FAULTS_STEP", default: 0)

        @Test func `nothing is lost, untrue or stuck after a system call that fails`() throws {
            let directory = FileManager.default.temporaryDirectory
                .appendingPathComponent("FaultySystem-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let library = directory.appendingPathComponent("faults.so").path
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../FaultySystem/faults.c").standardized.path
            let compiler = try ChildProcess(
                "cc", ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source])
            try #require(compiler.status == 0, "\(compiler.errors)")

            let program = try #require(Self.program)
            let usual = ["move with log and salt", "create with a header"]
            let campaign = try ChildProcess(
                program,
                ["campaign", library, "\(Self.step > 0 ? Self.step : 23)"]
                    + (Self.step > 0 ? [] : usual),
                environment: ["TMPDIR": Self.fastDirectory])

            #expect(campaign.status == 0, "\(campaign.output)")
            if Self.step > 0 { print(campaign.output) }
        }

        /// Where a sync costs nothing: what is on a disk after a power cut is another test's
        /// subject.
        private static var fastDirectory: String {
            access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
        }

        /// Built with the tests: beside their bundle.
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
