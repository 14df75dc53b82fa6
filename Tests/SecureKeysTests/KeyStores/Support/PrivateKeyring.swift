#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// A private session bus with a GNOME Keyring, which ends with the last reference or with this
    /// process.
    final class PrivateKeyring: @unchecked Sendable {
        // @unchecked: one test at a time stops it, or its deinitializer.
        private let process: pid_t
        private let end = Pipe()
        private var isStopped = false
        private let home: URL
        /// The value of `DBUS_SESSION_BUS_ADDRESS` in the session.
        let address: String

        static let shared = Result { try PrivateKeyring() }

        static var isInstalled: Bool {
            ["dbus-run-session", "gnome-keyring-daemon", "secret-tool", "dbus-send"].allSatisfy {
                ChildProcess.find($0) != nil
            }
                && FileManager.default.fileExists(
                    atPath: "/usr/lib/\(machine)-linux-gnu/libsecret-1.so.0")
        }

        private static var machine: String {
            #if arch(arm64)
                "aarch64"
            #else
                "x86_64"
            #endif
        }

        /// Starts a bus and, if `hasKeyring` is true, a keyring whose login collection is unlocked.
        init(hasKeyring: Bool = true) throws {
            for handle in [end.fileHandleForReading, end.fileHandleForWriting] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            home = FileManager.default.temporaryDirectory
                .appendingPathComponent("SecureKeysTests-\(UUID().uuidString)", isDirectory: true)
            try FileManager.default.createDirectory(
                at: home, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let configuration = home.appendingPathComponent("bus.conf")
            try Data(
                """
                <busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen>
                <policy context="default"><allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
                """.utf8
            ).write(to: configuration)
            // The daemon goes into the background before it is on the bus.
            let unlock = """
                printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null
                until \(Self.isReady) | grep -q login; do sleep 0.05; done
                """
            // `read` ends with this process, and the bus and the keyring end with `read`.
            let script =
                "\(hasKeyring ? unlock : "")\necho \"$DBUS_SESSION_BUS_ADDRESS\"; read -r _"
            let output = Pipe()
            let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
            defer { close(nothing) }
            let program = [
                ChildProcess.find("dbus-run-session")?.path ?? "",
                "--config-file=\(configuration.path)", "--", "sh", "-c", script,
            ]
            process = try ChildProcess.start(
                program, Self.environment(home: home),
                [
                    end.fileHandleForReading.fileDescriptor,
                    output.fileHandleForWriting.fileDescriptor, nothing,
                ])
            try end.fileHandleForReading.close()
            try output.fileHandleForWriting.close()
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty
                else { throw CocoaError(.fileReadUnknown) }
                line.append(byte)
            }
            address = String(decoding: line.dropLast(), as: UTF8.self)
        }

        deinit {
            stop()
            try? FileManager.default.removeItem(at: home)
        }

        /// Stops the bus.
        func stop() {
            guard !isStopped else { return }
            isStopped = true
            // A line, not only end of file: another thread's child may hold the pipe open.
            try? end.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
            try? end.fileHandleForWriting.close()
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
        }

        /// Puts this process, that of an exit test, into the session at `address`.
        static func use(_ address: String) {
            setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
        }

        private static func environment(home: URL) -> [String: String] {
            [
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "HOME": home.path,
                "XDG_RUNTIME_DIR": home.path,
            ]
        }

        private static let isReady = """
            dbus-send --session --dest=org.freedesktop.secrets --print-reply /org/freedesktop/secrets \
            org.freedesktop.Secret.Service.ReadAlias string:default
            """

        /// Runs a program in the session until it exits.
        @discardableResult
        func run(
            _ program: String, _ arguments: [String], input: String = ""
        ) throws -> (status: Int32, output: String) {
            let text = Data(input.utf8)
            let process = try ChildProcess(
                program, arguments, input: text,
                environment: Self.environment(home: home)
                    .merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 })
            return (process.status, process.output + process.errors)
        }

        func lock() throws {
            let reply = try run(
                "dbus-send",
                [
                    "--session", "--dest=org.freedesktop.secrets", "--print-reply",
                    "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock",
                    "array:objpath:/org/freedesktop/secrets/collection/login",
                ])
            try require(reply.output.contains("collection/login"))
        }
    }
#endif
