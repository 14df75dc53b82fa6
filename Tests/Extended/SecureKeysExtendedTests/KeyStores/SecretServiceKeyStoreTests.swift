#if os(Linux)
    import Foundation
    import SecureKeys
    import SecureStorage
    import Testing
    import TestSupport
    @testable import SecureKeysTests

    /// Tests of the key store over a real keyring; `KeyStoreTests` covers what all key stores do.
    struct SecretServiceKeyStoreTests {
        @Suite(
            .enabled(
                if: PrivateKeyring.isInstalled,
                "needs dbus-run-session, dbus-send, gnome-keyring-daemon, secret-tool and libsecret"
            ))
        struct WithKeyring {
            let keyring: PrivateKeyring
            let service = "test \(UUID())"

            init() throws {
                keyring = try PrivateKeyring.shared.get()
            }

            private func attributes(_ name: String) -> [String] {
                ["service", service, "name", name, "xdg:schema", "org.securestorage.Key"]
            }

            @Test func `secret-tool reads a stored secret and does not find a removed one`()
                async throws
            {
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    try store.store(SecretBytes(utf8: "first"), forName: "k")
                    try store.store(SecretBytes(utf8: "any carnal pleas"), forName: "k")
                    try store.store(SecretBytes(copying: Data([0])), forName: "é\0%")
                }
                // Both secrets need two padding characters.
                let found = try keyring.run("secret-tool", ["lookup"] + attributes("k"))
                check(found.output, equals: "YW55IGNhcm5hbCBwbGVhcw==")
                let hostile = try keyring.run(
                    "secret-tool", ["lookup"] + attributes("%c3%a9%00%25"))
                check(hostile.output, equals: "AA==")
                let all = try keyring.run("secret-tool", ["search", "--all", "service", service])
                    .output
                check(
                    all.components(separatedBy: "schema = org.securestorage.Key").count, equals: 3)
                check(all.contains("label = \(service): k\n"))
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    try check(store.remove("k"))
                }
                try check(
                    keyring.run("secret-tool", ["lookup"] + attributes("k")).output, equals: "")
            }

            @Test
            func `a secret is replaced in place, even outside the default collection`()
                async throws
            {
                let stored = try keyring.run(
                    "secret-tool",
                    ["store", "--label=x", "--collection=session"] + attributes("k"),
                    input: "AAECAw==")
                try require(stored.status == 0)
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    try check(store.read("k"), equals: SecretBytes(copying: Data([0, 1, 2, 3])))
                    try store.store(SecretBytes(utf8: "new"), forName: "k")
                    try check(store.read("k"), equals: SecretBytes(utf8: "new"))
                    try check(store.names(), equals: ["k"])
                }
                let all = try keyring.run("secret-tool", ["search", "--all", "service", service])
                    .output
                check(
                    all.components(separatedBy: "schema = org.securestorage.Key").count, equals: 2)
            }

            @Test func `a value stored by secret-tool is read or reported as damaged`() async throws
            {
                let values = [
                    "good": "AAECAw==", "plain": "pass word", "empty": "", "loose": "AAECAx==",
                    "short": "AAE", "wrapped": "AAEC\nAwQF", "padding": "A===",
                    "middle": "AA==AAEC",
                ]
                for (name, value) in values {
                    let stored = try keyring.run(
                        "secret-tool", ["store", "--label=x"] + attributes(name), input: value)
                    try require(stored.status == 0)
                }
                // Two items of one name; further below, one whose name is not a valid encoding.
                try keyring.run(
                    "secret-tool", ["store", "--label=x"] + attributes("good2"), input: "AAEC")
                try keyring.run(
                    "secret-tool", ["store", "--label=x", "more", "1"] + attributes("good2"),
                    input: "AwQF")
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    try check(store.read("good"), equals: SecretBytes(copying: Data([0, 1, 2, 3])))
                    for name in [
                        "plain", "empty", "loose", "short", "wrapped", "padding", "middle",
                    ] {
                        let error = keyStoreError { _ = try store.read(name) }
                        check(error?.kind, equals: .damaged)
                        check(error?.description.contains("pass word"), equals: false)
                    }
                    check(keyStoreError { _ = try store.read("good2") }?.kind, equals: .damaged)
                    try check(store.remove("good2"))
                    try check(store.names().count, equals: 8)
                }
                try keyring.run(
                    "secret-tool", ["store", "--label=x"] + attributes("%zz"), input: "AAEC")
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    check(keyStoreError { _ = try store.names() }?.kind, equals: .damaged)
                }
            }

            @Test func `services do not see each other's secrets`() async throws {
                await #expect(processExitsWith: .success) {
                    [address = keyring.address as String, service = service as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: service)
                    let other = try SecretServiceKeyStore(service: service + ".other")
                    try store.store(.uniform(1), forName: "k")
                    check(keyStoreError { _ = try other.read("k") }?.kind, equals: .notFound)
                    try check(!other.remove("k"))
                    try check(other.names(), equals: [])
                    try other.insert(.uniform(2), forName: "k")
                    try check(store.read("k"), equals: .uniform(1))
                }
            }

            @Test func `when four processes insert, one wins and all read its secret`()
                async throws
            {
                let results = try KeyFolder()
                try FileManager.default.createDirectory(
                    at: results.url, withIntermediateDirectories: true)
                await withTaskGroup(of: Void.self) { group in
                    for number in 1...4 {
                        group.addTask {
                            await #expect(processExitsWith: .success) {
                                [
                                    address = keyring.address as String,
                                    service = service as String,
                                    results = results.path as String, number = number as Int
                                ] in
                                PrivateKeyring.use(address)
                                let store = try SecretServiceKeyStore(service: service)
                                var found: [UInt8] = []
                                for round in 0..<10 {
                                    let secret = try store.read("k\(round)") {
                                        .uniform(UInt8(number))
                                    }
                                    found.append(try require(secret.uniformByte))
                                }
                                try Data(found).write(
                                    to: URL(fileURLWithPath: "\(results)/\(number)"))
                            }
                        }
                    }
                }
                let found = try results.fileNames().map {
                    try Data(contentsOf: results.url.appendingPathComponent($0))
                }
                check(found.count, equals: 4)
                check(Set(found).count, equals: 1)
            }

            @Test func `a locked collection is not mistaken for an empty one`() async throws {
                let keyring = try PrivateKeyring()
                await #expect(processExitsWith: .success) { [address = keyring.address as String] in
                    PrivateKeyring.use(address)
                    try SecretServiceKeyStore(service: "s").store(.uniform(1), forName: "k")
                }
                try keyring.lock()
                await #expect(processExitsWith: .success) { [address = keyring.address as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: "s")
                    for name in ["k", "absent"] {
                        check(
                            store.errors(forName: name),
                            equals: Array(repeating: .unavailable, count: 5))
                    }
                    let error = keyStoreError { _ = try store.read("k", orInsert: { .uniform(2) }) }
                    check(error?.description.contains("locked; unlock it"), equals: true)
                }
            }

            @Test func `a process outlives its bus and reports that it is gone`() async throws {
                let keyring = try PrivateKeyring()
                let folder = try KeyFolder()
                try FileManager.default.createDirectory(
                    at: folder.url, withIntermediateDirectories: true)
                async let child: Void = {
                    await #expect(processExitsWith: .success) {
                        [address = keyring.address as String, path = folder.path as String] in
                        PrivateKeyring.use(address)
                        let store = try SecretServiceKeyStore(service: "s")
                        try store.store(.uniform(1), forName: "k")
                        _ = FileManager.default.createFile(atPath: path + "/stored", contents: nil)
                        while access(path + "/stopped", F_OK) != 0 { usleep(1000) }
                        usleep(200_000)
                        // GIO handles the closed connection in the program's main loop, if any.
                        var signals = sigset_t()
                        sigemptyset(&signals)
                        sigaddset(&signals, SIGTERM)
                        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                        let symbol = dlsym(
                            dlopen("libglib-2.0.so.0", RTLD_NOW), "g_main_context_iteration")
                        let iterate = unsafeBitCast(
                            try require(symbol),
                            to: (@convention(c) (UnsafeMutableRawPointer?, CInt) -> CInt).self)
                        for _ in 1...100 { _ = iterate(nil, 0) }
                        check(
                            store.errors(forName: "k"),
                            equals: Array(repeating: .unavailable, count: 5))
                    }
                }()
                let deadline = Date().addingTimeInterval(60)
                while access(folder.path + "/stored", F_OK) != 0, Date() < deadline {
                    try await Task.sleep(for: .milliseconds(5))
                }
                keyring.stop()
                _ = FileManager.default.createFile(atPath: folder.path + "/stopped", contents: nil)
                await child
            }

            @Test func `a bus without a keyring is reported`() async throws {
                let bus = try PrivateKeyring(hasKeyring: false)
                await #expect(processExitsWith: .success) { [address = bus.address as String] in
                    PrivateKeyring.use(address)
                    let store = try SecretServiceKeyStore(service: "s")
                    check(
                        store.errors(forName: "k"), equals: Array(repeating: .unavailable, count: 5)
                    )
                    let error = keyStoreError { _ = try store.read("k") }
                    check(error?.description.contains("org.freedesktop.secrets"), equals: true)
                }
            }
        }

        @Test(arguments: ["unix:path=/nonexistent/bus", "", "nonsense"])
        func `without a bus or the library, the store is unavailable`(
            _ address: String
        ) async throws {
            await #expect(processExitsWith: .success) { [address = address as String] in
                PrivateKeyring.use(address)
                unsetenv("DISPLAY")
                setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
                let store = try SecretServiceKeyStore(service: "s")
                check(store.errors(forName: "k"), equals: Array(repeating: .unavailable, count: 5))
                let error = keyStoreError { _ = try store.read("k") }
                let words = ["session bus", "libsecret-1.so.0"]
                check(words.contains { error?.description.contains($0) == true })
            }
        }

        @Test(arguments: ["", String(repeating: "s", count: 256)])
        func `a service name follows the rules for the name of a secret`(_ service: String) {
            check(
                keyStoreError { _ = try SecretServiceKeyStore(service: service) }?.kind,
                equals: .invalidName)
        }
    }
#endif
