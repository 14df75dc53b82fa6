import Foundation
import SecureStorage

// An app's settings in an encrypted key-value store: plain values, an object with NSCoding, and a
// Codable value under a typed key. A background queue writes while the main thread reads; at the
// end the file's key is changed.

/// The settings of a window, stored as one value.
struct Window: Codable, Sendable {
    var width = 800.0
    var height = 600.0
    var isFullScreen = false
}

extension KeyValueKey where Value == Window {
    static var mainWindow: KeyValueKey { KeyValueKey("window/main") }
}

/// The owner of the settings: a class of an app that predates Codable.
final class Account: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    let name: String
    let servers: [String]

    init(name: String, servers: [String]) {
        self.name = name
        self.servers = servers
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
            let servers = coder.decodeObject(of: NSArray.self, forKey: "servers") as? [String]
        else { return nil }
        self.name = name as String
        self.servers = servers
    }

    func encode(with coder: NSCoder) {
        coder.encode(name, forKey: "name")
        coder.encode(servers, forKey: "servers")
    }
}

let directory = FileManager.default.temporaryDirectory
    .appendingPathComponent("settings-\(UUID().uuidString)", isDirectory: true)
defer { try? FileManager.default.removeItem(at: directory) }
let settings = SecureKeyValueStore(
    fullDatabasePath: directory.appendingPathComponent("settings.db").path)

try settings.open(with: "correct horse battery staple")
try settings.put("dark", forKey: "theme")
try settings.put(Window(width: 1024), for: .mainWindow)
try settings.put(
    Account(name: "ada", servers: ["mail.example.org", "news.example.org"]), forKey: "account")

// The background work counts up; the main thread never reads a torn number or an older one.
let background = DispatchQueue(label: "background")
let finished = DispatchSemaphore(value: 0)
background.async {
    for count in 1...500 {
        do {
            try settings.put(count, forKey: "sync/count")
            try settings.put(Date(), forKey: "sync/last")
        } catch {
            print("the background work could not store a setting: \(error)")
        }
    }
    finished.signal()
}
var reads = 0
var last = 0
while last < 500 {
    let count = try settings.get("sync/count", default: 0)
    precondition(count >= last, "an older value came back")
    last = count
    reads += 1
}
finished.wait()

try settings.put("a link that is good for an hour", forKey: "invitation", expiresIn: .seconds(3600))
try settings.changeEncryptionKey(with: "another passphrase")
settings.close()

// Only the new key opens the file, and it still has all the data.
do {
    try settings.open(with: "correct horse battery staple")
    print("the old key still opens the file")
    exit(1)
} catch SecureStorageError.authenticationFailed {
    try settings.open(with: "another passphrase")
}
let window = try settings.get(.mainWindow) ?? Window()
let account: Account? = try settings.get("account")

print("theme        \(try settings.getString("theme") ?? "none")")
print(
    "account      \(account?.name ?? "none") at \(account?.servers.joined(separator: ", ") ?? "none")"
)
print("window       \(window.width) × \(window.height)")
print(
    "sync/count   \(try settings.getInt("sync/count") ?? 0), read \(reads) times while it was written"
)
print("keys         \(try settings.keys(withPrefix: "").joined(separator: ", "))")
