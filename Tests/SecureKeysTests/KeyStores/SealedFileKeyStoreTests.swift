import Crypto
import Foundation
import SecureKeys
import SecureStorage
import TestSupport
import Testing

/// Tests of key files that are sealed, and of the credentials that may hold their key.
struct SealedFileKeyStoreTests {
    private let folder: KeyFolder
    private let key: DataEncryptionKey

    init() throws {
        folder = try KeyFolder()
        key = try DataEncryptionKey.random(name: "machine")
    }

    private func sealed(_ key: DataEncryptionKey? = nil) throws -> FileKeyStore {
        try FileKeyStore(directory: folder.url, sealedWith: key ?? self.key)
    }

    @Test func `no byte of a secret is in the file, and only its key opens it`() throws {
        let secret = SecretBytes(utf8: "a secret of a server, longer than one block")
        try sealed().store(secret, forName: "k")
        let file = try Data(contentsOf: URL(fileURLWithPath: folder.onlyFile()))
        check(secret.withUnsafeBytes { file.range(of: Data($0)) } == nil)
        check(file[7], equals: 2)
        try check(sealed().read("k"), equals: secret)
        let other = try sealed(.random(name: "machine"))
        check(keyStoreError { _ = try other.read("k") }?.kind, equals: .damaged)
        try check(other.names(), equals: ["k"])
    }

    @Test func `neither kind of store reads the other kind's files`() throws {
        let plain = try folder.store()
        try plain.store(.uniform(1), forName: "plain")
        try sealed().store(.uniform(2), forName: "sealed")
        let error = keyStoreError { _ = try sealed().read("plain") }
        check(error?.kind, equals: .refused)
        check(error?.description.contains("is not sealed"), equals: true)
        let second = keyStoreError { _ = try plain.read("sealed") }
        check(second?.kind, equals: .refused)
        check(second?.description.contains("open the store with its key"), equals: true)
        try check(plain.names(), equals: ["plain", "sealed"])
    }

    @Test func `a sealed secret that was moved to another name does not open`() throws {
        try sealed().store(.uniform(1), forName: "a")
        let path = try folder.onlyFile()
        // A whole file of the other name, as an attacker would make it.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path)).dropLast(32)
        bytes[14] = UInt8(ascii: "b")
        bytes.append(contentsOf: SHA256.hash(data: bytes))
        try sealed().remove("a")
        try sealed().store(.uniform(2), forName: "b")
        try Data(bytes).write(to: URL(fileURLWithPath: folder.onlyFile()))
        let error = keyStoreError { _ = try sealed().read("b") }
        check(error?.kind, equals: .damaged)
        check(error?.description.contains("sealed with another key"), equals: true)
    }

    @Test func `the largest secret fits, and a cleared key stops the store`() throws {
        let store = try sealed()
        let large = SecretBytes.random(count: 65_536)
        try store.store(large, forName: "large")
        try check(store.read("large"), equals: large)
        key.clear()
        check(keyStoreError { _ = try store.read("large") }?.kind, equals: .unavailable)
        check(keyStoreError { try store.store(large, forName: "k") }?.kind, equals: .unavailable)
        try check(folder.fileNames().count, equals: 1)
    }

    #if os(Linux)
        /// Makes the directory that systemd makes for a service.
        private static func credentials(_ path: String, _ files: [(String, Data, Int)]) throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            for (name, bytes, mode) in files {
                try bytes.write(to: URL(fileURLWithPath: path + "/" + name))
                chmod(path + "/" + name, mode_t(mode))
            }
            setenv("CREDENTIALS_DIRECTORY", path, 1)
        }

        private static func error(_ name: String) -> KeyStoreError? {
            keyStoreError { _ = try SystemdCredentials.key(named: name) }
        }

        @Test func `a service's credential seals its keys`() async throws {
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                try Self.useCredentials(path)
            }
        }

        private static func useCredentials(_ path: String) throws {
            unsetenv("CREDENTIALS_DIRECTORY")
            check(error("notes.key")?.description.contains("is not set"), equals: true)
            setenv("CREDENTIALS_DIRECTORY", "credentials", 1)
            check(error("notes.key")?.description.contains("absolute"), equals: true)
            let directory = path + "-credentials"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let bytes = Data((1...32).map { UInt8($0) })
            try credentials(
                directory,
                [
                    ("notes.key", bytes, 0o400), ("acl.key", bytes, 0o440),
                    ("short.key", Data([1, 2]), 0o400), ("open.key", bytes, 0o444),
                    ("loose.key", bytes, 0o620), ("large.key", Data(count: 70_000), 0o400),
                ])
            symlink("notes.key", directory + "/link.key")
            let key = try SystemdCredentials.key(named: "notes.key")
            let store = try FileKeyStore(
                directory: URL(fileURLWithPath: path), sealedWith: key)
            try store.store(SecretBytes(utf8: "secret"), forName: "k")
            let again = try FileKeyStore(
                directory: URL(fileURLWithPath: path),
                sealedWith: SystemdCredentials.key(named: "notes.key"))
            try check(again.read("k"), equals: SecretBytes(utf8: "secret"))
            _ = try SystemdCredentials.key(named: "acl.key")
            try check(SystemdCredentials.secret(named: "short.key").count, equals: 2)
            check(error("short.key")?.kind, equals: .damaged)
            check(error("missing.key")?.description.contains("missing.key"), equals: true)
            for name in ["missing.key", "open.key", "loose.key", "link.key", "large.key"] {
                check(error(name)?.kind, equals: .refused, "\(name)")
            }
            for name in ["", ".", "..", "../notes.key", "a b", "\u{e4}"] {
                check(error(name)?.kind, equals: .invalidName, "\(name)")
            }
            // The longest name of a file.
            let longest = String(repeating: "n", count: 255)
            check(error(longest)?.kind, equals: .refused)
            check(error(longest + "n")?.kind, equals: .invalidName)
        }

        /// systemd's own program, and a TPM 2 in software.
        private static let hasTPM = ["systemd-creds", "swtpm"].allSatisfy {
            access("/usr/bin/" + $0, X_OK) == 0
        }

        @Test(.enabled(if: hasTPM, "needs systemd-creds and swtpm"))
        func `a credential that a TPM has sealed opens the key files`() async throws {
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                try Self.useTPM(path)
            }
        }

        private static func useTPM(_ path: String) throws {
            let state = path + "-tpm"
            try FileManager.default.createDirectory(
                atPath: state + "/credentials", withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: state) }
            let port = Int.random(in: 20_000...60_000)
            let tpm = try ChildProcess(
                "swtpm",
                [
                    "socket", "--tpm2", "--tpmstate", "dir=\(state)", "--server",
                    "type=tcp,port=\(port)", "--ctrl", "type=tcp,port=\(port + 1)", "--flags",
                    "not-need-init,startup-clear", "--daemon", "--pid", "file=\(state)/pid",
                ])
            try require(tpm.status == 0, "\(tpm)")
            defer {
                let pid = (try? String(contentsOfFile: state + "/pid", encoding: .utf8)) ?? ""
                if let pid = Int32(pid.split(separator: "\n").first ?? "") { kill(pid, SIGTERM) }
            }
            try SecretBytes.random(count: 32).withUnsafeBytes {
                try Data($0).write(to: URL(fileURLWithPath: state + "/plain"))
            }
            let common = [
                "--with-key=tpm2", "--tpm2-device=swtpm:port=\(port)", "--name=notes.key",
            ]
            let sealing = try ChildProcess(
                "systemd-creds", ["encrypt"] + common + [state + "/plain", state + "/sealed"])
            try require(sealing.status == 0)
            unlink(state + "/plain")
            // What systemd does when it starts the service.
            let target = state + "/credentials/notes.key"
            let opening = try ChildProcess(
                "systemd-creds", ["decrypt"] + common + [state + "/sealed", target])
            try require(opening.status == 0)
            chmod(target, 0o400)
            setenv("CREDENTIALS_DIRECTORY", state + "/credentials", 1)
            let store = try FileKeyStore(
                directory: URL(fileURLWithPath: path),
                sealedWith: SystemdCredentials.key(named: "notes.key"))
            try store.store(SecretBytes(utf8: "secret"), forName: "k")
            try check(store.read("k"), equals: SecretBytes(utf8: "secret"))
        }
    #endif
}
